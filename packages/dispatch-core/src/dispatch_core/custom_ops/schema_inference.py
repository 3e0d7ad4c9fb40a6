"""Schemas from type hints (source: ``torch.library.infer_schema``).

Note [Types of annotations]
    The core names no tensor class. ``Tensor`` in a schema represents an annotation with a registered frontend's tensor
    class, with an array type that a backend owns or that an installed plugin declares, or with `Tensor` of this module, for
    functions that take any tensors. Any other class names its schema type in an attribute
    ``__schema_type__``, as ``dispatch_aten.ScalarType`` does.

    More is understood than torch understands: tuples, lists of strings, lists with defaults, ``complex``, dictionaries of
    plain values. Tensors inside dictionaries, nested lists, mixed tuples and optional lists are refused, because the
    dispatcher does not look there: their devices would not be seen, and their gradients lost.
"""

from __future__ import annotations

import functools
import inspect
import numbers
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..arrays.frontend import FRONTENDS
from ..arrays.owners import TYPE_MASKS
from ..devices import Device
from ..discovery import loader
from ..errors import SchemaError, short_repr
from ..schema.model import FunctionSchema, spell_default
from ..schema.types import BaseType
from ..tracebacks import api_boundary

if TYPE_CHECKING:
    Tensor: TypeAlias = Any
else:

    class Tensor:
        """Stand in annotations for a tensor of any frontend, or a raw array; it is not a class of tensors itself."""

        def __new__(cls, *args: object, **kwargs: object) -> Any:
            """Refuse to be made."""
            raise TypeError("dispatch_core.Tensor is for annotations; frontends make tensors")


_NAMES: Final = {bool: "bool", int: "SymInt", float: "float", complex: "complex", str: "str"}
_NUMBERS: Final = frozenset({"bool", "SymInt", "float", "complex", "Scalar"})
_LISTS: Final = (list, Sequence)
_MAPPINGS: Final = (dict, Mapping)
#: Why some containers of tensors are refused.
_HIDDEN: Final = "the dispatcher does not look for tensors there; take the tensors as arguments, or as one list[Tensor]"


class _UnfitError(Exception):
    """An annotation has no schema type, for the reason given."""


@api_boundary
def infer_schema(fn: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None) -> str:
    """Return the schema of a function with type hints, named ``op_name`` or without a name.

    ``mutates_args`` names the arguments that the function writes to; "unknown" represents every tensor.
    See Note [Types of annotations]. Raises ``SchemaError`` for hints, defaults or kinds of parameters that no
    schema can express.

    >>> def scale(x: Tensor, factor: float = 2.0, *, dims: list[int] | None = None) -> Tensor: ...
    >>> infer_schema(scale, mutates_args=())
    '(Tensor x, float factor=2.0, *, SymInt[]? dims=None) -> Tensor'
    >>> def fill(x: Tensor, value: int) -> None: ...
    >>> infer_schema(fill, mutates_args=["x"], op_name="demo::fill")
    'demo::fill(Tensor(a0!) x, SymInt value) -> ()'
    """
    return _Inference(fn).schema(mutates_args, op_name)


