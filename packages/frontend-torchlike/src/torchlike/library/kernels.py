"""Kernels as torch's programs write them: functions of tensors, under any key, called without trailing defaults.

Note [Kernels of tensors]
    A kernel of the dispatcher that is registered for a device takes the device's arrays. torch's takes the tensors of the
    call, those with a history too, so that it may call operators, custom autograd functions, and the operator itself below
    autograd. It is registered as one that takes tensors (`dispatch_core.kernel_factory`), and stands in the one registry
    beside the others. An argument that equals its default is left out where the function has a default of its own, as
    torch's dispatcher leaves it out.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc

from ..tensors.tensor import Tensor

__all__ = ["is_default", "make_fallback", "make_kernel", "make_wrapped_kernel"]

_MISSING: Final = object()
#: Of how many operators a fallback knows the defaults.
_MOST: Final = 512


def make_kernel(fn: Callable[..., Any] | dc.KernelFactory) -> dc.KernelFactory | Callable[..., Any]:
    """Return the kernel for a function of tensors; see Note [Kernels of tensors]."""
    if fn is dc.fallthrough_kernel or isinstance(fn, dc.KernelFactory):
        return fn

    def make(op: Any, keyset: Any) -> Callable[..., Any]:
        return _leave_out_defaults(op, fn)

    return dc.kernel_factory(dc.KernelTraits(stands_for=lambda: fn)(make), takes_tensors=True)


def make_fallback(fn: Callable[..., Any], *, with_keyset: bool) -> Callable[..., Any]:
    """Return the fallback of a key for ``fn(op, *args, **kwargs)``, which gets no arguments that equal their defaults."""
    if fn is dc.fallthrough_kernel or isinstance(fn, dc.KernelFactory):
        return fn
    leading, strip = 1 + with_keyset, functools.lru_cache(_MOST)(_leave_out_defaults)

    @functools.wraps(fn)
    def fallback(*given: Any, **kwargs: Any) -> Any:
        op = given[leading - 1]
        args, kwargs = strip(op, _as_given)(*given[leading:], **kwargs)
        return fn(*given[:leading], *args, **kwargs)

    return fallback


def _as_given(*args: Any, **kwargs: Any) -> Any:
    return args, kwargs


def make_wrapped_kernel(fn: Callable[..., Any], make: Callable[[Any, Any], Callable[..., Any]]) -> dc.KernelFactory:
    """Return a kernel that ``make(op, keyset)`` returns, and that represents ``fn`` in texts."""
    return dc.kernel_factory(dc.KernelTraits(stands_for=lambda: fn)(make), takes_tensors=True)


def _leave_out_defaults(op: Any, fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls ``fn`` without the arguments that both it and the schema have defaults for."""
    schema = op.schema
    if schema is None:
        return fn
    own, is_open = _find_defaults(fn)
    # From the last: a default can be left out where all after it are.
    trailing: list[Any] = []
    positional = schema.positional
    for index in range(len(positional) - 1, -1, -1):
        argument, from_end = positional[index], len(positional) - index
        if not argument.has_default or not (is_open or own.get(index, False) or own.get(argument.name, False)):
            break
        trailing.append((from_end, argument.value))
    named = {
        argument.name: argument.value
        for argument in schema.keyword_only
        if argument.has_default and (is_open or own.get(argument.name, False))
    }
    if not trailing and not named:
        return fn

    @functools.wraps(fn)
    def kernel(*args: Any, **kwargs: Any) -> Any:
        last = count = len(args)
        for from_end, default in trailing:
            if not is_default(args[count - from_end], default):
                break
            last = count - from_end
        if kwargs:
            kwargs = {name: value for name, value in kwargs.items() if not is_default(value, named.get(name, _MISSING))}
        return fn(*args[:last], **kwargs)

    return kernel


def _find_defaults(fn: Callable[..., Any]) -> tuple[dict[int | str, bool], bool]:
    """Return whether parameters of a function have a default, by place and name, and whether it takes any arguments."""
    try:
        parameters = [*inspect.signature(fn).parameters.values()]
    except (TypeError, ValueError):
        return {}, False
    if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in parameters):
        return {}, True
    found: dict[int | str, bool] = {}
    for each in parameters:
        found[each.name] = each.default is not each.empty
    return found, False


def is_default(value: Any, default: Any) -> bool:
    """Return whether an argument equals its default; tensors never do."""
    if value is default:
        return True
    if isinstance(value, Tensor) or isinstance(default, Tensor) or default is _MISSING:
        return False
    if isinstance(value, list | tuple) and isinstance(default, list | tuple):
        return len(value) == len(default) and all(map(is_default, value, default))
    return type(value) is type(default) and bool(value == default)
