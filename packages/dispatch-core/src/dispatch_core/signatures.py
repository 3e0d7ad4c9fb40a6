"""Schemas as signatures of Python, for ``inspect.signature``, ``help`` and the tools of editors.

Annotations are text that prints as it is read, ``input: Tensor``: the core names no tensor class. They are for people and
for type checkers.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from .schema.model import Argument, FunctionSchema, Return
from .schema.types import BaseType, DictType, ListType, OptionalType, TupleType, Type, UnionType

if TYPE_CHECKING:
    from .operators.namespaces import OpOverloadPacket

__all__ = [
    "LazySignature",
    "Spelled",
    "packet_signatures",
    "rank",
    "signature_of",
    "signatures",
    "spell_type",
    "to_signature",
]

_NAMES: Final = {
    "Device": "Device",
    "DeviceIndex": "int",
    "Generator": "Generator",
    "Layout": "layout",
    "MemoryFormat": "memory_format",
    "Scalar": "Number",
    "ScalarType": "dtype",
    "SymBool": "bool",
    "SymInt": "int",
    "Tensor": "Tensor",
    **{name: name for name in ("bool", "complex", "float", "int", "str")},
}
"""The base types of the schema language → their names for users."""


class Spelled(str):
    """An annotation as text, which signatures print without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def spell_type(type: Type, *, is_result: bool = False) -> str:
    """Return a schema's type as an annotation of Python; a list of results is one, and one of arguments any sequence.

    >>> from dispatch_core.schema import FunctionSchema
    >>> schema = FunctionSchema.parse("sum(Tensor self, int[1]? dim, ScalarType? dtype=None) -> Tensor[]")
    >>> [spell_type(each.type) for each in schema.arguments], spell_type(schema.returns[0].type, is_result=True)
    (['Tensor', 'int | Sequence[int] | None', 'dtype | None'], 'list[Tensor]')
    """
    match type:
        case BaseType(name):
            return _NAMES.get(name, "Any")
        case OptionalType(element):
            return f"{spell_type(element, is_result=is_result)} | None"
        case ListType(element, size):
            item = spell_type(element, is_result=is_result)
            if is_result:
                return f"list[{item}]"
            return f"Sequence[{item}]" if size is None else f"{item} | Sequence[{item}]"
        case DictType(key, value):
            return f"dict[{spell_type(key, is_result=is_result)}, {spell_type(value, is_result=is_result)}]"
        case TupleType() | UnionType():
            parts = [spell_type(part, is_result=is_result) for part in type.parts]
            return f"tuple[{', '.join(parts)}]" if isinstance(type, TupleType) else " | ".join(parts)
    return "Any"


def spell_results(returns: Sequence[Return]) -> Spelled:
    """Return the annotation of a call's results: nothing, one value, or a tuple."""
    spelled = [spell_type(each.type, is_result=True) for each in returns]
    return Spelled("None" if not spelled else spelled[0] if len(spelled) == 1 else f"tuple[{', '.join(spelled)}]")


def to_parameter(argument: Argument) -> inspect.Parameter:
    """Return an argument as a parameter; a name that Python keeps for itself gets an underscore."""
    # fmt: off
    return inspect.Parameter(
        f"{argument.name}_" if keyword.iskeyword(argument.name) else argument.name,
        inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=_default_of(argument),
        annotation=Spelled(spell_type(argument.type)),
    )
    # fmt: on


def to_signature(schema: FunctionSchema) -> inspect.Signature:
    """Return a schema as the signature of the function that calls it.

    >>> from dispatch_core.schema import FunctionSchema
    >>> to_signature(FunctionSchema.parse("add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"))
    <Signature (self: Tensor, other: Tensor, *, alpha: Number = 1) -> Tensor>
    """
    parameters = [to_parameter(argument) for argument in schema.arguments]
    if schema.is_vararg:
        place = sum(each.kind is not inspect.Parameter.KEYWORD_ONLY for each in parameters)
        parameters.insert(place, inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL))
    return inspect.Signature(parameters, return_annotation=spell_results(schema.returns))


