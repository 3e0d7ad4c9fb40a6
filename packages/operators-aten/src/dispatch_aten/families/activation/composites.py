"""Activations in terms of simpler element-wise operators, for backends without kernels of their own."""

from __future__ import annotations

import math
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, common_dtype, is_array, meta_of, ndim, numel
from dispatch_aten.dtypes import bfloat16, float16, float32, float64
from dispatch_aten.errors import DtypeError, OperatorError
from dispatch_aten.promotion import Number
from dispatch_aten.shapes import RULES

if TYPE_CHECKING:
    from collections.abc import Callable


def widen(self: Array) -> Array:
    """Return ``self``, but 16-bit numbers as ``float32``, in which torch computes on them."""
    return cast(self, float32) if dc.dtype(self) in (float16, bfloat16) else self


def _compute_in_float(function: Callable[..., Array]) -> Callable[..., Array]:
    """Compute on 16-bit numbers in ``float32``."""

    @wraps(function)
    def kernel(self: Array, *args: Any, **kwargs: Any) -> Array:
        dtype = dc.dtype(self)
        if dtype not in (float16, bfloat16):
            return function(self, *args, **kwargs)
        wide = [widen(each) if is_array(each) else each for each in args]
        return cast(function(widen(self), *wide, **kwargs), dtype)

    return kernel


def _silu_backward(grad_output: Array, self: Array) -> Array:
    gate = aten.sigmoid.default(self)
    slope = aten.mul.Tensor(gate, aten.add.Scalar(aten.mul.Tensor(self, aten.rsub.Scalar(gate, 1)), 1))
    return aten.mul.Tensor(grad_output, slope)


_GELU_SCALE: Final = math.sqrt(2.0 / math.pi)
_GELU_CUBIC: Final = 0.044715


def _gelu(self: Array, *, approximate: str = "none") -> Array:
    return aten.mul.Tensor(self, _gelu_gate(self, approximate))


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


def _leaky_relu(self: Array, negative_slope: Number = 0.01) -> Array:
    return aten.where.self(aten.gt.Scalar(self, 0), self, aten.mul.Scalar(self, negative_slope))


def _leaky_relu_backward(grad_output: Array, self: Array, negative_slope: Number, self_is_result: bool) -> Array:
    grad_output = cast(grad_output, common_dtype(grad_output, self))
    return aten.where.self(aten.gt.Scalar(self, 0), grad_output, aten.mul.Scalar(grad_output, negative_slope))


def _softplus(self: Array, beta: Number = 1, threshold: Number = 20) -> Array:
    steep = aten.mul.Scalar(self, beta)
    soft = aten.div.Scalar(aten.log1p.default(aten.exp.default(steep)), beta)
    return aten.where.self(aten.gt.Scalar(steep, threshold), self, soft)


def _softplus_backward(grad_output: Array, self: Array, beta: Number, threshold: Number) -> Array:
    steep = aten.mul.Scalar(self, beta)
    soft = aten.mul.Tensor(grad_output, aten.sigmoid.default(steep))
    return aten.where.self(aten.gt.Scalar(steep, threshold), grad_output, soft)


