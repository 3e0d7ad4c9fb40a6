"""Schemas from type hints by torch's rules (source: ``torch.library.infer_schema``)."""

from __future__ import annotations

import collections.abc
import inspect
import typing
from collections.abc import Callable, Iterable, Sequence
from types import GenericAlias, UnionType
from typing import Any, Final, NoReturn

from dispatch_core import SchemaError

from ..surface.annotations import Number
from ..tensors.tensor import Tensor
from ..values.devices import device
from ..values.dtypes import dtype
from .tags import list_tags

__all__ = ["SUPPORTED_PARAM_TYPES", "SUPPORTED_RETURN_TYPES", "infer_schema", "tuple_to_list"]

#: Types of arguments, their names in schemas, and whether there are lists of them, of optional ones, and optional lists.
_TYPES: Final[tuple[tuple[Any, str, bool, bool, bool], ...]] = (
    (Tensor, "Tensor", True, True, False),
    (int, "SymInt", True, False, True),
    (float, "float", True, False, True),
    (bool, "bool", True, False, True),
    (str, "str", False, False, False),
    (Number, "Scalar", True, False, False),
    (dtype, "ScalarType", False, False, False),
    (device, "Device", False, False, False),
)


def _sequences(element: Any) -> list[Any]:
    """Return the annotations for lists of a type."""
    return [
        typing.Sequence[element],  # the older spellings are other objects
        typing.List[element],  # noqa: UP006
        GenericAlias(collections.abc.Sequence, (element,)),
        GenericAlias(list, (element,)),
    ]


def _list_types() -> dict[Any, str]:
    found: dict[Any, str] = {}
    for kind, name, lists, of_optional, optional_lists in _TYPES:
        found |= {kind: name, typing.Optional[kind]: f"{name}?"}  # noqa: UP045
        if lists:
            found |= dict.fromkeys(_sequences(kind), f"{name}[]")
        if of_optional:
            found |= dict.fromkeys(_sequences(typing.Optional[kind]), f"{name}?[]")  # noqa: UP045
        if optional_lists:
            found |= {typing.Optional[each]: f"{name}[]?" for each in _sequences(kind)}  # noqa: UP045
    return found


#: Annotation of an argument → its type in a schema.
SUPPORTED_PARAM_TYPES: Final = _list_types()
#: Annotation of a result → its type in a schema.
SUPPORTED_RETURN_TYPES: Final[dict[Any, str]] = {
    Tensor: "Tensor",
    typing.List[Tensor]: "Tensor[]",  # noqa: UP006
    list[Tensor]: "Tensor[]",
    int: "SymInt",
    float: "float",
    bool: "bool",
    Number: "Scalar",
}


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: str | Sequence[str] | None = (),
) -> str:
    """Return the schema of a function with type hints, named ``op_name`` or without a name.

    ``mutates_args`` names the arguments that it writes to; "unknown" represents every tensor. With ``Tag.inplace`` or
    ``Tag.out`` among ``tags`` the results are the written arguments. Raises ``ValueError`` for hints that torch's schemas do
    not have; `dispatch_core.infer_schema` takes more of them (source: ``torch.library.infer_schema``).

    >>> def scale(x: Tensor, factor: float = 2.0) -> Tensor: ...
    >>> infer_schema(scale, mutates_args=(), op_name="scale")
    'scale(Tensor x, float factor=2.0) -> Tensor'
    """
    return _TorchInference(prototype_function, mutates_args, list_tags(tags)).schema(op_name)