def _default_of(argument: Argument) -> object:
    """Return a default as users write it: one number for a list that repeats it."""
    if not argument.has_default:
        return inspect.Parameter.empty
    value = argument.value
    is_sized = isinstance(argument.type, ListType) and argument.type.size is not None
    if is_sized and isinstance(value, tuple) and value and len({*value}) == 1:
        return value[0]
    return value


class LazySignature(inspect.Signature):
    """A signature that is made when it is first looked at; ``overloads`` has all that the function serves.

    ``make`` returns them, the one for `inspect.signature` first.

    >>> made = LazySignature(lambda: [inspect.signature(lambda x, y=2: x)])
    >>> made, len(made.overloads)
    (<LazySignature (x, y=2)>, 1)
    """

    def __init__(self, make: Callable[[], Iterable[inspect.Signature]]) -> None:
        self._make = make

    @cached_property
    def overloads(self) -> tuple[inspect.Signature, ...]:
        """All signatures, the most general first."""
        return tuple(self._make())

    def __getattr__(self, name: str) -> object:
        # The slots of the base class, which are empty until they are first read.
        if name in ("_parameters", "_return_annotation"):
            shown = self.overloads[0]
            super().__init__([*shown.parameters.values()], return_annotation=shown.return_annotation)
            return getattr(self, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def replace(self, **changes: Any) -> inspect.Signature:  # type: ignore[override]  # the base's sentinel is its own
        """Return a plain signature with other parameters or another result."""
        return self.overloads[0].replace(**changes)

    def __reduce__(self) -> str | tuple[object, ...]:
        return self.overloads[0].__reduce__()


def signature_of(find: Callable[[], FunctionSchema | None]) -> LazySignature:
    """Return the signature of the schema that ``find`` returns; without one, a function takes anything."""

    def make() -> list[inspect.Signature]:
        schema = find()
        return [_ANYTHING if schema is None else to_signature(schema)]

    return LazySignature(make)


def packet_signatures(packet: OpOverloadPacket) -> list[inspect.Signature]:
    """Return the signatures of a packet's overloads, one that takes many arguments and need not be given ``out`` first."""
    found = [inspect.signature(getattr(packet, name)) for name in packet.overloads()]
    return sorted(found, key=rank)


def rank(signature: inspect.Signature) -> tuple[int, int, int]:
    """Return a key that sorts signatures, the most general first.

    That is the one with the most parameters, of which none has to be given by keyword, and with sizes in a sequence.
    """
    kinds = inspect.Parameter
    listed = signature.parameters.values()
    required = [each.kind for each in listed if each.default is kinds.empty]
    by_keyword = required.count(kinds.KEYWORD_ONLY) + 2 * required.count(kinds.VAR_POSITIONAL)
    return by_keyword, -len(listed), len(required)


_ANYTHING: Final = inspect.signature(lambda *args, **kwargs: None)


def signatures(function: Callable[..., Any]) -> tuple[inspect.Signature, ...]:
    """Return every signature of a function, an overload, a packet of overloads or a bound method.

    >>> import dispatch_core as dc
    >>> from dispatch_core.signatures import signatures
    >>> r = dc.Registry()
    >>> library = dc.Library("demo", "DEF", registry=r)
    >>> for schema in ("twice(int x) -> int", "twice.text(str x) -> str"):
    ...     _ = library.define(schema)
    >>> [str(each) for each in signatures(r.ops.demo.twice)]
    ['(x: int) -> int', '(x: str) -> str']
    """
    bound = getattr(function, "__self__", None)
    plain = getattr(function, "__func__", None)
    if bound is not None and plain is not None:
        all_of = signatures(plain)
        return tuple(each.replace(parameters=list(each.parameters.values())[1:]) for each in all_of)
    found = inspect.signature(function)
    return found.overloads if isinstance(found, LazySignature) else (found,)
