"""Discrete Fourier transforms (source: ``torch.fft``).

>>> import torchlike
>>> torchlike.fft.rfft(torchlike.tensor([1., 0., 0., 0.])).real
tensor([1., 1., 1.])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatch_core.tracebacks import api_boundary as _api_boundary

from .functions.frequencies import fftfreq, rfftfreq
from .functions.operator_functions import NAMESPACES
from .names.lazy_names import missing_name

__all__ = ["fftfreq", "rfftfreq", *NAMESPACES["fft"]]  # noqa: PLE0604  # the keys are strings


@_api_boundary
def __getattr__(name: str) -> Callable[..., Any]:
    try:
        return NAMESPACES["fft"][name]
    except KeyError:
        raise missing_name(__name__, name) from None


def __dir__() -> list[str]:
    return __all__
