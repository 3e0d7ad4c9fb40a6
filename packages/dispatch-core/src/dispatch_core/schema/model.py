"""Schemas as data: an operator's name, its arguments and returns, and the schema that joins them."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, Final, Literal

from dispatch_core._record import Record
from dispatch_core.devices import Device
from dispatch_core.errors import SchemaError

from ..tracebacks import api_boundary
from .declared_dtypes import dtype_of_number
from .types import AliasInfo, BaseType, ListType, OptionalType, Type, is_written, outermost_alias


class Missing(Enum):
    """The type of ``MISSING``, which stands where an argument has no default (None is a default)."""

    # An enum member survives pickling and copying as the same object, so ``is`` keeps working.
    MISSING = "MISSING"

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing.MISSING

_NAME: Final = r"(?a:(?:([A-Za-z_]\w*)::)?([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?)"


class OperatorName(Record):
    """The name of one overload of one operator.

    >>> name = OperatorName("aten", "add", "Tensor")
    >>> str(name), name.packet, str(OperatorName(None, "add"))
    ('aten::add.Tensor', 'aten::add', 'add')
    """

    namespace: str | None
    name: str
    overload: str = ""  # The overload without a name is the empty string; users see it as ``default``.

    @classmethod
    def parse(cls, text: str) -> OperatorName:
        """Read ``[namespace::]name[.overload]``.

        Raises ``SchemaError`` for anything else.

        >>> OperatorName.parse("aten::add")
        OperatorName(namespace='aten', name='add', overload='')
        """
        if not isinstance(text, str):
            raise SchemaError(f"an operator's name is text, not {type(text).__name__}")
        found = re.fullmatch(_NAME, text)
        if found is None:
            raise SchemaError(f"{text!r} is not an operator's name", hint="write 'namespace::name.overload'")
        return cls(found[1], found[2], found[3] or "")

    @property
    def packet(self) -> str:
        """Return the name that all overloads share."""
        return self.name if self.namespace is None else f"{self.namespace}::{self.name}"

    def __str__(self) -> str:
        return f"{self.packet}.{self.overload}" if self.overload else self.packet


class _Annotated:
    """The alias annotations of an argument or a returned value, by its type."""

    __slots__ = ()
    type: Type

    @property
    def alias(self) -> AliasInfo | None:
        """Return the outermost alias annotation: a list's own, else that of its elements."""
        return outermost_alias(self.type)

    @property
    def alias_info(self) -> AliasInfo | None:
        """Return the same, by torch's name."""
        return outermost_alias(self.type)

    @property
    def is_write(self) -> bool:
        """Return whether the call writes to the value or to something in it."""
        return is_written(self.type)


class Argument(Record, _Annotated, aside=("default_text",)):
    """One argument: its name, type, default and whether it can be given by keyword only.

    ``default`` is the value that stands in the schema: a tuple for a list, expanded for one element of a sized list, a
    number for a dtype's name; a kernel receives ``value``. ``default_text`` is how the schema spelled it, and does not
    count when arguments are compared.

    >>> str(Argument("dim", ListType(BaseType("int"), 2), (1, 1), default_text="1"))
    'int[2] dim=1'
    """

    name: str
    type: Type
    default: object = MISSING
    kwarg_only: bool = False
    default_text: str | None = None

    @property
    def has_default(self) -> bool:
        """Return whether a call may leave the argument out."""
        return self.default is not MISSING

    @property
    def default_value(self) -> object:
        """Return the default by torch's name, None where there is none, lists as lists."""
        if self.default is MISSING:
            return None
        return list(self.default) if isinstance(self.default, tuple) else self.default

    @property
    def value(self) -> object:
        """Return the default as a kernel receives it: the dtype itself where the schema has its number."""
        return dtype_of_number(self.default) if str(self.type) in ("ScalarType", "ScalarType?") else self.default

    def __str__(self) -> str:
        if self.default is MISSING:
            return f"{self.type} {self.name}"
        text = self.default_text
        return f"{self.type} {self.name}={spell_default(self.default, self.type) if text is None else text}"


class Return(Record, _Annotated):
    """One returned value; its name is None where the schema gives none.

    >>> str(Return("values", BaseType("Tensor")))
    'Tensor values'
    """

    name: str | None
    type: Type

    def __str__(self) -> str:
        return str(self.type) if self.name is None else f"{self.type} {self.name}"


TensorKind = Literal["tensor", "optional", "list", "optional_list"]


class TensorArgument(Record):
    """An argument whose dispatch keys count: its position in the schema, and how tensors stand in it.

    Kinds: ``tensor`` (``Tensor``), ``optional`` (``Tensor?``), ``list`` (``Tensor[]``) and ``optional_list``
    (``Tensor?[]``). torch's dispatcher looks at no others, however many tensors they hold.
    """

    index: int
    argument: Argument
    kind: TensorKind


def tensor_kind(type: Type) -> TensorKind | None:
    """Return how tensors that the dispatcher looks at stand in a type, or None if there are none."""
    match type:
        case BaseType("Tensor"):
            return "tensor"
        case OptionalType(BaseType("Tensor")):
            return "optional"
        case ListType(BaseType("Tensor")):
            return "list"
        case ListType(OptionalType(BaseType("Tensor"))):
            return "optional_list"
    return None


def order_fault(arguments: tuple[Argument, ...], is_vararg: bool) -> tuple[int, str] | None:
    """Find the first argument that may not stand where it does: its position and the fault, or None."""
    defaulted = keyword = False
    for index, argument in enumerate(arguments):
        if argument.kwarg_only:
            keyword = True
        elif keyword:
            return index, f"positional argument {argument.name!r} follows a keyword-only one"
        if argument.default is not MISSING:
            defaulted = True
            if is_vararg:
                return index, f"argument {argument.name!r} has a default in a schema that ends in '...'"
        elif defaulted and not argument.kwarg_only:
            return index, f"argument {argument.name!r} needs a default, because one before it has one"
    return None


