"""The writer of guards: lines of code that return where values are not as they were, and what they refer to."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final

from dispatch_core.calls.emit import define, make_function


def same_constant(one: Any, other: Any) -> bool:
    """Return whether two constants are the same: of one type and equal, or one object; zeros by their signs, nan as nan.

    >>> same_constant(0.0, -0.0), same_constant(float("nan"), float("nan")), same_constant(1, True)
    (False, True, False)
    """
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return (one == other and math.copysign(1, one) == math.copysign(1, other)) or (one != one and other != other)  # noqa: PLR0124
    if isinstance(one, complex):
        return same_constant(one.real, other.real) and same_constant(one.imag, other.imag)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same_constant, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(map(same_constant, one.values(), other.values()))
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001  # the object's own
        return False


_WIDE: Final = 1 << 30


class Names:
    """Names for the objects that a text refers to."""

    def __init__(self) -> None:
        self.scope: dict[str, Any] = {"same": same_constant}
        self._known: dict[int, str] = {}

    def add(self, value: object) -> str:
        """Return the name of an object, or the text of a simple constant."""
        if value is None or value is True or value is False or type(value) is str:
            return repr(value)
        if type(value) is int and abs(value) < _WIDE:
            return repr(value)
        return self.bind(value)

    def bind(self, value: object) -> str:
        """Return the name of an object."""
        name = self._known.get(id(value))
        if name is None:
            name = self._known[id(value)] = f"k{len(self.scope)}"
            self.scope[name] = value
        return name


class GuardWriter:
    """Writes the lines of one guard, which runs ``missed`` where something is not as it was."""

    def __init__(self, missed: str, names: Names | None = None) -> None:
        self.missed = missed
        self.names = Names() if names is None else names
        self.lines: list[str] = []

    def check(self, condition: str) -> None:
        """Write a line that gives up where a condition holds."""
        self.lines.append(f"if {condition}: {self.missed}")

    def check_constant(self, name: str, value: Any) -> None:
        """Write a line that compares a value with a constant, by identity first."""
        kind = type(value)
        if value is None or kind is bool:
            self.check(f"{name} is not {value!r}")
            return
        known = self.names.bind(list(value) if kind is list else value)
        is_plain = kind is int or kind is str
        differs = f"({name} != {known} or {name}.__class__ is not {kind.__name__})" if is_plain else ""
        self.check(f"{name} is not {known} and {differs or f'not same({name}, {known})'}")

    def check_memories(self, found: Iterable[tuple[Hashable, str]]) -> None:
        """Write lines that compare memories: those with equal keys are one, the others are different ones."""
        first: dict[Hashable, str] = {}
        for key, text in found:
            known = first.setdefault(key, text)
            if known is not text:
                self.check(f"{text} != {known}")
        if len(first) > 1:
            self.check(f"len({{{', '.join(first.values())}}}) != {len(first)}")

    def compile(self, heading: str, lines: Sequence[str], label: str) -> Callable[..., Any]:
        """Return the function of the guard's lines and of ``lines`` after them."""
        made: Callable[..., Any] = make_function(define(heading, [*self.lines, *lines]), label, dict(self.names.scope))
        return made
