"""Activations in terms of simpler element-wise operators, for backends without kernels of their own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import (
    Array,
    aten,
    cast,
    common_dtype,
    compute_in_float,
    meta_of,
    ndim,
    numel,
    widen,
)
from dispatch_aten.dtypes import float64
from dispatch_aten.errors import DtypeError, OperatorError
from dispatch_aten.promotion import Number
from dispatch_aten.shapes import RULES

if TYPE_CHECKING:
    pass


_GELU_SCALE: Final = math.sqrt(2.0 / math.pi)
_GELU_CUBIC: Final = 0.044715


def _gelu_gate(self: Array, approximate: str) -> Array:
    if approximate == "tanh":
        cubed = aten.mul.Tensor(aten.mul.Tensor(self, self), self)
        inner = aten.mul.Scalar(aten.add.Tensor(self, cubed, alpha=_GELU_CUBIC), _GELU_SCALE)
        return aten.mul.Scalar(aten.add.Scalar(aten.tanh.default(inner), 1), 0.5)
    return aten.mul.Scalar(aten.add.Scalar(aten.erf.default(aten.mul.Scalar(self, math.sqrt(0.5))), 1), 0.5)


def _gelu_backward(grad_output: Array, self: Array, *, approximate: str = "none") -> Array:
    squared = aten.mul.Tensor(self, self)
    if approximate == "tanh":
        inner = aten.mul.Scalar(
            aten.mul.Tensor(self, aten.add.Scalar(aten.mul.Scalar(squared, _GELU_CUBIC), 1)), _GELU_SCALE
        )
        bent = aten.tanh.default(inner)
        rise = aten.mul.Scalar(aten.add.Scalar(aten.mul.Scalar(squared, 3 * _GELU_CUBIC), 1), 0.5 * _GELU_SCALE)
        density = aten.mul.Tensor(aten.rsub.Scalar(aten.mul.Tensor(bent, bent), 1), rise)
        gate = aten.mul.Scalar(aten.add.Scalar(bent, 1), 0.5)
    else:
        density = aten.mul.Scalar(aten.exp.default(aten.mul.Scalar(squared, -0.5)), 1.0 / math.sqrt(2.0 * math.pi))
        gate = _gelu_gate(self, approximate)
    return aten.mul.Tensor(grad_output, aten.add.Tensor(gate, aten.mul.Tensor(self, density)))


def _leaky_relu_backward(grad_output: Array, self: Array, negative_slope: Number, self_is_result: bool) -> Array:
    grad_output = cast(grad_output, common_dtype(grad_output, self))
    return aten.where.self(aten.gt.Scalar(self, 0), grad_output, aten.mul.Scalar(grad_output, negative_slope))


def _elu_backward(
    grad_output: Array, alpha: Number, scale: Number, input_scale: Number, is_result: bool, self_or_result: Array
) -> Array:
    if is_result:
        slope = aten.mul.Scalar(aten.add.Scalar(self_or_result, alpha * scale), input_scale)
    else:
        grown = aten.exp.default(aten.mul.Scalar(self_or_result, input_scale))
        slope = aten.mul.Scalar(grown, alpha * scale * input_scale)
    curved = aten.mul.Tensor(grad_output, slope)
    return aten.where.self(aten.le.Scalar(self_or_result, 0), curved, aten.mul.Scalar(grad_output, scale))


def _threshold(self: Array, threshold: Number, value: Number) -> Array:
    return aten.where.self(aten.le.Scalar(self, threshold), aten.new_full.default(self, (), value), self)


def _threshold_backward(grad_output: Array, self: Array, threshold: Number) -> Array:
    grad_output = cast(grad_output, common_dtype(grad_output, self))
    zero = aten.new_zeros.default(grad_output, ())
    return aten.where.self(aten.le.Scalar(self, threshold), zero, grad_output)


_SELU: Final = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


def _hardtanh(self: Array, min_val: Number = -1, max_val: Number = 1) -> Array:
    if not dc.dtype(self).is_floating_point:
        min_val, max_val = int(min_val), int(max_val)  # type: ignore[arg-type]
    return aten.clamp.default(self, min_val, max_val)


def _is_small(self: Array, lambd: Number) -> Array:
    return aten.logical_and.default(aten.ge.Scalar(self, -lambd), aten.le.Scalar(self, lambd))


def _halves(self: Array, dim: int) -> tuple[Array, Array]:
    size = dc.shape(self)[dim] // 2
    return aten.narrow.default(self, dim, 0, size), aten.narrow.default(self, dim, size, size)


@compute_in_float
def _glu(self: Array, dim: int = -1) -> Array:
    RULES["glu"](meta_of(self), dim)
    first, second = _halves(self, dim)
    return aten.mul.Tensor(first, aten.sigmoid.default(second))


def _glu_backward(grad_output: Array, self: Array, dim: int) -> Array:
    RULES["glu_backward"](meta_of(grad_output), meta_of(self), dim)
    first, second = _halves(self, dim)
    gate = aten.sigmoid.default(second)
    to_first = aten.mul.Tensor(grad_output, gate)
    to_second = aten.mul.Tensor(aten.mul.Tensor(to_first, aten.rsub.Scalar(gate, 1)), first)
    return aten.cat.default([to_first, to_second], dim)


def _prelu(self: Array, weight: Array) -> Array:
    count, channels = numel(weight), dc.shape(self)[1] if ndim(self) > 1 else 1
    if dc.dtype(self) != dc.dtype(weight):
        raise DtypeError(
            f"prelu: Type promoting not supported. Got {dc.dtype(self).name} and {dc.dtype(weight).name}",
            operator="aten::prelu",
            argument="weight",
        )
    if count != 1:
        if not ndim(self):
            raise OperatorError("Not allow zero-dim input tensor.", operator="aten::prelu", argument="self")
        if channels != count:
            raise OperatorError(
                "Mismatch of parameter numbers and input channel size. "
                f"Found parameter numbers = {count} and channel size = {channels}.",
                operator="aten::prelu",
                argument="weight",
            )
    if ndim(weight) > 1:
        raise OperatorError(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = " + str(ndim(weight)),
            operator="aten::prelu",
            argument="weight",
        )
    if ndim(self) != ndim(weight):
        rank = ndim(self)
        shape = [1] * rank if rank < 2 else [1, count, *[1] * (rank - 2)]
        weight = aten.reshape.default(weight, shape)
    return aten._prelu_kernel.default(self, weight)


def _rrelu(
    self: Array, lower: Number = 0.125, upper: Number = 1 / 3, training: bool = False, generator: Any = None
) -> Array:
    noise = aten.empty_like.default(self)
    found = aten.rrelu_with_noise_functional.default(self, noise, lower, upper, training, generator)[0]
    return aten.contiguous.default(found)


def _rrelu_with_noise(
    self: Array,
    noise: Array,
    lower: Any = 0.125,
    upper: Any = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> tuple[Array, Array]:
    RULES["rrelu_with_noise_functional"](meta_of(self), meta_of(noise), lower, upper, training)
    if not training:
        return aten.leaky_relu.default(self, (lower + upper) / 2), aten.clone.default(noise)
    # torch draws a number for each negative element alone, in order: the n-th of them takes the n-th number.
    negative = aten.le.Scalar(self, 0)
    draws = aten.rand.generator((numel(self),), generator=generator, dtype=float64, device=dc.device(self))
    draws = aten.add.Scalar(aten.mul.Scalar(dc.wrap_like(self, draws), upper - lower), lower)
    if numel(self):
        place = aten.clamp_min.default(
            aten.sub.Scalar(aten.cumsum.default(aten.reshape.default(negative, (-1,)), 0), 1), 0
        )
        draws = aten.index_select.default(draws, 0, place)
    slopes = cast(aten.reshape.default(draws, dc.shape(self)), dc.dtype(self))
    noise = aten.where.ScalarOther(negative, slopes, 1)
    return aten.mul.Tensor(self, noise), noise


def _rrelu_with_noise_backward(
    grad_output: Array, self: Array, noise: Array, lower: Any, upper: Any, training: bool, self_is_result: bool
) -> Array:
    if training and upper - lower > 1e-6:
        return aten.mul.Tensor(noise, grad_output)
    return aten.leaky_relu_backward.default(grad_output, self, (lower + upper) / 2, self_is_result)


def _log_sigmoid_forward(self: Array) -> tuple[Array, Array]:
    dtype = dc.dtype(self)
    wide = widen(self)
    fading = aten.exp.default(aten.neg.default(aten.abs.default(wide)))
    found = aten.sub.Tensor(aten.clamp_max.default(wide, 0), aten.log1p.default(fading))
    return cast(found, dtype), cast(fading, dtype)
