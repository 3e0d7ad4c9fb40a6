"""Shape rules of operators that make tensors or fill them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dispatch_aten.dtypes import ScalarType, float16, float64, get_default_dtype, int64
from dispatch_aten.errors import OperatorError, ShapeError
from dispatch_aten.promotion import Number, scalar_dtype
from dispatch_aten.shapes.dims import check_size, refuse_ragged
from dispatch_aten.shapes.layout import preserve_format
from dispatch_aten.shapes.meta import TensorMeta, channels_last_strides, contiguous
from dispatch_aten.shapes.refusals import check_fits, refuse_kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_CONTIGUOUS, _PRESERVE, _CHANNELS_LAST = 0, 1, 2


def with_memory_format(meta: TensorMeta, dtype: ScalarType | None, memory_format: int | None) -> TensorMeta:
    """Describe a fresh tensor of ``meta``'s shape in a memory format (torch's number; None preserves)."""
    dtype = meta.dtype if dtype is None else dtype
    if memory_format is None or memory_format == _PRESERVE:
        return preserve_format(meta, dtype)
    if memory_format == _CONTIGUOUS:
        return contiguous(meta.shape, dtype)
    if meta.ndim != memory_format + 2:
        raise ShapeError(
            f"required rank {memory_format + 2} tensor to use channels_last format", argument="memory_format"
        )
    return TensorMeta(meta.shape, channels_last_strides(meta.shape), dtype)


def _empty(size: Sequence[int], *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
    meta = contiguous(check_size(size), dtype)
    if options.get("memory_format") == _PRESERVE:
        raise OperatorError("unsupported memory format Preserve", argument="memory_format")
    return with_memory_format(meta, None, options.get("memory_format") or 0)


def _zeros(size: Sequence[int], *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
    if any(length < 0 for length in size):
        refuse_ragged(size)
        raise ShapeError("zeros: Dimension size must be non-negative.", argument="size")
    return contiguous(size, dtype)


def _empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: ScalarType | None = None, **options: Any
) -> TensorMeta:
    if len(size) != len(stride):
        raise ShapeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})",
            argument="stride",
        )
    if any(step < 0 or (length and step * (length - 1) >= 1 << 60) for length, step in zip(size, stride, strict=True)):
        raise ShapeError(
            f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}", argument="stride"
        )
    return TensorMeta(check_size(size), tuple(stride), get_default_dtype() if dtype is None else dtype)


def _full(size: Sequence[int], fill_value: Number, *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
    found = scalar_dtype(fill_value) if dtype is None else dtype
    check_fits(fill_value, found, "fill_value")
    return contiguous(check_size(size), found)


def arange_length(start: Number, end: Number, step: Number) -> int:
    """Return the number of elements of ``arange``; raise torch's errors for ranges that have none.

    >>> arange_length(0, 5, 2)
    3
    """
    if isinstance(start, complex) or isinstance(end, complex) or isinstance(step, complex):
        raise OperatorError(
            "value cannot be converted to type double without overflow: a range is real", argument="end"
        )
    if step == 0:
        raise OperatorError("step must be nonzero", argument="step")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise OperatorError(f"unsupported range: {start} -> {end}", argument="end")
    if (end < start) if step > 0 else (end > start):
        raise OperatorError("upper bound and lower bound inconsistent with step sign", argument="end")
    if all(isinstance(value, int) for value in (start, end, step)):
        return int(-((start - end) // step))
    return math.ceil((end - start) / step)


def _arange_from(
    start: Number, end: Number, step: Number = 1, *, dtype: ScalarType | None = None, **options: Any
) -> TensorMeta:
    if dtype is None:
        dtype = int64 if all(isinstance(value, int) for value in (start, end, step)) else get_default_dtype()
    if dtype.is_integral:
        start, end, step = (int(value) if not isinstance(value, complex) else value for value in (start, end, step))
    refuse_kinds("arange_cpu", "bc", dtype)
    return contiguous((arange_length(start, end, step),), dtype)


def _arange(end: Number, *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
    return _arange_from(0, end, dtype=dtype)


def _linspace(start: Number, end: Number, steps: int, *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
    if steps < 0:
        raise OperatorError("number of steps must be non-negative", argument="steps")
    if dtype is None:
        dtype = get_default_dtype()
        if isinstance(start, complex) or isinstance(end, complex):
            dtype = dtype.to_complex()
    elif not dtype.is_complex and (isinstance(start, complex) or isinstance(end, complex)):
        inferred = f"c10::complex<{'double' if get_default_dtype().itemsize == 8 else 'float'}>"
        raise OperatorError(
            f"torch.linspace(): inferred dtype {inferred} can't be safely cast to passed dtype {dtype.name}",
            argument="dtype",
        )
    refuse_kinds("linspace_cpu", "b", dtype)
    if steps:
        check_fits(start, dtype, "start")
    if steps > 1:
        check_fits(end, dtype, "end")
    return contiguous((steps,), dtype)


def _eye(n: int, m: int | None = None, *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
    for name, value in (("n", n), ("m", m)):
        if value is not None and value < 0:
            raise OperatorError(f"{name} must be greater or equal to 0, got {value}", argument=name)
    return contiguous((n, n if m is None else m), dtype)


def _scalar_tensor(s: Number, *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
    meta = contiguous((), dtype)
    # Torch makes a half of any real number here, if need be an infinity, where a fill refuses.
    check_fits(s, float64 if meta.dtype == float16 else meta.dtype, "s")
    return meta


def _like(
    self: TensorMeta, *args: Any, dtype: ScalarType | None = None, memory_format: int | None = None, **options: Any
) -> TensorMeta:
    return with_memory_format(self, dtype, memory_format)


def _full_like(
    self: TensorMeta,
    fill_value: Number,
    *,
    dtype: ScalarType | None = None,
    memory_format: int | None = None,
    **options: Any,
) -> TensorMeta:
    check_fits(fill_value, self.dtype if dtype is None else dtype, "fill_value")
    return with_memory_format(self, dtype, memory_format)


def _new(rule: Callable[..., TensorMeta]) -> Callable[..., TensorMeta]:
    """Make the rule of a factory that takes the dtype of a tensor where it is given none."""

    def new(self: TensorMeta, *args: Any, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
        return rule(*args, dtype=self.dtype if dtype is None else dtype)

    return new


def _triangle(name: str) -> Callable[..., TensorMeta]:
    def rule(self: TensorMeta, diagonal: int = 0) -> TensorMeta:
        if self.ndim < 2:
            raise ShapeError(f"{name}: input tensor must have at least 2 dimensions", argument="self")
        return contiguous(self.shape, self.dtype)

    return rule


def _fill(self: TensorMeta, value: TensorMeta | Number) -> TensorMeta:
    if isinstance(value, TensorMeta):
        if value.shape:
            raise ShapeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.",
                argument="value",
            )
    else:
        check_fits(value, self.dtype, "value")
    return preserve_format(self)
