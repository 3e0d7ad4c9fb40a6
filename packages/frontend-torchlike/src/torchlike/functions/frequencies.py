"""The frequencies of the results of discrete Fourier transforms."""

from __future__ import annotations

__name__ = "torchlike.fft"  # see Note [Public paths]

from typing import Any

from dispatch_aten.dtypes import get_default_dtype

from ..creation.factories import FACTORIES
from ..creation.factory_memory import check_pinning, pin_made
from ..tensors.tensor import Tensor
from .operator_functions import FUNCTIONS


def _place(places: Tensor, out: Tensor | None) -> Tensor:
    return places if out is None else out.resize_(places.shape).copy_(places)


def fftfreq(n: int, d: float = 1.0, *, out: Tensor | None = None, **options: Any) -> Tensor:
    """Return the frequencies of ``fft``'s results for ``n`` samples ``d`` apart (source: ``torch.fft.fftfreq``).

    >>> fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    requires_grad = options.pop("requires_grad", False)
    pins = check_pinning("fftfreq", options.pop("pin_memory", None))
    places = rfftfreq(n, d, **options)
    below = FACTORIES["arange"](-(n // 2), 0, dtype=places.dtype, device=places.device) * (1.0 / (n * d))
    found = FUNCTIONS["cat"]([places[: (n + 1) // 2], below])
    return _place(pin_made(found) if pins and out is None else found, out).requires_grad_(requires_grad)


def rfftfreq(n: int, d: float = 1.0, *, out: Tensor | None = None, **options: Any) -> Tensor:
    """Return the frequencies of ``rfft``'s results for ``n`` samples ``d`` apart (source: ``torch.fft.rfftfreq``).

    >>> rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    requires_grad = options.pop("requires_grad", False)
    pins = check_pinning("rfftfreq", options.pop("pin_memory", None))
    if options.get("dtype") is None:
        options["dtype"] = get_default_dtype() if out is None else out.dtype
    places = FACTORIES["arange"](n // 2 + 1, **options)
    places = places * (1.0 / (n * d))
    return _place(pin_made(places) if pins and out is None else places, out).requires_grad_(requires_grad)
