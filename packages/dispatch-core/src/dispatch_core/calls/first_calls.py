"""First calls, in plain code: the work of an operator's generated callables before it pays to generate them.

Note [First calls run in plain code]
    To write and compile the code of a callable takes as long as dozens of calls in plain code, and in the start of a program
    most operators are called a few times. So overloads, frontends' functions and the runners of kernels begin in plain
    code, and get their own after some calls, as `LazyFunction` counts them; calls of kernels whose results are compared
    with the shape rule do not count, because the comparisons cost far more. Plain code serves a frontend's tensors and
    arguments of the common types, by which it finds the function that the generated code would have called. Any other
    call, a wrong one among them, gets the generated code at once: so coercions, and the texts of errors, are that code's
    alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..keys import context
from .adapters import SignatureAdapter
from .argument_checks import is_common
from .boundary import make_wrapper
from .lazy_function import FirstCalls, Found
from .signature import CallParameter, CallSignature

if TYPE_CHECKING:
    from ..operators.call_tables import Tables
    from ..operators.entry import OperatorEntry


def make_first_calls(entry: OperatorEntry, adapter: SignatureAdapter | None = None) -> FirstCalls:
    """Return a function that finds the plain code for a call; it returns None for calls that generated code serves.

    With an ``adapter`` the calls are those of a frontend's function.
    """
    known: tuple[Tables | None, CallSignature | None] = None, None

    def find(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Found | None:
        nonlocal known
        tables, signature = known
        if tables is not entry.tables:
            tables = entry.tables
            signature = tables.signature
            signature = signature if signature is not None and signature.is_specializable else None
            known = tables, signature
        if tables is None or signature is None:
            return None
        if adapter is not None and adapter.override is not None:
            overridden = adapter.override(args, kwargs)
            if overridden is not NotImplemented:
                return (lambda: overridden), (), True
        if adapter is not None and (found := _other_function(signature, adapter, args, kwargs)) is not None:
            return found
        bound = None
        with suppress(Exception):  # the generated code raises it again
            bound = _bind(signature, adapter, args, kwargs)
        if bound is None:
            return None
        values, mask = bound
        state = context.current()
        run = tables.call[mask] if state is None else tables.masked[mask, state]
        if adapter is None or signature.has_tensors:
            return run, values, bool(tables.traits_of(run).is_watched)
        wrap = make_wrapper(adapter.tensor_type)
        return (lambda *given: wrap(run(*given))), values, False

    return find


class _NotPlainError(Exception):
    """A call that plain code does not serve."""


def _other_function(
    signature: CallSignature, adapter: SignatureAdapter, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Found | None:
    """Return the function of an adapter that takes a call, where its first and last arguments say so."""
    if kwargs or not args or not hasattr(args[0], "_dispatch_mask"):
        return None
    if adapter.alone is not None and len(args) == 1:
        return adapter.alone, args, False
    positional = sum(not each.keyword_only for each in signature.parameters)
    is_other = len(args) == positional and type(args[-1]) in adapter.slow_path_types
    return (adapter.slow_path, args, False) if is_other else None


def _bind(
    signature: CallSignature, adapter: SignatureAdapter | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], int]:
    """Return the values of all arguments in schema order, and their mask."""
    names: Mapping[str, str] = {} if adapter is None else adapter.names
    is_open = adapter is not None and adapter.missing is not None
    if adapter is not None and adapter.star:
        args = _pack_items(signature, adapter, args)
    values, mask, by_name = [], 0, 0
    for index, parameter in enumerate(signature.parameters):
        name = names.get(parameter.name, parameter.name)
        if index < len(args) and not parameter.keyword_only:
            value = args[index]
        elif name in kwargs:
            value = kwargs[name]
            by_name += 1
        elif parameter.required:
            raise _NotPlainError
        else:
            value = parameter.default
        if value is None and adapter is not None and name in adapter.fill:
            values.append(adapter.fill[name]())
            continue
        if value is parameter.default and not parameter.required:
            values.append(value)
            continue
        if parameter.tensors:
            mask |= _mask_of(parameter, value)
        elif not is_common(parameter.type, value):
            if is_open:
                raise _NotPlainError
            value = parameter.check(value)
        values.append(value)
    if by_name < len(kwargs) or len(args) > sum(not each.keyword_only for each in signature.parameters):
        raise _NotPlainError
    return values, mask


def _pack_items(signature: CallSignature, adapter: SignatureAdapter, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return positional arguments with those that are written one by one in a list."""
    place = [each.name for each in signature.parameters].index(adapter.star)
    items = args[place:]
    if len(items) == 1 and type(items[0]) is not int:
        return args
    if not items:
        raise _NotPlainError
    return (*args[:place], items)


def _mask_of(parameter: CallParameter, value: Any) -> int:
    """Return the mask of an argument that carries tensors; raises an error where it is none of a frontend's tensors."""
    if "list" not in parameter.tensors:
        if value is None and (parameter.tensors == "optional" or parameter.default is None):
            return 0
        mask: int = value._dispatch_mask
        return mask
    if type(value) is not list and type(value) is not tuple:
        raise _NotPlainError
    mask = 0
    for each in value:
        if each is not None or parameter.tensors != "optional_list":
            mask |= each._dispatch_mask
    return mask
