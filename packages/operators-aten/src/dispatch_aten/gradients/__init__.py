"""Functions that derivative formulas use, written in aten operators only, so that gradients have gradients.

Parts that several formulas share, or that are too long for an expression; the formulas are in ``derivatives``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.kinds import is_operator, kind_of
from dispatch_core.caches import LazyTable

from ._shared import conjugate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

__all__ = ["FUNCTIONS", "conjugate", "functions_for"]

_KINDS: Final = (
    *(
        "activation",
        "attention",
        "complex_numbers",
        "convolution",
        "fft",
        "indexing",
        "linalg",
        "loss",
        "matmul",
        "normalization",
    ),
    *("pointwise", "pooling", "reduction", "resampling", "scatter", "special", "view"),
)
_MODULES: Final = (
    "gradients._shared",
    *(f"families.{kind}.gradients" for kind in _KINDS),
    "families.linalg.spectral_gradients",
)


def _modules() -> Iterator[ModuleType]:
    """Yield the modules, those first that are imported already."""
    names = [f"dispatch_aten.{name}" for name in _MODULES]
    for name in sorted(names, key=lambda name: name not in sys.modules):
        yield import_module(name)


def _find(name: str) -> Callable[..., Any]:
    if not is_operator(name):
        for module in _modules():
            if name in module.__all__:
                found: Callable[..., Any] = getattr(module, name)
                return found
    raise KeyError(name)


FUNCTIONS: Final = LazyTable(_find, lambda: [name for module in _modules() for name in module.__all__])
"""The functions of formulas by their names; none is named like an operator."""


def functions_for(operator: str) -> LazyTable[Callable[..., Any]]:
    """Return ``FUNCTIONS``, with those of an operator's kind at hand; others are imported when one is asked for."""
    kind = kind_of(operator)
    if kind in _KINDS:
        import_module(f"dispatch_aten.families.{kind}.gradients")
    return FUNCTIONS
