"""Activations in terms of simpler element-wise operators, for backends without kernels of their own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.promotion import Number

from ._shared import Array, aten, check_by_rule

if TYPE_CHECKING:
    from collections.abc import Callable


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
    zero = aten.new_zeros.default(grad_output, ())
    return aten.where.self(aten.le.Scalar(self, threshold), zero, grad_output)


def _sigmoid_backward(grad_output: Array, output: Array) -> Array:
    return aten.mul.Tensor(grad_output, aten.mul.Tensor(output, aten.rsub.Scalar(output, 1)))


def _tanh_backward(grad_output: Array, output: Array) -> Array:
    return aten.mul.Tensor(grad_output, aten.rsub.Scalar(aten.mul.Tensor(output, output), 1))


IMPLICIT: Final[dict[str, Callable[..., Any]]] = {
    "silu_backward": _silu_backward,
}

_CHECKED: Final[dict[str, Callable[..., Array]]] = {
    "relu": lambda self: aten.clamp_min.default(self, 0),
    "silu": lambda self: aten.mul.Tensor(self, aten.sigmoid.default(self)),
    "gelu": _gelu,
    "leaky_relu": _leaky_relu,
    "softplus": _softplus,
    "elu": _elu,
}

EXPLICIT: Final[dict[str, Callable[..., Any]]] = {
    **{name: check_by_rule(name, kernel) for name, kernel in _CHECKED.items()},
    "gelu_backward": _gelu_backward,
    "leaky_relu_backward": _leaky_relu_backward,
    "softplus_backward": _softplus_backward,
    "elu_backward": _elu_backward,
    "threshold": _threshold,
    "threshold_backward": _threshold_backward,
    "sigmoid_backward": _sigmoid_backward,
    "tanh_backward": _tanh_backward,
}
