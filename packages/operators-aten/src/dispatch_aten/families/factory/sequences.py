"""Sequences, index pairs and windows, made of ranges."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, meta_of
from dispatch_aten.dtypes import float32, float64
from dispatch_aten.promotion import Number
from dispatch_aten.shapes import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dispatch_aten.dtypes import ScalarType


def _read(value: Array | Number) -> Number:
    """Return the number that a tensor without dimensions holds."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    found: Number = aten.item.default(value)
    return found


def _from_tensors(name: str) -> Callable[..., Array]:
    """Make the overloads of ``linspace`` and ``logspace`` that read their ends from tensors."""

    def kernel(start: Array | Number, end: Array | Number, steps: int, *args: float, **options: Any) -> Array:
        described = [each if isinstance(each, (bool, int, float, complex)) else meta_of(each) for each in (start, end)]
        RULES[f"{name}.Tensor_Tensor"](*described, steps, dtype=options.get("dtype"))
        tensor = next(each for each in (start, end) if not isinstance(each, (bool, int, float, complex)))
        if options.get("device") is None:
            options["device"] = dc.device(tensor)
        made = getattr(aten, name).default(_read(start), _read(end), steps, *args, **options)
        return dc.wrap_like(tensor, made)

    return kernel


def _logspace(
    start: Number,
    end: Number,
    steps: int,
    base: float = 10.0,
    *,
    dtype: ScalarType | None = None,
    device: Any = None,
    **options: Any,
) -> Array:
    meta = RULES["logspace"](start, end, steps, base, dtype=dtype)
    if meta.dtype.is_integral:
        start, end = int(start), int(end)  # type: ignore[arg-type]
    computed = float64 if meta.dtype.is_integral else meta.dtype
    exponents = aten.linspace.default(start, end, steps, dtype=computed, device=device)
    return cast(aten.pow.Scalar(base, exponents), meta.dtype)


def _range(
    start: Number,
    end: Number,
    step: Number = 1,
    *,
    dtype: ScalarType | None = None,
    device: Any = None,
    **options: Any,
) -> Array:
    meta = RULES["range.step"](start, end, step, dtype=dtype)
    if meta.dtype.is_integral:
        start, step = int(start), int(step)  # type: ignore[arg-type]
        stop: Number = start + step * meta.numel
    else:
        stop = start + step * (meta.numel - 0.5)
    return aten.arange.start_step(start, stop, step, dtype=meta.dtype, device=device)


def _empty_permuted(
    size: Sequence[int],
    physical_layout: Sequence[int],
    *,
    dtype: ScalarType | None = None,
    device: Any = None,
    **options: Any,
) -> Array:
    meta = RULES["empty_permuted"](size, physical_layout, dtype=dtype)
    return aten.empty_strided.default(meta.shape, meta.strides, dtype=meta.dtype, device=device)


def _triangle_indices(name: str) -> Callable[..., Array]:
    def kernel(
        row: int, col: int, offset: int = 0, *, dtype: ScalarType | None = None, device: Any = None, **options: Any
    ) -> Array:
        meta = RULES[f"{name}_indices"](row, col, offset, dtype=dtype)
        whole = aten.ones.default((row, col), device=device)
        places = aten.nonzero.default(getattr(aten, name).default(whole, offset))
        return cast(aten.contiguous.default(aten.t.default(places)), meta.dtype)

    return kernel


def _raised_cosine(places: Array, length: int, alpha: float, beta: float) -> Array:
    waves = aten.cos.default(aten.mul.Scalar(places, 2 * math.pi / (length - 1)))
    return aten.rsub.Scalar(aten.mul.Scalar(waves, beta), alpha)


def _hann(places: Array, length: int) -> Array:
    return _raised_cosine(places, length, 0.5, 0.5)


def _hamming(places: Array, length: int, alpha: float = 0.54, beta: float = 0.46) -> Array:
    return _raised_cosine(places, length, alpha, beta)


def _blackman(places: Array, length: int) -> Array:
    angles = aten.mul.Scalar(places, math.pi / (length - 1))
    slow = aten.mul.Scalar(aten.cos.default(aten.mul.Scalar(angles, 2)), 0.5)
    fast = aten.mul.Scalar(aten.cos.default(aten.mul.Scalar(angles, 4)), 0.08)
    return aten.add.Scalar(aten.sub.Tensor(fast, slow), 0.42)


def _bartlett(places: Array, length: int) -> Array:
    rising = aten.mul.Scalar(places, 2.0 / (length - 1))
    return aten.minimum.default(rising, aten.rsub.Scalar(rising, 2))


def _kaiser(places: Array, length: int, beta: float = 12.0) -> Array:
    away = aten.sub.Scalar(aten.mul.Scalar(places, 2.0 / (length - 1)), 1)
    inside = aten.clamp_min.default(aten.rsub.Scalar(aten.mul.Tensor(away, away), 1), 0)
    most = aten.i0.default(aten.new_full.default(places, (), beta))
    return aten.div.Tensor(aten.i0.default(aten.mul.Scalar(aten.sqrt.default(inside), beta)), most)


def _window(name: str, shape: Callable[..., Array]) -> dict[str, Callable[..., Array]]:
    """Make a window's overloads; a periodic one is a symmetric one of one more, without the last element."""

    def kernel(
        window_length: int,
        periodic: bool = True,
        *numbers: float,
        dtype: ScalarType | None = None,
        device: Any = None,
        **options: Any,
    ) -> Array:
        meta = RULES[name](window_length, dtype=dtype)
        if window_length < 2:
            return aten.ones.default((window_length,), dtype=meta.dtype, device=device)
        length = window_length + 1 if periodic else window_length
        computed = float64 if meta.dtype == float64 else float32
        places = aten.arange.start_step(0, length, 1, dtype=computed, device=device)
        found = cast(shape(places, length, *numbers), meta.dtype)
        return aten.clone.default(aten.slice.Tensor(found, 0, 0, window_length)) if periodic else found

    return {name: kernel, f"{name}.periodic": kernel}


_HAMMING: Final = _window("hamming_window", _hamming)
_KAISER: Final = _window("kaiser_window", _kaiser)


FORMULAS: Final[dict[str, Callable[..., Any]]] = {
    **_window("bartlett_window", _bartlett),
    **_window("blackman_window", _blackman),
    **_window("hann_window", _hann),
    **_HAMMING,
    **_KAISER,
}