class _Inference:
    """One function whose schema is inferred; errors name it and its signature."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        try:
            self.signature = inspect.signature(fn)
        except Exception as error:  # noqa: BLE001  # an object may say anything of its signature
            raise SchemaError(f"infer_schema: {short_repr(fn)} has no signature that could be read: {error}") from None

    def fault(self, reason: str, hint: str | None = None) -> SchemaError:
        name = getattr(self.fn, "__qualname__", None) or short_repr(self.fn)
        return SchemaError(f"infer_schema({name}): {reason}\nSignature: {self.signature}", hint=hint)

    def hints(self) -> dict[str, Any]:
        """Return the annotations as types; those written as text may also name variables that the function closes over."""
        inner = inspect.unwrap(self.fn)
        while isinstance(inner, functools.partial):
            inner = inspect.unwrap(inner.func)
        if not hasattr(inner, "__code__"):
            inner = type(inner).__call__
        code, cells = getattr(inner, "__code__", None), getattr(inner, "__closure__", None) or ()
        closed = {}
        for name, cell in zip(code.co_freevars if code is not None else (), cells, strict=False):
            try:
                closed[name] = cell.cell_contents
            except ValueError:  # not yet assigned
                continue
        try:
            return typing.get_type_hints(inner, localns=closed)
        except Exception as error:  # noqa: BLE001  # an annotation may be any expression
            fault = self.fault(
                f"an annotation cannot be read ({type(error).__name__}: {error})",
                hint="annotations that are text, as all are under 'from __future__ import annotations', may name only"
                " objects that the function's module or the function itself refers to",
            )
        raise fault

    def schema(self, mutates_args: str | Iterable[str], op_name: str | None) -> str:
        written = self._list_written(mutates_args)
        hints = self.hints()
        parts, keyword_only = [], False
        for index, parameter in enumerate(self.signature.parameters.values()):
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise self.fault(
                    f"{parameter} is neither a plain parameter nor a keyword-only one: positional-only ones, *args and"
                    " **kwargs have no place in a schema"
                )
            if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
                keyword_only = True
                parts.append("*")
            parts.append(self._parameter(parameter, index, hints, written))
        unknown = set() if written is None else written - set(self.signature.parameters)
        if unknown:
            raise self.fault(f"mutates_args names {', '.join(sorted(unknown))}, which is not a parameter")
        text = f"{op_name or ''}({', '.join(parts)}) -> {self._returns(hints)}"
        try:
            FunctionSchema.parse(text if op_name else f"f{text}")
        except SchemaError as error:
            fault = self.fault(f"no schema can say this: {error}")
        else:
            return text
        raise fault

    def _list_written(self, mutates_args: str | Iterable[str]) -> set[str] | None:
        """Return the names of written arguments; None for all tensors."""
        if not isinstance(mutates_args, str):
            return set(mutates_args)
        if mutates_args != "unknown":
            raise self.fault(
                f"mutates_args is {short_repr(mutates_args)}",
                hint='give the names of the written arguments in a list, or "unknown"',
            )
        return None

    def _parameter(
        self, parameter: inspect.Parameter, index: int, hints: dict[str, Any], written: set[str] | None
    ) -> str:
        name = parameter.name
        if name not in hints:
            raise self.fault(f"parameter {name} has no annotation")
        try:
            kind = _spell(hints[name])
        except _UnfitError as error:
            fault = self.fault(f"parameter {name} is annotated {_show(hints[name])}: {error}")
        else:
            is_tensor = kind.startswith("Tensor")
            if is_tensor and (written is None or name in written):
                kind = f"Tensor(a{index}!){kind.removeprefix('Tensor')}"
            elif written and name in written:
                raise self.fault(f"mutates_args names {name}, but only tensors and lists of tensors can be written to")
            if parameter.default is parameter.empty:
                return f"{kind} {name}"
            try:
                return f"{kind} {name}={_default(parameter.default, kind)}"
            except _UnfitError as error:
                fault = self.fault(f"parameter {name} has the default {short_repr(parameter.default)}: {error}")
        raise fault

    def _returns(self, hints: dict[str, Any]) -> str:
        if "return" not in hints:
            raise self.fault("the return has no annotation", hint="annotate it; with None where nothing is returned")
        hint = hints["return"]
        try:
            return _spell_returns(hint)
        except _UnfitError as error:
            fault = self.fault(f"the return is annotated {_show(hint)}: {error}")
        raise fault


def _show(hint: object) -> str:
    return hint.__qualname__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)


def _spell(hint: object) -> str:
    """Return the schema type that an annotation stands for."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union or origin is types.UnionType:
        return _spell_union(args)
    if origin in _LISTS:
        return _spell_list(args[0])
    if origin is tuple:
        return _spell_tuple(args)
    if origin in _MAPPINGS:
        inner = [_spell(arg).replace("SymInt", "int") for arg in args]
        if any("Tensor" in text for text in inner):
            raise _UnfitError(_HIDDEN)
        return f"Dict({', '.join(inner)})"
    return _spell_class(hint if origin is None else origin)


