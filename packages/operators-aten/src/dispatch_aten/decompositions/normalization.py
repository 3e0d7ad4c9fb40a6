"""Normalizations in terms of simpler operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

IMPLICIT: Final[dict[str, Callable[..., Any]]] = {}

EXPLICIT: Final[dict[str, Callable[..., Any]]] = {}
