"""Right calls of the operators of ``operators.fft``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Any, Final

from dispatch_core import ops

from ...dtypes import BY_NAME
from ..drawing import CallRow, Draw, call


def _spectrum(r: Draw) -> tuple[Any, ...]:
    window = ops.aten.hann_window(8, dtype=BY_NAME["float64"])
    return ops.aten.stft(r.f(40), 8, 4, 8, window, return_complex=True), 8, 4, 8, window


CALLS: Final[tuple[CallRow, ...]] = (
    call(
        "fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_hfft fft_hfft2 fft_hfftn fft_irfft "
        "fft_irfft2 fft_irfftn fft_fftshift fft_ifftshift",
        lambda r: (r.c(4, 6),),
    ),
    call("fft_rfft fft_rfft2 fft_rfftn fft_ihfft fft_ihfft2 fft_ihfftn", lambda r: (r.f(4, 6),)),
    call("_fft_c2c", lambda r: (r.c(4, 6), [1], 0, True)),
    call("_fft_c2r", lambda r: (r.c(4, 4), [1], 2, 6)),
    call("_fft_r2c", lambda r: (r.f(4, 6), [1], 0, True)),
    call("stft stft.center", lambda r: (r.f(40), 8, 4, 8, r.p(8)), return_complex=True),
    call("istft", _spectrum),
)
