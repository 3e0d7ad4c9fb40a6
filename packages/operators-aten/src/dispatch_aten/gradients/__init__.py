"""Functions that derivative formulas use, written in aten operators only, so that gradients have gradients.

Parts that several formulas share, or that are too long for an expression; the formulas are in ``derivatives``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from . import (
    _shared,
    activation,
    attention,
    complex_numbers,
    convolution,
    fft,
    indexing,
    linalg,
    loss,
    normalization,
    ordering,
    padding,
    pointwise,
    pooling,
    recurrent,
    reduction,
    resampling,
    scatter,
    special,
    spectral,
    view,
)
from ._shared import conjugate

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FUNCTIONS", "conjugate"]

_MODULES: Final = (
    activation,
    attention,
    complex_numbers,
    convolution,
    fft,
    indexing,
    linalg,
    loss,
    normalization,
    ordering,
    padding,
    pointwise,
    pooling,
    recurrent,
    reduction,
    resampling,
    scatter,
    special,
    spectral,
    view,
    _shared,
)

FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    name: getattr(module, name) for module in _MODULES for name in module.__all__
}
"""The functions of formulas by their names."""