def _elu(self: Array, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Array:
    curved = aten.mul.Scalar(aten.expm1.default(aten.mul.Scalar(self, input_scale)), alpha * scale)
    return aten.where.self(aten.gt.Scalar(self, 0), aten.mul.Scalar(self, scale), curved)


def _elu_backward(
    grad_output: Array, alpha: Number, scale: Number, input_scale: Number, is_result: bool, self_or_result: Array
) -> Array:
    if is_result:
        slope = aten.mul.Scalar(aten.add.Scalar(self_or_result, alpha * scale), input_scale)
    else:
        grown = aten.exp.default(aten.mul.Scalar(self_or_result, input_scale))
        slope = aten.mul.Scalar(grown, alpha * scale * input_scale)
    curved = aten.mul.Tensor(grad_output, slope)
    return aten.where.self(aten.gt.Scalar(self_or_result, 0), aten.mul.Scalar(grad_output, scale), curved)


def _threshold(self: Array, threshold: Number, value: Number) -> Array:
    return aten.where.self(aten.le.Scalar(self, threshold), aten.new_full.default(self, (), value), self)


def _threshold_backward(grad_output: Array, self: Array, threshold: Number) -> Array:
    grad_output = cast(grad_output, common_dtype(grad_output, self))
    zero = aten.new_zeros.default(grad_output, ())
    return aten.where.self(aten.le.Scalar(self, threshold), zero, grad_output)


def _sigmoid_backward(grad_output: Array, output: Array) -> Array:
    return aten.mul.Tensor(grad_output, aten.mul.Tensor(output, aten.rsub.Scalar(output, 1)))


def _tanh_backward(grad_output: Array, output: Array) -> Array:
    return aten.mul.Tensor(grad_output, aten.rsub.Scalar(aten.mul.Tensor(output, output), 1))


_SELU: Final = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


def _relu6(self: Array) -> Array:
    return aten.hardtanh.default(self, 0, 6)


def _relu6_inplace(self: Array) -> Array:
    return aten.hardtanh_.default(self, 0, 6)


def _selu(self: Array) -> Array:
    return aten.elu.default(self, *_SELU)


def _selu_inplace(self: Array) -> Array:
    return aten.elu_.default(self, *_SELU)


def _hardtanh(self: Array, min_val: Number = -1, max_val: Number = 1) -> Array:
    if not dc.dtype(self).is_floating_point:
        min_val, max_val = int(min_val), int(max_val)  # type: ignore[arg-type]
    return aten.clamp.default(self, min_val, max_val)


def _hardtanh_backward(grad_output: Array, self: Array, min_val: Number, max_val: Number) -> Array:
    outside = aten.logical_or.default(aten.le.Scalar(self, min_val), aten.ge.Scalar(self, max_val))
    return aten.where.ScalarSelf(outside, 0, grad_output)


def _celu(self: Array, alpha: Number = 1.0) -> Array:
    return aten.elu.default(self, alpha, 1.0, 1.0 / alpha)


@_compute_in_float
def _mish(self: Array) -> Array:
    return aten.mul.Tensor(self, aten.tanh.default(aten.softplus.default(self)))


def _mish_backward(grad_output: Array, self: Array) -> Array:
    bent = aten.tanh.default(aten.softplus.default(self))
    slope = aten.mul.Tensor(aten.sigmoid.default(self), aten.rsub.Scalar(aten.mul.Tensor(bent, bent), 1))
    return aten.mul.Tensor(grad_output, aten.add.Tensor(bent, aten.mul.Tensor(self, slope)))


@_compute_in_float
def _hardswish(self: Array) -> Array:
    gate = aten.clamp.default(aten.add.Scalar(self, 3), 0, 6)
    return aten.div.Scalar(aten.mul.Tensor(self, gate), 6)


@_compute_in_float
def _hardswish_backward(grad_output: Array, self: Array) -> Array:
    slope = aten.add.Scalar(aten.div.Scalar(self, 3), 0.5)
    inner = aten.where.self(aten.lt.Scalar(self, 3), aten.mul.Tensor(grad_output, slope), grad_output)
    return aten.where.ScalarSelf(aten.le.Scalar(self, -3), 0, inner)


@_compute_in_float
def _hardsigmoid(self: Array) -> Array:
    return aten.div.Scalar(aten.clamp.default(aten.add.Scalar(self, 3), 0, 6), 6)


@_compute_in_float
def _hardsigmoid_backward(grad_output: Array, self: Array) -> Array:
    inside = aten.logical_and.default(aten.gt.Scalar(self, -3), aten.lt.Scalar(self, 3))
    return aten.where.ScalarOther(inside, aten.div.Scalar(grad_output, 6), 0)


def _is_small(self: Array, lambd: Number) -> Array:
    return aten.logical_and.default(aten.ge.Scalar(self, -lambd), aten.le.Scalar(self, lambd))


def _hardshrink(self: Array, lambd: Number = 0.5) -> Array:
    return aten.where.ScalarSelf(_is_small(self, lambd), 0, self)


def _shrink_backward(grad_output: Array, self: Array, lambd: Number) -> Array:
    return aten.where.ScalarSelf(_is_small(self, lambd), 0, grad_output)


def _softshrink(self: Array, lambd: Number = 0.5) -> Array:
    # The elements between are a product with 0, so that a nan stays one.
    below = aten.where.self(aten.lt.Scalar(self, -lambd), aten.add.Scalar(self, lambd), aten.mul.Scalar(self, 0))
    return aten.where.self(aten.gt.Scalar(self, lambd), aten.sub.Scalar(self, lambd), below)


def _halves(self: Array, dim: int) -> tuple[Array, Array]:
    size = dc.shape(self)[dim] // 2
    return aten.narrow.default(self, dim, 0, size), aten.narrow.default(self, dim, size, size)


@_compute_in_float
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


def _prelu_kernel(self: Array, weight: Array) -> Array:
    return aten.where.self(aten.gt.Scalar(self, 0), self, aten.mul.Tensor(weight, self))


def _prelu_kernel_backward(grad_output: Array, self: Array, weight: Array) -> tuple[Array, Array]:
    positive = aten.gt.Scalar(self, 0)
    return (
        aten.where.self(positive, grad_output, aten.mul.Tensor(weight, grad_output)),
        aten.where.ScalarSelf(positive, 0, aten.mul.Tensor(self, grad_output)),
    )


def _rrelu(
    self: Array, lower: Number = 0.125, upper: Number = 1 / 3, training: bool = False, generator: Any = None
) -> Array:
    noise = aten.empty_like.default(self)
    return aten.rrelu_with_noise_functional.default(self, noise, lower, upper, training, generator)[0]


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
        return aten.leaky_relu.default(self, (lower + upper) / 2), noise
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


def _log_sigmoid(self: Array) -> Array:
    return aten.log_sigmoid_forward.default(self)[0]


def _log_sigmoid_forward(self: Array) -> tuple[Array, Array]:
    RULES["log_sigmoid_forward"](meta_of(self))
    dtype = dc.dtype(self)
    wide = widen(self)
    fading = aten.exp.default(aten.neg.default(aten.abs.default(wide)))
    found = aten.sub.Tensor(aten.clamp_max.default(wide, 0), aten.log1p.default(fading))
    return cast(found, dtype), cast(fading, dtype)


def _log_sigmoid_backward(grad_output: Array, self: Array, buffer: Array) -> Array:
    share = aten.div.Tensor(buffer, aten.add.Scalar(buffer, 1))
    slope = aten.where.self(aten.lt.Scalar(self, 0), aten.rsub.Scalar(share, 1), share)
    return aten.mul.Tensor(grad_output, slope)
