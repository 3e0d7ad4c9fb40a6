"""Arguments of calls, bound to the parameters of functions and modules (source: ``torch.fx.operator_schemas``)."""

from __future__ import annotations

import inspect
import numbers
import types
import typing
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import dispatch_core as dc
from dispatch_core.devices import Device

from .. import nn
from ..creation.factories import FACTORIES
from ..functions.operator_functions import FUNCTIONAL, FUNCTIONS, NAMESPACES
from ..names.operator_table import OPERATORS
from ..tensors.tensor import Tensor
from .targets import FUNCTIONAL_MODULE, LONG, find_path, is_overload, is_packet

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]


class ArgsKwargsPair(NamedTuple):
    """Positional arguments, and those given by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


#: Type of a schema's argument → that of Python, as torch's compiler has it.
_TYPES: Final = {
    "Tensor": Tensor,
    "bool": bool,
    "complex": complex,
    "float": float,
    "str": str,
    "Scalar": numbers.Number,
    "Device": Device,
    **dict.fromkeys(("int", "SymInt", "ScalarType", "Layout", "MemoryFormat"), int),
}
_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _python_type(text: str) -> Any:
    if text.endswith("?"):
        return typing.Optional[_python_type(text[:-1])]  # noqa: UP045  # the type is made while the program runs
    if text.endswith("]"):
        return list[_python_type(text.rpartition("[")[0])]  # type: ignore[misc]  # as above
    return _TYPES.get(text.partition("(")[0], Any)


def _schemas_of(op: Any) -> list[Any]:
    """Return the schemas of an operator's function, packet or overload, none for other functions."""
    if is_overload(op):
        return [op.schema]
    if is_packet(op):
        return [getattr(op, name).schema for name in op.overloads()]
    path = find_path(op)
    if path is None or path in FUNCTIONAL_MODULE:
        return []
    namespace, _, own = path.rpartition(".")
    tables = _TABLES.get(namespace, ())
    name = "log_sigmoid" if own == "logsigmoid" else LONG.get(namespace, "") + own
    # A function of ours with an operator's name may have other parameters.
    is_operators = any(op is table.get(each) for table in tables for each in (own, name))
    return _schemas_of(getattr(dc.ops.aten, name)) if is_operators and name in OPERATORS else []


#: Namespace → the tables that have its operators' own functions.
_TABLES: Final = {
    "": (FUNCTIONS, FACTORIES),
    "nn.functional": (FUNCTIONAL, FUNCTIONS),
    **{namespace: (table,) for namespace, table in NAMESPACES.items()},
}


def _signature(schema: Any) -> inspect.Signature:
    parameters = [
        inspect.Parameter(
            "input" if argument.name == "self" else argument.name,
            inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=argument.default_value if argument.has_default else inspect.Parameter.empty,
            annotation=_python_type(str(argument.type)),
        )
        for argument in schema.arguments
    ]
    names = [parameter.name for parameter in parameters]
    if "from" in names:  # a word of Python's, by which no caller can name it
        last = names.index("from")
        parameters[: last + 1] = [
            each.replace(kind=inspect.Parameter.POSITIONAL_ONLY) for each in parameters[: last + 1]
        ]
    returned = [_python_type(str(each.type)) for each in schema.returns]
    return inspect.Signature(
        parameters, return_annotation=None if not returned else returned[0] if len(returned) == 1 else tuple(returned)
    )


@cache
def _signatures(op: Any) -> list[inspect.Signature]:
    return [_signature(schema) for schema in _schemas_of(op)]


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """Return the signatures of an operator's overloads, None for other functions; with their schemas, if asked for.

    >>> import torchlike
    >>> [str(each) for each in get_signature_for_torch_op(torchlike.relu)]
    ['(input: torchlike.Tensor) -> torchlike.Tensor']
    """
    schemas = _schemas_of(op)
    if not schemas:
        return (None, None) if return_schemas else None
    return (_signatures(op), schemas) if return_schemas else _signatures(op)


