"""The types of the schema language and their alias annotations, as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from dispatch_core._record import Record


class AliasInfo(Record):
    """Which alias sets a value belongs to before and after the call, and whether the call writes to it.

    ``*`` is the wildcard set. The annotation ``Tensor!`` names no set: it is a set of its own, and both sets are empty.

    >>> str(AliasInfo(frozenset("a"), frozenset("*"), is_write=True))
    '(a! -> *)'
    """

    before: frozenset[str]
    after: frozenset[str]
    is_write: bool = False

    @property
    def before_set(self) -> set[str]:
        """Return the sets before the call, by torch's name."""
        return set(self.before)

    @property
    def after_set(self) -> set[str]:
        """Return the sets after the call, by torch's name."""
        return set(self.after)

    def __str__(self) -> str:
        if not self.before:
            return "!"
        write = "!" if self.is_write else ""
        after = "" if self.after == self.before else f" -> {'|'.join(sorted(self.after))}"
        return f"({'|'.join(sorted(self.before))}{write}{after})"


class Type(Record):
    """The base of every schema type; ``str`` gives the schema's spelling."""

    @property
    def alias(self) -> AliasInfo | None:
        """Return the alias annotation of the value itself, not of its elements."""
        return None

    @property
    def parts(self) -> tuple[Type, ...]:
        """Return the types directly inside this one."""
        return ()


class BaseType(Type):
    """A type with a name of its own, such as ``Tensor``, ``int`` or ``ScalarType``."""

    name: str
    alias: AliasInfo | None = None

    def __str__(self) -> str:
        return self.name if self.alias is None else f"{self.name}{self.alias}"


class TypeVariable(Type):
    """A lower-case name, such as ``t``, that represents any type."""

    name: str
    alias: AliasInfo | None = None

    def __str__(self) -> str:
        return self.name if self.alias is None else f"{self.name}{self.alias}"


class ClassType(Type):
    """A custom class by its full name, ``__torch__.torch.classes.namespace.Class``."""

    name: str

    def __str__(self) -> str:
        return self.name


class OptionalType(Type):
    """A value or None."""

    element: Type

    @property
    def alias(self) -> AliasInfo | None:
        """Return the element's own annotation: the grammar has no place for one after ``?``."""
        return self.element.alias

    @property
    def parts(self) -> tuple[Type, ...]:
        """Return the element."""
        return (self.element,)

    def __str__(self) -> str:
        return f"{self.element}?"


class ListType(Type):
    """A list; with a ``size``, callers may also write one element for all of them."""

    element: Type
    size: int | None = None
    alias: AliasInfo | None = None

    @property
    def parts(self) -> tuple[Type, ...]:
        """Return the element."""
        return (self.element,)

    def __str__(self) -> str:
        size = "" if self.size is None else self.size
        return f"{self.element}[{size}]{self.alias or ''}"


class DictType(Type):
    """A dictionary, by the types of its keys and values."""

    key: Type
    value: Type
    alias: AliasInfo | None = None

    @property
    def parts(self) -> tuple[Type, ...]:
        """Return the key's and the value's type."""
        return (self.key, self.value)

    def __str__(self) -> str:
        return f"Dict({self.key}, {self.value}){self.alias or ''}"


class TupleType(Type):
    """A tuple of known length."""

    elements: tuple[Type, ...]

    @property
    def parts(self) -> tuple[Type, ...]:
        """Return the elements."""
        return self.elements

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.elements))})"


class UnionType(Type):
    """One of several types."""

    elements: tuple[Type, ...]
    alias: AliasInfo | None = None

    @property
    def parts(self) -> tuple[Type, ...]:
        """Return the alternatives."""
        return self.elements

    def __str__(self) -> str:
        return f"Union({', '.join(map(str, self.elements))}){self.alias or ''}"


class WrapperType(Type):
    """A value that is not here yet: ``Future(T)``, ``RRef(T)`` or ``Await(T)``."""

    wrapper: Literal["Future", "RRef", "Await"]
    element: Type

    @property
    def parts(self) -> tuple[Type, ...]:
        """Return the element."""
        return (self.element,)

    def __str__(self) -> str:
        return f"{self.wrapper}({self.element})"


def walk(type: Type) -> Iterator[Type]:
    """Yield a type and everything inside it, outermost first.

    >>> [str(part) for part in walk(OptionalType(ListType(BaseType("Tensor"))))]
    ['Tensor[]?', 'Tensor[]', 'Tensor']
    """
    waiting = [type]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(current.parts))


def outermost_alias(type: Type) -> AliasInfo | None:
    """Return the annotation of a type, or else the first one inside it: a list's own, else that of its elements."""
    return next((part.alias for part in walk(type) if part.alias is not None), None)


def is_written(type: Type) -> bool:
    """Return whether the call writes to a value of this type or to something in it."""
    return any(part.alias is not None and part.alias.is_write for part in walk(type))
