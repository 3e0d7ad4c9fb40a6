"""Batch normalization folded into the layer before it (source: ``torch.nn.utils.fusion``)."""

from __future__ import annotations

import copy
from typing import Any

from ...functions.operator_functions import FUNCTIONS
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _check(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a convolution that computes ``bn(conv(x))``; both are evaluated, not trained."""
    _check(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        conv.weight, conv.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return the weight and the bias of a convolution with a batch normalization in them."""
    check_tensor(conv_w, "fuse_conv_bn_weights", "conv_w")
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    return _fuse(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return a linear layer that computes ``bn(linear(x))``; both are evaluated, not trained."""
    _check(linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        linear.weight, linear.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Return the weight and the bias of a linear layer with a batch normalization in them."""
    return _fuse(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _fuse(
    weight: Tensor,
    bias: Any,
    mean: Any,
    variance: Any,
    eps: float,
    bn_w: Any,
    bn_b: Any,
    shape: list[int],
) -> tuple[Parameter, Parameter]:
    factor = FUNCTIONS["rsqrt"](variance + eps)
    factor = factor if bn_w is None else bn_w * factor
    moved = (-mean if bias is None else bias - mean) * factor
    moved = moved if bn_b is None else moved + bn_b
    trained = bias is not None and bias.requires_grad
    return (
        Parameter((weight * factor.reshape(shape)).to(weight.dtype), weight.requires_grad),
        Parameter(moved.to(weight.dtype if bias is None else bias.dtype), trained),
    )