def _spell_class(hint: object) -> str:
    if not isinstance(hint, type):
        raise _UnfitError("it is not a type that a schema knows")
    named = _NAMES.get(hint) or getattr(hint, "__schema_type__", None)
    if isinstance(named, str):
        return named
    if issubclass(hint, Device):
        return "Device"
    if _is_tensor_type(hint):
        return "Tensor"
    if hint in (numbers.Number, numbers.Complex, numbers.Real):
        return "Scalar"
    if hint in (list, tuple, dict):
        raise _UnfitError(f"say the type of its elements, as in {hint.__name__}[int]")
    raise _UnfitError(
        "it is not a type that a schema knows; known are tensors (a registered frontend's class, an array type that a"
        " backend owns, dispatch_core.Tensor), int, float, bool, complex, str, numbers, Device, classes with a"
        " __schema_type__, and lists, tuples and dictionaries of them"
    )


def _is_tensor_type(hint: type) -> bool:
    if hint is Tensor or hint in TYPE_MASKS or any(issubclass(hint, f.tensor_type) for f in list(FRONTENDS.values())):
        return True
    if hint.__module__ in ("builtins", "typing"):
        return False
    return loader().array_type_owner(hint) is not None


def _spell_union(args: tuple[Any, ...]) -> str:
    members = [arg for arg in args if arg is not types.NoneType]
    found = {_spell(arg) for arg in members}
    if len(found) == 1:
        (text,) = found
    elif found <= _NUMBERS:
        text = "Scalar"
    else:
        raise _UnfitError("of the unions, a schema knows those with None, and numbers")
    if len(members) == len(args) or text.endswith("?"):
        return text
    if text.startswith("Tensor") and text != "Tensor":
        raise _UnfitError(f"{_HIDDEN}, empty where there are none")
    return f"{text}?"


def _spell_list(arg: object, size: int | str = "") -> str:
    element = _spell(arg)
    if "Tensor" in element and element not in ("Tensor", "Tensor?"):
        raise _UnfitError(_HIDDEN)
    return f"{element}[{size}]"


def _spell_tuple(args: tuple[Any, ...]) -> str:
    if not args or args == ((),):
        raise _UnfitError("a tuple without elements says nothing")
    if args[1:] == (Ellipsis,):
        return _spell_list(args[0])
    found = [_spell(arg) for arg in args]
    if len(set(found)) == 1:
        return _spell_list(args[0], len(args))
    if any("Tensor" in text for text in found):
        raise _UnfitError(_HIDDEN)
    return f"({', '.join(found)})"


def _spell_returns(hint: object) -> str:
    if hint is None or hint is types.NoneType:
        return "()"
    args = typing.get_args(hint)
    if typing.get_origin(hint) is not tuple or args[1:] == (Ellipsis,):
        return _spell(hint)
    if len(args) == 1:
        raise _UnfitError("a tuple of one result is not told from the result; return it alone, or in a list")
    return f"({', '.join(_spell(arg) for arg in args)})"


def _default(value: object, kind: str) -> str:
    """Spell a default as the schema's parser reads it."""
    if getattr(type(value), "__schema_type__", None) is not None:
        return str(value)
    if isinstance(value, list | tuple):
        if not kind.endswith("]") or kind.startswith("Tensor"):
            raise _UnfitError(f"an argument of type {kind} cannot have a list as default")
        return f"[{', '.join(_default(item, '') for item in value)}]"
    if value is None or isinstance(value, bool | int | float | complex | str | Device):
        return spell_default(value, BaseType("Any"))
    raise _UnfitError("a default is None, a number, a string, a device, a dtype, or a list of numbers")