class _Cached:
    """Values computed from a record's fields on first use; no fields, so nothing compares, copies or pickles them."""

    __slots__ = ("_cache",)
    _cache: dict[Any, Any]


class FunctionSchema(Record, _Cached):
    """An operator's whole promise (source: torch's ``FunctionSchema``).

    ``parse`` and ``str`` are each other's inverse. Raises ``SchemaError`` if an argument without a default follows one
    with a default, or a positional one follows a keyword-only one.

    >>> schema = FunctionSchema.parse("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
    >>> print(schema)
    aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    >>> [argument.name for argument in schema.keyword_only]
    ['alpha']
    """

    name: OperatorName
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]
    is_vararg: bool = False
    is_varret: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "_cache", {})
        if not (
            isinstance(self.name, OperatorName)
            and all(isinstance(each, Argument) for each in self.arguments)
            and all(isinstance(each, Return) for each in self.returns)
        ):
            raise SchemaError(
                "a schema is made of an OperatorName, Arguments and Returns", hint="use FunctionSchema.parse"
            )
        fault = order_fault(self.arguments, self.is_vararg)
        if fault is not None:
            raise SchemaError(f"{self.name}: {fault[1]}")

    @classmethod
    @api_boundary
    def parse(cls, text: str) -> FunctionSchema:
        """Read a schema in torch's schema language.

        Raises ``SchemaError``, with line, column and a caret under the place, for malformed text.
        """
        from .parser import parse_schema  # The parser builds these classes, so it cannot be imported above them.

        return parse_schema(text)

    @property
    def is_mutable(self) -> bool:
        """Return whether the operator writes to an argument."""
        return any(argument.is_write for argument in self.arguments)

    @property
    def positional(self) -> tuple[Argument, ...]:
        """Return the arguments that may be given by position."""
        return tuple(argument for argument in self.arguments if not argument.kwarg_only)

    @property
    def keyword_only(self) -> tuple[Argument, ...]:
        """Return the arguments that may be given by keyword only."""
        return tuple(argument for argument in self.arguments if argument.kwarg_only)

    @property
    def tensor_arguments(self) -> tuple[TensorArgument, ...]:
        """Return the arguments whose dispatch keys count, in schema order.

        >>> schema = FunctionSchema.parse("index(Tensor self, Tensor?[] indices, int[] no) -> Tensor")
        >>> [(tensor.index, tensor.kind) for tensor in schema.tensor_arguments]
        [(0, 'tensor'), (1, 'optional_list')]
        """
        found: tuple[TensorArgument, ...] | None = self._cache.get("tensor_arguments")
        if found is None:
            kinds = ((index, each, tensor_kind(each.type)) for index, each in enumerate(self.arguments))
            found = tuple(TensorArgument(index, each, kind) for index, each, kind in kinds if kind is not None)
            self._cache["tensor_arguments"] = found
        return found

    def with_namespace(self, namespace: str) -> FunctionSchema:
        """Return the same schema in a namespace.

        Raises ``SchemaError`` if the schema already names another one.

        >>> str(FunctionSchema.parse("relu(Tensor self) -> Tensor").with_namespace("aten").name)
        'aten::relu'
        """
        if self.name.namespace == namespace:
            return self
        if self.name.namespace is not None:
            raise SchemaError(f"{self.name} is in namespace {self.name.namespace!r}, not in {namespace!r}")
        name = OperatorName(namespace, self.name.name, self.name.overload)
        return FunctionSchema(name, self.arguments, self.returns, self.is_vararg, self.is_varret)

    def __str__(self) -> str:
        text: str | None = self._cache.get("text")
        if text is None:
            text = self._cache["text"] = f"{self.name}({self._arguments_text()}) -> {self._returns_text()}"
        return text

    def _arguments_text(self) -> str:
        items = [str(argument) for argument in self.positional]
        keyword_only = self.keyword_only
        if keyword_only:
            items += ["*", *map(str, keyword_only)]
        if self.is_vararg:
            items.append("...")
        return ", ".join(items)

    def _returns_text(self) -> str:
        items = [str(each) for each in self.returns]
        if self.is_varret:
            items.append("...")
        # A tuple alone needs parentheses around it, else its elements would read as several returns.
        if len(items) == 1 and not items[0].startswith("("):
            return items[0]
        return f"({', '.join(items)})"


_ESCAPES = {"\\": "\\\\", '"': '\\"', "'": "\\'", "\n": "\\n", "\t": "\\t", "\f": "\\f", "\v": "\\v"}


def _quote(text: str) -> str:
    spelled = (_ESCAPES.get(c) or (f"\\{ord(c):03o}" if ord(c) < 32 or ord(c) == 127 else c) for c in text)
    return f'"{"".join(spelled)}"'


def spell_default(value: object, type: Type) -> str:
    """Spell a default that was not read from text, so that the parser reads the same value."""
    match value:
        case None | bool():
            return str(value)
        case str() | Device():
            return _quote(str(value))
        case complex():
            imaginary = f"{value.imag!r}j"
            return imaginary if value.real == 0 else f"{value.real!r}{'' if imaginary[0] == '-' else '+'}{imaginary}"
        case int():
            return str(int(value))
        case tuple() | list():
            element = type.parts[0] if isinstance(type, ListType | OptionalType) else type
            # The grammar allows an optional list no list as default, only one element for all.
            if isinstance(type, OptionalType) and value and len(set(value)) == 1:
                return spell_default(value[0], element)
            return f"[{', '.join(spell_default(item, element) for item in value)}]"
    return repr(value)
