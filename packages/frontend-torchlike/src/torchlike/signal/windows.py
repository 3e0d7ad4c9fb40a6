"""Windows of spectral analysis (source: ``torch.signal.windows``).

Each takes the number of points and, by keyword, the numbers of its shape and ``sym``, ``dtype``, ``device``, ``layout`` and
``requires_grad``. With ``sym=False`` a window is periodic: one of a point more, without its last.

>>> hann(5)
tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import float32, float64, get_default_dtype

from ..creation.factories import FACTORIES
from ..names.docstrings import complete_all
from ..tensors.tensor import Tensor
from ..values.layouts import strided

_aten: Final[Any] = dc.ops.aten


def _make(name: str, M: int, shape: Callable[[Tensor, int], Tensor], options: dict[str, Any]) -> Tensor:
    """Make a window: ``shape`` of its points 0, 1, … and of the place of the last one, were the window symmetric."""
    sym, dtype = options.pop("sym", True), options.pop("dtype", None)
    unknown = sorted(options.keys() - {"device", "layout", "requires_grad"})
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument {unknown[0]!r}")
    found = get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if found not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {found}")
    if options.get("layout") not in (None, strided):
        raise ValueError(f"{name} is implemented for strided tensors only, got: {options['layout']}")
    device = options.get("device")
    if M < 2:
        made = FACTORIES["ones"](M, dtype=found, device=device)
    else:
        made = shape(FACTORIES["arange"](M, dtype=found, device=device), M - 1 if sym else M)
    return made.requires_grad_() if options.get("requires_grad") else made


def _cosines(weights: Sequence[float]) -> Callable[[Tensor, int], Tensor]:
    """Make the shape of a sum of cosines with these weights, of alternating signs."""

    def shape(points: Tensor, last: int) -> Tensor:
        total = _aten.full_like.default(points, weights[0])
        for order, weight in enumerate(weights[1:], 1):
            wave = _aten.cos.default(points * (2 * math.pi * order / last))
            total = total + wave * (weight if order % 2 == 0 else -weight)
        return total

    return shape


def bartlett(M: int, **options: Any) -> Tensor:
    """Return a triangle (source: ``torch.signal.windows.bartlett``)."""
    return _make("bartlett", M, lambda points, last: 1 - (points * (2 / last) - 1).abs(), options)


def blackman(M: int, **options: Any) -> Tensor:
    """Return Blackman's window (source: ``torch.signal.windows.blackman``)."""
    return _make("blackman", M, _cosines((0.42, 0.5, 0.08)), options)


def cosine(M: int, **options: Any) -> Tensor:
    """Return the first half of a sine's period (source: ``torch.signal.windows.cosine``)."""
    return _make("cosine", M, lambda points, last: _aten.sin.default((points + 0.5) * (math.pi / (last + 1))), options)


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, **options: Any) -> Tensor:
    """Return a window that decays away from ``center`` (source: ``torch.signal.windows.exponential``)."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if options.get("sym", True) and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def shape(points: Tensor, last: int) -> Tensor:
        middle = last / 2 if center is None else center
        return _aten.exp.default((points - middle).abs() * (-1 / tau))

    return _make("exponential", M, shape, options)


def gaussian(M: int, *, std: float = 1.0, **options: Any) -> Tensor:
    """Return a normal curve (source: ``torch.signal.windows.gaussian``)."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")

    def shape(points: Tensor, last: int) -> Tensor:
        return _aten.exp.default(_aten.square.default((points - last / 2) * (1 / (std * math.sqrt(2)))) * -1)

    return _make("gaussian", M, shape, options)


def general_cosine(M: int, *, a: Iterable[float], **options: Any) -> Tensor:
    """Return a sum of cosines with the weights ``a`` (source: ``torch.signal.windows.general_cosine``)."""
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    weights = list(a)
    if not weights:
        raise ValueError("Coefficients cannot be empty")
    return _make("general_cosine", M, _cosines(weights), options)


def general_hamming(M: int, *, alpha: float = 0.54, **options: Any) -> Tensor:
    """Return a raised cosine (source: ``torch.signal.windows.general_hamming``)."""
    return _make("general_hamming", M, _cosines((alpha, 1 - alpha)), options)


def hamming(M: int, **options: Any) -> Tensor:
    """Return Hamming's window (source: ``torch.signal.windows.hamming``)."""
    return _make("hamming", M, _cosines((0.54, 0.46)), options)


def hann(M: int, **options: Any) -> Tensor:
    """Return Hann's window (source: ``torch.signal.windows.hann``)."""
    return _make("hann", M, _cosines((0.5, 0.5)), options)


def kaiser(M: int, *, beta: float = 12.0, **options: Any) -> Tensor:
    """Return Kaiser's window (source: ``torch.signal.windows.kaiser``)."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def shape(points: Tensor, last: int) -> Tensor:
        away = points * (2 / last) - 1
        inside = _aten.clamp_min.default(away * away * -1 + 1, 0)
        most = _aten.i0.default(_aten.full_like.default(points, beta))
        found: Tensor = _aten.i0.default(_aten.sqrt.default(inside) * beta) / most
        return found

    return _make("kaiser", M, shape, options)


def nuttall(M: int, **options: Any) -> Tensor:
    """Return Nuttall's window (source: ``torch.signal.windows.nuttall``)."""
    return _make("nuttall", M, _cosines((0.3635819, 0.4891775, 0.1365995, 0.0106411)), options)


__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


complete_all(globals(), __all__, "signal.windows")
