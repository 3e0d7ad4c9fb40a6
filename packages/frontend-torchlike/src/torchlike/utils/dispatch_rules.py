"""Rules by which modes and subclasses handle single operators (source: ``torch.library.register_torch_dispatch``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

__all__ = ["RULES", "add_rule"]

#: Operator and class → the function that has the place of the class's ``__torch_dispatch__``.
RULES: Final[dict[tuple[str, type], Callable[..., Any]]] = {}


def add_rule(name: str, cls: type, rule: Callable[..., Any]) -> Callable[[], None]:
    """Register a rule, and return the function that takes it back.

    Raises ``RuntimeError`` where there is one.
    """
    place = name.removesuffix(".default"), cls
    if place in RULES:
        raise RuntimeError(f"{cls} already has a `__torch_dispatch__` rule registered for {name}")
    RULES[place] = rule

    def forget() -> None:
        if RULES.get(place) is rule:
            del RULES[place]

    return forget
