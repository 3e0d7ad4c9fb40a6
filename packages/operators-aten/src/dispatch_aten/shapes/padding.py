"""Shape rules of padding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

RULES: Final[dict[str, Callable[..., Any]]] = {}
