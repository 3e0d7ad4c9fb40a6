"""Shape rules of sequences, index pairs and windows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dispatch_aten.dtypes import ScalarType, get_default_dtype, int64
from dispatch_aten.errors import DimensionError, OperatorError, ShapeError
from dispatch_aten.promotion import Number
from dispatch_aten.shapes.dims import check_size
from dispatch_aten.shapes.meta import TensorMeta, contiguous, dense_strides
from dispatch_aten.shapes.own_rules import OWN_RULES
from dispatch_aten.shapes.refusals import refuse_kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _spacing_rule(name: str) -> Callable[..., TensorMeta]:
    """Make the rule of ``linspace`` or ``logspace``, whose ends may be tensors."""

    def rule(
        start: TensorMeta | Number,
        end: TensorMeta | Number,
        steps: int,
        *base: float,
        dtype: ScalarType | None = None,
        **options: Any,
    ) -> TensorMeta:
        for which, value in (("start", start), ("end", end)):
            if isinstance(value, TensorMeta) and value.shape:
                raise ShapeError(
                    f"{name} only supports 0-dimensional start and end tensors, but got {which} with {value.ndim} "
                    "dimension(s).",
                    argument=which,
                )
        ends = [_stand_in(value) for value in (start, end)]
        found: TensorMeta = OWN_RULES["linspace"](*ends, steps, dtype=dtype)
        return found

    return rule


def _stand_in(value: TensorMeta | Number) -> Number:
    """Return a number of a tensor's kind."""
    return (1j if value.dtype.is_complex else 1.0) if isinstance(value, TensorMeta) else value


def _range(
    start: Number, end: Number, step: Number = 1, *, dtype: ScalarType | None = None, **options: Any
) -> TensorMeta:
    if isinstance(start, complex) or isinstance(end, complex) or isinstance(step, complex):
        raise OperatorError("value cannot be converted to type double without overflow", argument="end")
    if step == 0:
        raise OperatorError("step must be nonzero", argument="step")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise OperatorError(f"unsupported range: {start} -> {end}", argument="end")
    if (end < start) if step > 0 else (end > start):
        raise OperatorError("upper bound and lower bound inconsistent with step sign", argument="end")
    found = get_default_dtype() if dtype is None else dtype
    refuse_kinds("range_cpu", "bc", found)
    return contiguous((int((end - start) / step) + 1,), found)


def _empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], *, dtype: ScalarType | None = None, **options: Any
) -> TensorMeta:
    if len(size) != len(physical_layout):
        raise ShapeError(
            "Number of dimensions in the tensor input does not match the length of the physical layout; i.e. "
            f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(physical_layout)}",
            argument="physical_layout",
        )
    for place, dim in enumerate(physical_layout):
        if not 0 <= dim < len(size):
            raise DimensionError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {dim} at index {place}). "
                "NB: negative dims not currently supported; file an issue if you want it.",
                argument="physical_layout",
            )
        if dim in physical_layout[:place]:
            raise OperatorError("Duplicate dim not allowed", argument="physical_layout")
    shape = check_size(size)
    strides = dense_strides(shape, reversed(physical_layout))
    return TensorMeta(shape, strides, get_default_dtype() if dtype is None else dtype)


def _count_below(row: int, col: int, offset: int) -> int:
    """Return how many elements of a matrix lie on or below a diagonal."""
    first = max(0, -offset)
    full = min(max(col - offset - 1, first), row)
    growing = full - first
    start = first + offset + 1
    return growing * start + growing * (growing - 1) // 2 + (row - max(full, first)) * col if first < row else 0


def _triangle_indices(below: bool) -> Callable[..., TensorMeta]:
    def rule(row: int, col: int, offset: int = 0, *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
        for name, value in (("row", row), ("col", col)):
            if value < 0:
                raise OperatorError(f"{name} must be non-negative, got{value}", argument=name)
        refuse_kinds("tril_indices" if below else "triu_indices", "bfc", int64 if dtype is None else dtype)
        count = _count_below(row, col, offset) if below else row * col - _count_below(row, col, offset - 1)
        return contiguous((2, count), int64 if dtype is None else dtype)

    return rule


def _window(name: str) -> Callable[..., TensorMeta]:
    def rule(window_length: int, *args: Any, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
        found = get_default_dtype() if dtype is None else dtype
        if not found.is_differentiable:
            raise OperatorError(f"{name} expects floating point dtypes, got: {found.name}", argument="dtype")
        if window_length < 0:
            raise OperatorError(
                f"{name} requires non-negative window_length, got window_length={window_length}",
                argument="window_length",
            )
        return contiguous((window_length,), found)

    return rule
