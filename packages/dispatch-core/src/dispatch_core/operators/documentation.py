"""Docstrings of operators: their library's sentences, by ``Library.document``, with their schemas otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .registries import Registry

__all__ = ["Documentation", "document_operator"]


class Documentation:
    """The ``__doc__`` of a class, and that of its objects, which ``make`` returns for each when it is read.

    >>> class Number:
    ...     __doc__ = Documentation("A number.", lambda self: f"The number {self.value}.")
    ...     value = 3
    >>> Number.__doc__, Number().__doc__
    ('A number.', 'The number 3.')
    """

    def __init__(self, text: str | None, make: Callable[[Any], str]) -> None:
        self._text, self._make = text, make

    def __get__(self, instance: Any, owner: type) -> str | None:
        return self._text if instance is None else self._make(instance)


def document_operator(registry: Registry, name: str, overload: str | None = None) -> str:
    """Return the docstring of an operator, ``namespace::name``: that of its library, or else its schemas."""
    for describe in registry.descriptions.get(name.partition("::")[0], ()):
        found = describe(name, overload)
        if found is not None:
            return found
    kept = [each for each in registry.overloads(name) if overload in (None, each or "default")]
    entries = [registry.get(f"{name}.{each}" if each else name) for each in kept]
    listed = "".join(f"\n    {entry.schema}" for entry in entries if entry.schema is not None)
    what = f"the operator {name}" if overload is None else f"the overload {overload!r} of {name}"
    return (
        f"Call {what} on the backend of its arguments.\n\nCalls:{listed}"
        if listed
        else f"Call {what}, which has no schema."
    )
