"""The standard's Fourier transforms: rows of two tables over ``torchlike.fft``.

>>> import torchlike
>>> fft(torchlike.tensor([1., 0.]))
tensor([1.+0.j, 1.+0.j])
"""

from __future__ import annotations

__name__ = "torchlike.array_api.fft"  # see Note [Public paths]

from collections.abc import Callable, Sequence
from typing import Any, Literal

from dispatch_aten.dtypes import ScalarType
from torchlike import fft as source
from torchlike.functions.operator_functions import NAMESPACES
from torchlike.tensors.tensor import Tensor

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

Norm = Literal["backward", "ortho", "forward"]


def _make_one(name: str, sentence: str) -> Callable[..., Tensor]:
    def function(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
        return NAMESPACES["fft"][name](x, n, axis, norm)

    return _describe(function, name, sentence)


def _make_many(name: str, sentence: str) -> Callable[..., Tensor]:
    def function(
        x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
    ) -> Tensor:
        return NAMESPACES["fft"][name](x, s, axes, norm)

    return _describe(function, name, sentence)


def _describe(function: Any, name: str, sentence: str) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return {sentence} (source: the array API standard's ``fft.{name}``)."
    return function


fft = _make_one("fft", "the Fourier transform along an axis")
hfft = _make_one("hfft", "the real Fourier transform of half a Hermitian signal")
ifft = _make_one("ifft", "the inverse Fourier transform along an axis")
ihfft = _make_one("ihfft", "the inverse of ``hfft``")
irfft = _make_one("irfft", "the inverse of ``rfft``")
rfft = _make_one("rfft", "the half of a real signal's Fourier transform that tells the other")
fftn = _make_many("fftn", "the Fourier transform along several axes")
ifftn = _make_many("ifftn", "the inverse Fourier transform along several axes")
irfftn = _make_many("irfftn", "the inverse of ``rfftn``")
rfftn = _make_many("rfftn", "the half of a real signal's Fourier transform along several axes")


def fftfreq(n: int, /, *, d: float = 1.0, dtype: ScalarType | None = None, device: Any = None) -> Tensor:
    """Return the frequencies of ``fft``'s results for ``n`` samples ``d`` apart."""
    return source.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: ScalarType | None = None, device: Any = None) -> Tensor:
    """Return the frequencies of ``rfft``'s results for ``n`` samples ``d`` apart."""
    return source.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Return the frequencies along axes with 0 moved to the middle."""
    return NAMESPACES["fft"]["fftshift"](x, axes)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Return the frequencies along axes with 0 moved back to the beginning."""
    return NAMESPACES["fft"]["ifftshift"](x, axes)
