"""Numbers rounded to those that integers represent, as quantized tensors hold them.

Note [Numbers of torch's kernels]
    By tensor, torch multiplies by one over the scale, in ``float32``, rounds half to even, adds the zero point, and limits
    that number, before it becomes an integer: an infinity lies beyond an end of the range, nan at the lower end. By channel,
    the number becomes an integer of 64 bits first, which has no infinity: it lies at the lower end, too. Zero points that
    are no integers are added before rounding. The result is computed in ``float32`` by tensor, and by channel in the
    elements' dtype, or in ``float64`` where zero points are no integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, meta_of, ndim, overload, widen
from dispatch_aten.dtypes import bool_, float32, float64, int32
from dispatch_aten.errors import OperatorError, ShapeError
from dispatch_aten.shapes import RULES

if TYPE_CHECKING:
    from collections.abc import Callable

#: What an integer of 64 bits does not hold.
_BEYOND = 2.0**63


def _first_of(name: str) -> Callable[..., Array]:
    """Make the composite that returns the first result of another operator."""

    def first(*args: Any) -> Array:
        return overload(name)(*args)[0]

    return first


def _limit(rounded: Array, low: Array, quant_min: int, quant_max: int) -> tuple[Array, Array]:
    """Return numbers in the range, and which were; ``low`` says which are at least the lower end."""
    mask = aten.logical_and.default(low, aten.le.Scalar(rounded, quant_max))
    return aten.clamp_max.default(aten.where.ScalarOther(low, rounded, quant_min), quant_max), mask


def _per_tensor(self: Array, scale: float, zero_point: int, quant_min: int, quant_max: int) -> tuple[Array, Array]:
    """Round by numbers; see Note [Numbers of torch's kernels]."""
    RULES["fake_quantize_per_tensor_affine_cachemask"](meta_of(self), scale, zero_point, quant_min, quant_max)
    single = np.float32(scale)
    with np.errstate(all="ignore"):
        inverse = float(np.float32(1) / single)
    rounded = aten.add.Scalar(aten.round.default(aten.mul.Scalar(widen(self), inverse)), zero_point)
    inside, mask = _limit(rounded, aten.ge.Scalar(rounded, quant_min), quant_min, quant_max)
    out = aten.mul.Scalar(aten.sub.Scalar(cast(inside, float32), zero_point), float(single))
    return cast(out, dc.dtype(self)), mask


def _per_tensor_by_tensors(
    self: Array, scale: Array, zero_point: Array, fake_quant_enabled: Array, quant_min: int, quant_max: int
) -> tuple[Array, Array]:
    RULES["_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"](
        *map(meta_of, (self, scale, zero_point, fake_quant_enabled)), quant_min, quant_max
    )
    scale, zero_point, enabled = [aten.reshape.default(each, []) for each in (scale, zero_point, fake_quant_enabled)]
    scale, zero_point, enabled = (
        cast(scale, float32),
        cast(aten.trunc.default(zero_point), float32),
        cast(enabled, bool_),
    )
    rounded = aten.mul.Tensor(widen(self), aten.reciprocal.default(scale))
    rounded = aten.add.Tensor(aten.round.default(rounded), zero_point)
    inside, mask = _limit(rounded, aten.ge.Scalar(rounded, quant_min), quant_min, quant_max)
    out = cast(aten.mul.Tensor(aten.sub.Tensor(cast(inside, float32), zero_point), scale), dc.dtype(self))
    return aten.where.self(enabled, out, self), aten.logical_or.default(mask, aten.logical_not.default(enabled))


def _fake_quantize_by_tensors(self: Array, scale: Array, zero_point: Array, quant_min: int, quant_max: int) -> Array:
    enabled = aten.ones_like.default(zero_point)
    return aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default(
        self, scale, zero_point, enabled, quant_min, quant_max
    )[0]


def _per_channel(
    self: Array, scale: Array, zero_point: Array, axis: int, quant_min: int, quant_max: int
) -> tuple[Array, Array]:
    RULES["fake_quantize_per_channel_affine_cachemask"](
        *map(meta_of, (self, scale, zero_point)), axis, quant_min, quant_max
    )
    by_integers = not dc.dtype(zero_point).is_floating_point
    if by_integers:
        outside = aten.logical_or.default(aten.lt.Scalar(zero_point, quant_min), aten.gt.Scalar(zero_point, quant_max))
        if aten.item.default(aten.any.default(outside)):
            raise OperatorError("`zero_point` must be between `quant_min` and `quant_max`.", argument="zero_point")
    shape = [-1 if each == axis else 1 for each in range(ndim(self))]
    scale, zero_point = aten.reshape.default(cast(scale, float32), shape), aten.reshape.default(zero_point, shape)
    wide = widen(self)
    rounded = aten.mul.Tensor(wide, aten.reciprocal.default(scale))
    if by_integers:
        zero_point = cast(zero_point, dc.dtype(wide))
        rounded = aten.add.Tensor(aten.round.default(rounded), zero_point)
    else:
        rounded = cast(aten.round.default(aten.add.Tensor(rounded, cast(zero_point, float32))), float64)
    low = aten.logical_and.default(aten.ge.Scalar(rounded, quant_min), aten.lt.Scalar(rounded, _BEYOND))
    inside, mask = _limit(rounded, low, quant_min, quant_max)
    out = aten.mul.Tensor(aten.sub.Tensor(inside, zero_point), scale)
    return cast(out, dc.dtype(self)), mask


def _mask_gradient(grad: Array, mask: Array) -> Array:
    if dc.dtype(mask) != bool_:
        raise OperatorError(f"Expected mask to be a tensor of bools, but got {dc.dtype(mask).name}", argument="mask")
    if dc.shape(mask) != dc.shape(grad):
        raise ShapeError(
            f"`mask` and `dY` are not the same size: {dc.shape(mask)} and {dc.shape(grad)}", argument="mask"
        )
    return aten.mul.Tensor(grad, mask)


def _nearest(zero_point: Array, quant_min: int, quant_max: int) -> Array:
    """Return zero points as the integers that are nearest, within the range."""
    return aten.clamp.default(aten.round.default(zero_point), quant_min, quant_max)


def _first(values: Array) -> Array:
    return aten.reshape.default(aten.select.int(values, 0, 0), [1])


def _learnable_per_tensor(
    self: Array, scale: Array, zero_point: Array, quant_min: int, quant_max: int, grad_factor: float = 1.0
) -> Array:
    RULES["_fake_quantize_learnable_per_tensor_affine"](*map(meta_of, (self, scale, zero_point)), quant_min, quant_max)
    point = _nearest(_first(zero_point), quant_min, quant_max)
    return _fake_quantize_by_tensors(self, _first(scale), point, quant_min, quant_max)


def _learnable_per_channel(
    self: Array, scale: Array, zero_point: Array, axis: int, quant_min: int, quant_max: int, grad_factor: float = 1.0
) -> Array:
    RULES["_fake_quantize_learnable_per_channel_affine"](
        *map(meta_of, (self, scale, zero_point)), axis, quant_min, quant_max
    )
    point = cast(_nearest(zero_point, quant_min, quant_max), int32)
    return aten.fake_quantize_per_channel_affine_cachemask.default(self, scale, point, axis, quant_min, quant_max)[0]


def _find_gradients(
    grad: Array, self: Array, scale: Array, point: Array, quant_min: int, quant_max: int, grad_factor: float
) -> tuple[Array, Array, Array]:
    """Return the gradients of each element by itself, the scale and the zero point; both are spread over the elements."""
    inverse = aten.reciprocal.default(scale)
    rounded = aten.add.Tensor(aten.round.default(aten.mul.Tensor(self, inverse)), point)
    limited = aten.clamp.default(rounded, quant_min, quant_max)
    inside = aten.eq.Tensor(rounded, limited)
    steps = aten.sub.Tensor(limited, point)
    away = aten.mul.Tensor(aten.sub.Tensor(aten.mul.Tensor(steps, scale), self), inverse)
    weighted = aten.mul.Scalar(aten.mul.Tensor(grad, aten.where.self(inside, away, steps)), grad_factor)
    by_point = aten.mul.Scalar(aten.mul.Tensor(aten.neg.default(grad), scale), grad_factor)
    return aten.mul.Tensor(grad, inside), weighted, aten.where.ScalarSelf(inside, 0, by_point)


def _learnable_per_tensor_gradients(
    grad: Array, self: Array, scale: Array, zero_point: Array, quant_min: int, quant_max: int, grad_factor: float = 1.0
) -> tuple[Array, Array, Array]:
    RULES["_fake_quantize_learnable_per_tensor_affine_backward"](
        *map(meta_of, (grad, self, scale, zero_point)), quant_min, quant_max
    )
    # Halves are rounded up here, and to even when the elements are.
    shifted = aten.add.Scalar(_first(zero_point), 0.5)
    point = aten.trunc.default(aten.clamp.default(shifted, quant_min, quant_max))
    found, *others = _find_gradients(grad, self, _first(scale), point, quant_min, quant_max, grad_factor)
    return found, *(aten.reshape.default(aten.sum.default(each), [1]) for each in others)


def _learnable_per_channel_gradients(
    grad: Array,
    self: Array,
    scale: Array,
    zero_point: Array,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> tuple[Array, Array, Array]:
    RULES["_fake_quantize_learnable_per_channel_affine_backward"](
        *map(meta_of, (grad, self, scale, zero_point)), axis, quant_min, quant_max
    )
    shape = [-1 if each == axis else 1 for each in range(ndim(self))]
    point = aten.reshape.default(_nearest(zero_point, quant_min, quant_max), shape)
    spread = aten.reshape.default(scale, shape)
    found, *others = _find_gradients(grad, self, spread, point, quant_min, quant_max, grad_factor)
    dims = [each for each in range(ndim(self)) if each != axis]
    return found, *(aten.sum.dim_IntList(each, dims) if dims else each for each in others)
