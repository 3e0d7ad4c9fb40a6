"""The keys by which a leaf is reached from its tree: of sequences, mappings and attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["GetAttrKey", "KeyEntry", "KeyPath", "MappingKey", "SequenceKey"]


class KeyEntry(Protocol):
    """One step of a path: hashable, comparable, with a text, and a method that takes the step."""

    def __hash__(self) -> int: ...

    def __eq__(self, other: object) -> bool: ...

    def get(self, parent: Any) -> Any:
        """Return the child of a container."""


KeyPath = tuple[KeyEntry, ...]


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """The place in a list, a tuple or a deque.

    >>> SequenceKey(1).get("abc"), str(SequenceKey(1))
    ('b', '[1]')
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Sequence[Any]) -> Any:
        """Return the element."""
        return sequence[self.idx]


@dataclass(frozen=True, slots=True)
class MappingKey:
    """The key in a dictionary.

    >>> MappingKey("a").get({"a": 3}), str(MappingKey("a"))
    (3, "['a']")
    """

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Mapping[Any, Any]) -> Any:
        """Return the value."""
        return mapping[self.key]


@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The name of an attribute, such as a field of a named tuple.

    >>> GetAttrKey("imag").get(2j), str(GetAttrKey("imag"))
    (2.0, '.imag')
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """Return the attribute."""
        return getattr(obj, self.name)
