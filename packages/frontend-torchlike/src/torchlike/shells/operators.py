"""Operators of torch that are not ours, by name: ``torch.ops.aten.NAME.OVERLOAD`` can be a key, and refuses each call.

Libraries write tables from overloads to handlers, and name operators there that they never call.
"""

from __future__ import annotations

import re
from functools import cache
from pkgutil import get_data
from typing import Any, Final, cast

import dispatch_core as dc

from .parts import observers

__all__ = ["name_absent_operators"]

_WORD: Final = re.compile(r"(\w+)(?:\(([\w,]+)\))?")


class AbsentOverload:
    """One overload of an operator that is there by name only."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise ``NotImplementedError``."""
        for observe in observers:
            observe(self._path)
        raise NotImplementedError(
            f"{self._path} is there by name only: torch has it, and no operator of that name is defined here; an operator"
            " of yours is defined by torch.library"
        )

    def __repr__(self) -> str:
        return f"<{self._path}, by name only>"


class AbsentPacket(AbsentOverload):
    """An operator that is there by name only, with torch's overloads as attributes."""

    def __init__(self, path: str, names: list[str]) -> None:
        super().__init__(path)
        self._names = names
        self.__dict__.update({name: AbsentOverload(f"{path}.{name}") for name in names})

    def overloads(self) -> list[str]:
        """Return the names of the overloads."""
        return [*self._names]


class _Aten(type(dc.ops.aten)):  # type: ignore[misc]  # its class has no public name
    """Operators of ours, and torch's others by name."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except dc.OperatorNotFoundError:
            if name not in _overloads():
                raise
        found = self.__dict__[name] = AbsentPacket(f"torch.ops.aten.{name}", _overloads()[name])
        return found


@cache
def _overloads() -> dict[str, list[str]]:
    """Return the overloads of each operator in the table."""
    data = cast("bytes", get_data("torchlike.shells", "torch_operators.txt"))
    _, _, text = data.decode().partition("\n\n")
    return {name: (found or "default").split(",") for name, found in _WORD.findall(text)}


def name_absent_operators() -> None:
    """Give ``torch.ops.aten`` the names of all of torch's operators."""
    dc.ops.__dict__["aten"] = _Aten(dc.registry, "aten")