class _TorchInference:
    """One function whose schema is inferred."""

    def __init__(self, fn: Callable[..., Any], mutates_args: str | Iterable[str], tags: tuple[str, ...]) -> None:
        self.is_inplace, self.is_out = "inplace" in tags, "out" in tags
        if self.is_inplace and self.is_out:
            raise AssertionError("torch.Tag.inplace and torch.Tag.out are mutually exclusive")
        if isinstance(mutates_args, str) and mutates_args != "unknown":
            raise ValueError(
                "mutates_args must either be a sequence of the names of the arguments that are mutated or the string "
                "'unknown'. "
            )
        self.written = mutates_args if isinstance(mutates_args, str) else tuple(mutates_args)
        self.signature = inspect.signature(fn)
        self.names = getattr(inspect.unwrap(fn), "__globals__", {})
        #: The written arguments, by name, with their alias sets.
        self.aliases: dict[str, str] = {}

    def refuse(self, fault: str) -> NoReturn:
        raise SchemaError(f"infer_schema(func): {fault} Got func with signature {self.signature})")

    def schema(self, op_name: str | None) -> str:
        parts: list[str] = []
        parameters = self.signature.parameters
        for index, parameter in enumerate(parameters.values()):
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                self.refuse("We do not support positional-only args, varargs, or varkwargs.")
            if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
                parts.append("*")
            parts.append(self._parameter(index, parameter))
        if unknown := set(self.written) - set(parameters) if self.written != "unknown" else ():
            self.refuse(
                f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain the "
                "names of all args that the custom op mutates, or just the string 'unknown' if you don't know."
            )
        if self.is_inplace:
            self._check_inplace()
        if self.is_out and not self.aliases:
            self.refuse("torch.Tag.out requires at least one mutable keyword-only Tensor argument.")
        return f"{op_name or ''}({', '.join(parts)}) -> {self._returns()}"

    def _parameter(self, index: int, parameter: inspect.Parameter) -> str:
        name = parameter.name
        if parameter.annotation is parameter.empty:
            self.refuse(f"Parameter {name} must have a type annotation.")
        kind = self._type_of(parameter)
        if self.written == "unknown":
            is_written = kind.startswith("Tensor")
        else:
            is_written = name in self.written
            if is_written and not kind.startswith("Tensor"):
                self.refuse(
                    f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated"
                )
        if is_written:
            if self.is_out and parameter.kind is not parameter.KEYWORD_ONLY:
                self.refuse("torch.Tag.out requires mutable arguments to be keyword-only.")
            if self.is_out and kind != "Tensor":
                self.refuse("torch.Tag.out only supports mutable keyword-only Tensor arguments.")
            self.aliases[name] = f"a{index}"
            kind = f"Tensor(a{index}!){kind.removeprefix('Tensor')}"
        return f"{kind} {name}{self._default(parameter)}"

    def _type_of(self, parameter: inspect.Parameter) -> str:
        annotation = self._read(parameter.annotation)
        found = SUPPORTED_PARAM_TYPES.get(annotation) if _is_hashable(annotation) else None
        if found is not None:
            return found
        advice = ""
        if typing.get_origin(annotation) is tuple:
            wanted = tuple_to_list(annotation)
            advice = "We do not support Tuple inputs in schema. As a workaround, please try to use List instead. "
            advice += f"For example, {wanted}.\n\n" if wanted in SUPPORTED_PARAM_TYPES else "\n\n"
        return self.refuse(
            f"Parameter {parameter.name} has unsupported type {parameter.annotation}. {advice}"
            f"The valid types are: {SUPPORTED_PARAM_TYPES.keys()}."
        )

    def _default(self, parameter: inspect.Parameter) -> str:
        default = parameter.default
        if default is parameter.empty:
            return ""
        if default is None or isinstance(default, int | float | bool):
            return f"={default}"
        if isinstance(default, str | device):
            return f'="{default}"'
        if isinstance(default, dtype):
            return f"={str(default).rpartition('.')[2]}"
        return self.refuse(f"Parameter {parameter.name} has an unsupported default value type {type(default)}.")

    def _check_inplace(self) -> None:
        first = next(
            (each for each in self.signature.parameters.values() if each.kind is each.POSITIONAL_OR_KEYWORD), None
        )
        if first is None:
            self.refuse("torch.Tag.inplace requires a positional Tensor argument.")
        if self._read(first.annotation) is not Tensor:
            self.refuse("torch.Tag.inplace requires the first positional argument to be a Tensor.")
        if self.written == "unknown" or set(self.written) != {first.name}:
            self.refuse(
                "torch.Tag.inplace requires mutates_args to contain exactly the first positional argument, got "
                f"{self.written}."
            )

    def _returns(self) -> str:
        hint = self._read(self.signature.return_annotation)
        aliases = [f"Tensor({alias}!)" for alias in self.aliases.values()]
        if self.is_inplace:
            if hint is not Tensor:
                self.refuse("torch.Tag.inplace requires the return annotation to be torch.Tensor.")
            return aliases[0]
        if self.is_out:
            args = typing.get_args(hint) if typing.get_origin(hint) is tuple else ()
            if not (hint is Tensor if len(aliases) == 1 else args == (Tensor,) * len(aliases)):
                self.refuse(
                    "torch.Tag.out requires the return annotation to match the mutable keyword-only Tensor arguments "
                    f"{tuple(self.aliases)}."
                )
            return aliases[0] if len(aliases) == 1 else f"({', '.join(aliases)})"
        if hint is None:
            return "()"
        if hint is inspect.Parameter.empty:
            self.refuse("No return type annotation was provided. Please add one.")
        parts = typing.get_args(hint) if typing.get_origin(hint) is tuple else (hint,)
        if not all(_is_hashable(each) and each in SUPPORTED_RETURN_TYPES for each in parts):
            self.refuse(f"Return has unsupported type {hint}. The valid types are: {SUPPORTED_RETURN_TYPES}.")
        names = [SUPPORTED_RETURN_TYPES[each] for each in parts]
        if typing.get_origin(hint) is not tuple:
            return names[0]
        return f"(({names[0]}))" if len(names) == 1 else f"({', '.join(names)})"

    def _read(self, annotation: Any) -> Any:
        """Return an annotation with the parts that are texts evaluated."""
        if isinstance(annotation, str):
            return self._evaluate(annotation)
        if isinstance(annotation, typing.ForwardRef):
            return self._evaluate(annotation.__forward_arg__)
        origin, args = typing.get_origin(annotation), typing.get_args(annotation)
        read = tuple(map(self._read, args))
        if origin is None or read == args:
            return annotation
        return typing.Union[read] if origin in (typing.Union, UnionType) else GenericAlias(origin, read)  # noqa: UP007

    def _evaluate(self, annotation: str) -> Any:
        try:
            # The text of an annotation is the program's own code.
            return eval(annotation, self.names)  # noqa: S307
        except Exception as error:  # noqa: BLE001  # an annotation may be any expression
            fault = f"{error}" if isinstance(error, NameError) else f"{type(error).__name__}: {error}"
        return self.refuse(
            f"Unsupported type annotation {annotation}. It is not a type. ({fault}). Annotations that are texts, as all are "
            "under 'from __future__ import annotations', may name only objects of the function's module."
        )


def _is_hashable(value: object) -> bool:
    return isinstance(value, collections.abc.Hashable)


def tuple_to_list(tuple_type: Any) -> Any:
    """Return the annotation of a list for that of a tuple.

    >>> tuple_to_list(tuple[int, int])
    list[int]
    """
    args = typing.get_args(tuple_type)
    if not args:
        return list
    elements = args[:1] if args[1:] == (Ellipsis,) else args
    return GenericAlias(list, (typing.Union[elements],))  # noqa: UP007  # of several types
