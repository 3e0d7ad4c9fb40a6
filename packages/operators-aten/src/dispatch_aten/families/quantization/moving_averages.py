"""The range of elements, followed by moving averages, and the scale and zero point of a range (source: ``torch.ao``)."""

from __future__ import annotations

import numpy as np

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, ndim, numel
from dispatch_aten.dtypes import float32, float64, int32
from dispatch_aten.errors import DtypeError, OperatorError

#: The smallest scale, which keeps one over the scale finite in 16 bits.
_SMALLEST = float(np.float32(6.1e-05))


def _observe_and_fake_quantize(
    self: Array,
    observer_on: Array,
    fake_quant_on: Array,
    running_min: Array,
    running_max: Array,
    scale: Array,
    zero_point: Array,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Array:
    if not numel(self):
        return aten.clone.default(self)
    if per_row_fake_quant and ch_axis != 0:
        raise OperatorError(
            "Per-channel FakeQuant in fused_moving_avg_obs_fake_quant is only supported on axis == 0",
            argument="ch_axis",
        )
    if dc.dtype(self) != float32:
        raise DtypeError(f"expected scalar type Float but found {dc.dtype(self).name}", argument="self")
    if per_row_fake_quant and not numel(running_min):
        size = dc.shape(self)[:1]
        for each, start in (running_min, float("inf")), (running_max, float("-inf")):
            aten.fill_.Scalar(aten.resize_.default(each, size), start)
        for each in scale, zero_point:
            aten.resize_.default(each, size)
    if aten.item.default(observer_on):
        _average(aten.detach.default(self), running_min, running_max, averaging_const, per_row_fake_quant)
    if not aten.item.default(fake_quant_on):
        return aten.clone.default(self)
    new_scale, new_zero_point = choose_parameters(running_min, running_max, quant_min, quant_max, symmetric_quant)
    aten.copy_.default(scale, aten.reshape.default(new_scale, dc.shape(scale)))
    aten.copy_.default(zero_point, aten.reshape.default(new_zero_point, dc.shape(zero_point)))
    if per_row_fake_quant:
        return aten.fake_quantize_per_channel_affine.default(self, scale, zero_point, 0, quant_min, quant_max)
    return aten.fake_quantize_per_tensor_affine.tensor_qparams(self, scale, zero_point, quant_min, quant_max)


def _average(self: Array, running_min: Array, running_max: Array, weight: float, per_row: bool) -> None:
    """Move the range towards that of the elements, or take theirs where there is none yet."""
    dims = [] if not per_row else [*range(1, ndim(self))]
    for running, find in (running_min, aten.amin.default), (running_max, aten.amax.default):
        found = self if per_row and not dims else find(self, dims, False)
        moved = aten.add.Tensor(running, aten.mul.Scalar(aten.sub.Tensor(found, running), weight))
        new = aten.where.self(aten.isinf.default(running), found, moved)
        aten.copy_.default(running, aten.reshape.default(new, dc.shape(running)))


def choose_parameters(low: Array, high: Array, quant_min: int, quant_max: int, symmetric: bool) -> tuple[Array, Array]:
    """Return the scale (``float32``) and the zero point (``int32``) of the ranges from ``low`` to ``high``, ``float32``.

    The zero point is rounded so that an integer represents 0 exactly; of a symmetric range it is in the middle.
    """
    steps = quant_max - quant_min
    if symmetric:
        has_both = aten.logical_and.default(aten.lt.Scalar(low, 0), aten.gt.Scalar(high, 0))
        least, most = -(steps // 2 + 1), steps // 2
        greatest = aten.maximum.default(
            aten.abs.default(aten.div.Scalar(low, least)), aten.abs.default(aten.div.Scalar(high, most))
        )
        low = aten.where.self(has_both, aten.mul.Scalar(greatest, least), low)
        high = aten.where.self(has_both, aten.mul.Scalar(greatest, most), high)
    low, high = aten.clamp_max.default(low, 0), aten.clamp_min.default(high, 0)
    exact = aten.div.Scalar(aten.sub.Tensor(cast(high, float64), cast(low, float64)), steps)
    single = cast(exact, float32)
    unusable = aten.logical_or.default(aten.eq.Scalar(single, 0), aten.isinf.default(aten.reciprocal.default(single)))
    exact = aten.where.ScalarOther(aten.logical_not.default(unusable), exact, 0.1)
    low, high, exact = _enlarge(low, high, exact, steps)
    scale, low, high = cast(exact, float32), cast(low, float64), cast(high, float64)
    low_steps, high_steps = aten.div.Tensor(low, exact), aten.div.Tensor(high, exact)
    low_error = aten.rsub.Scalar(aten.abs.default(low_steps), abs(quant_min))
    high_error = aten.rsub.Scalar(aten.abs.default(high_steps), abs(quant_max))
    found = aten.where.self(
        aten.lt.Tensor(low_error, high_error),
        aten.rsub.Scalar(low_steps, quant_min),
        aten.rsub.Scalar(high_steps, quant_max),
    )
    if symmetric:
        has_both = aten.logical_and.default(aten.lt.Scalar(low, 0), aten.gt.Scalar(high, 0))
        found = aten.where.ScalarOther(aten.logical_not.default(has_both), found, (quant_min + quant_max) / 2)
    return scale, aten._to_copy.default(
        aten.clamp.default(aten.round.default(found), quant_min, quant_max), dtype=int32
    )


def _enlarge(low: Array, high: Array, exact: Array, steps: int) -> tuple[Array, Array, Array]:
    """Return ranges and scales that are not below the smallest scale."""
    is_small = aten.lt.Scalar(exact, _SMALLEST)
    single = cast(exact, float32)
    factor = aten.div.Tensor(aten.full_like.default(single, _SMALLEST), single)
    ends = []
    for end, other, sign in (low, high, -1), (high, low, 1):
        larger = aten.where.ScalarOther(
            aten.ne.Scalar(other, 0), aten.mul.Tensor(end, factor), sign * _SMALLEST * steps
        )
        ends.append(aten.where.self(is_small, larger, end))
    return ends[0], ends[1], aten.where.ScalarOther(aten.logical_not.default(is_small), exact, _SMALLEST)
