"""Questions that the compiled front answers: properties and methods of a frontend's class, and the reading of its items.

See Note [A compiled front] in `native`, and `frontends.make_question` and `frontends.make_items`, which load this module
where there is a front.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...arrays.frontend import Frontend
from .plans import layout_of


def make_answered(
    front: Any,
    frontend: Frontend[Any],
    plain: Any,
    attribute: str,
    array_type: type | None,
    answers: Mapping[Any, Any] | None,
    beside: str | None,
    unless_zero: str | None,
    takes_index: bool,
    keys: int,
    state: str | None,
    absent: object,
    busy: object,
    sure: type | None,
) -> Any:
    """Return the object that answers in the place of a property or a method; ``plain`` itself where there is no layout."""
    layout = layout_of(frontend)
    if layout is None:
        return plain
    name, _, within = attribute.partition(".")
    asked = layout, array_type, name, answers, within or None, beside, unless_zero, keys, state, absent, busy, sure
    return front.Question(plain, asked) if isinstance(plain, property) else front.Method(plain, asked, takes_index)


def make_item(
    front: Any,
    frontend: Frontend[Any],
    plain: Callable[..., Any],
    array_type: type,
    unless: object,
    operators: tuple[Any, Any, Any, Any],
    frames: tuple[Callable[..., Any], Callable[..., Any]],
) -> Any:
    """Return the object that reads items in the place of a method; ``plain`` itself where there is no layout."""
    layout = layout_of(frontend)
    return plain if layout is None else front.Item(plain, layout, array_type, unless, *operators, *frames)
