"""Functions that draw arguments of the operators of ``fft.rows``."""

from __future__ import annotations

from typing import Any

from dispatch_core import ops

from ...dtypes import BY_NAME
from ..drawing import Draw


def _spectrum(r: Draw) -> tuple[Any, ...]:
    window = ops.aten.hann_window(8, dtype=BY_NAME["float64"])
    return ops.aten.stft(r.f(40), 8, 4, 8, window, return_complex=True), 8, 4, 8, window
