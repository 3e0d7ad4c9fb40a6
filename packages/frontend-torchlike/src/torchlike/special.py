"""Special functions (source: ``torch.special``).

>>> import torchlike
>>> torchlike.special.expit(torchlike.tensor([0.0]))
tensor([0.5000])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .functions import NAMESPACES

__all__ = [*NAMESPACES["special"]]  # noqa: PLE0604  # the keys are strings


def __getattr__(name: str) -> Callable[..., Any]:
    try:
        return NAMESPACES["special"][name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return __all__