def _fits(signature: inspect.Signature, args: Any, kwargs: Any) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def check_for_mutable_operation(target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise ``RuntimeError`` where a call writes to one of its arguments, as far as its overload is known."""
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    fitting = [
        schema
        for signature, schema in zip(signatures or (), schemas or (), strict=True)
        if _fits(signature, args, kwargs)
    ]
    if len(fitting) == 1 and fitting[0].is_mutable:
        raise RuntimeError(
            f"Tried to trace mutable operation {fitting[0]}. FX only supports functional code, so operations that mutate "
            "operands in-place (e.g. via `out` arguments) are not supported"
        )


def create_type_hint(x: Any) -> Any:
    """Return the annotation of a list or tuple of types, and other annotations as they are.

    >>> create_type_hint([int, bool]), create_type_hint((int, str)), create_type_hint(int)
    (list[int], tuple[typing.Any, ...], <class 'int'>)
    """
    if not isinstance(x, (list, tuple)):
        return x
    common: Any = x[0] if x else Any
    for each in x:
        if not (isinstance(each, type) and isinstance(common, type)):
            warnings.warn(f"We were not able to successfully create type hint from the type {x}", stacklevel=2)
            return x
        if not issubclass(each, common):
            common = each if issubclass(common, each) else Any
    return list[common] if isinstance(x, list) else tuple[common, ...]


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Return whether an argument of one type can be given for a parameter of another.

    >>> type_matches(float, float), type_matches(list[int], tuple[int, ...]), type_matches(int, str)
    (True, True, False)
    """
    if signature_type is argument_type:
        return True
    origin = typing.get_origin(signature_type)
    if origin in (typing.Union, types.UnionType) and signature_type != argument_type:
        return any(type_matches(each, argument_type) for each in typing.get_args(signature_type))
    if origin is list:
        item = typing.get_args(signature_type)[0]
        if item is int and argument_type is int:  # one number for each dimension
            return True
        if not isinstance(item, type):
            warnings.warn(f"Does not support nested parametric types, got {signature_type}.", stacklevel=2)
            return False
        given = typing.get_args(argument_type)
        if typing.get_origin(argument_type) is list:
            return issubclass(given[0], item)
        return typing.get_origin(argument_type) is tuple and all(
            each is Ellipsis or (isinstance(each, type) and issubclass(each, item)) for each in given
        )
    if signature_type is numbers.Number and argument_type in (int, float):
        return True
    if signature_type is int and getattr(argument_type, "__name__", "").endswith("dtype"):
        return True
    return (
        isinstance(argument_type, type)
        and isinstance(signature_type, type)
        and issubclass(argument_type, signature_type)
    )


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Return a call's arguments with all defaults (source: ``torch.fx.operator_schemas.normalize_function``).

    Where several overloads of an operator fit, ``arg_types`` and ``kwarg_types`` choose; without them ``RuntimeError`` is
    raised. None comes back for a function whose parameters are not known.

    >>> import torchlike
    >>> normalize_function(torchlike.softmax, (torchlike.ones(2), 0), normalize_to_only_use_kwargs=True).kwargs
    {'input': tensor([1., 1.]), 'dim': 0, 'dtype': None}
    """
    kwargs = kwargs or {}
    signatures = _signatures(target)
    if not signatures:
        try:
            signature = inspect.signature(inspect.unwrap(target))
        except (TypeError, ValueError):
            return None
        return _normalize(signature, args, kwargs, normalize_to_only_use_kwargs)
    fitting = [each for each in signatures if _fits(each, args, kwargs)]
    if len(fitting) > 1:
        if arg_types is None and kwarg_types is None:
            listed = "\n".join(map(str, _schemas_of(target)))
            raise RuntimeError(
                f"Tried to normalize arguments to {target} but the schema match was ambiguous! Please provide argument "
                f"types to the normalize_arguments() call. Available schemas:\n{listed}"
            )
        fitting = [each for each in fitting if _types_fit(each, arg_types or (), kwarg_types or {})]
    return _normalize(fitting[0], args, kwargs, normalize_to_only_use_kwargs) if fitting else None


def _types_fit(signature: inspect.Signature, args: Any, kwargs: Any) -> bool:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return all(type_matches(signature.parameters[name].annotation, kind) for name, kind in bound.arguments.items())


def normalize_module(
    root: nn.Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Return the arguments of a call of a submodule with all defaults; None for modules that are not those of ``nn``.

    Raises ``RuntimeError`` where there is no such submodule.

    >>> import torchlike
    >>> root = torchlike.nn.Sequential(torchlike.nn.ReLU())
    >>> normalize_module(root, "0", (1,), normalize_to_only_use_kwargs=True).kwargs
    {'input': 1}
    """
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from error
    name = type(module).__name__
    if name not in dir(nn) or getattr(nn, name) is not type(module):
        return None
    return _normalize(inspect.signature(module.forward), args, kwargs or {}, normalize_to_only_use_kwargs)


def _normalize(signature: inspect.Signature, args: Any, kwargs: Any, only_kwargs: bool) -> ArgsKwargsPair | None:
    if any(parameter.kind not in _NAMED for parameter in signature.parameters.values()):
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    count = 0 if only_kwargs else len(args)
    values = list(bound.arguments.items())
    return ArgsKwargsPair(tuple(value for _, value in values[:count]), dict(values[count:]))
