"""Functions that derivative formulas use, written in aten operators only, so that gradients have gradients.

Parts that several formulas share, or that are too long for an expression; the formulas are in ``derivatives``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from . import _shared, indexing, loss, pointwise, reduction, view
from ._shared import conjugate

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FUNCTIONS", "conjugate"]

FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    name: getattr(module, name)
    for module in (indexing, loss, pointwise, reduction, view, _shared)
    for name in module.__all__
}
"""The functions of formulas by their names."""
