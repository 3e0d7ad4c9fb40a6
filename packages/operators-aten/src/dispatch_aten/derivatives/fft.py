"""Derivative formulas of Fourier transforms, with torch's signs of the exponents; see ``dispatch_aten.derivatives``.

They multiply by no tensor, so that the engine conjugates nothing.
"""

from __future__ import annotations

from typing import Final

FORMULAS: Final[dict[str, dict[str, str]]] = {
    "_fft_c2c": {"self": "_fft_c2c(grad, dim, normalization, not forward)"},
    "_fft_c2r": {"self": "fft_c2r_backward(grad, dim, normalization)"},
    "_fft_r2c": {"self": "fft_r2c_backward(grad, dim, normalization, onesided, self_sizes)"},
}
