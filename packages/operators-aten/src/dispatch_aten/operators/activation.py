"""Schemas of activation functions and their backward operators, as torch spells them."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = """
[pointwise]
relu(Tensor self) -> Tensor
relu_(Tensor(a!) self) -> Tensor(a!)
silu(Tensor self) -> Tensor
silu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
silu_(Tensor(a!) self) -> Tensor(a!)
gelu(Tensor self, *, str approximate="none") -> Tensor
leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor
leaky_relu_(Tensor(a!) self, Scalar negative_slope=0.01) -> Tensor(a!)
softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor
elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor
elu_(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor(a!)
threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor
threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor
sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor
sigmoid_backward.grad_input(Tensor grad_output, Tensor output, *, Tensor(a!) grad_input) -> Tensor(a!)
tanh_backward(Tensor grad_output, Tensor output) -> Tensor
tanh_backward.grad_input(Tensor grad_output, Tensor output, *, Tensor(a!) grad_input) -> Tensor(a!)
silu_backward(Tensor grad_output, Tensor self) -> Tensor
silu_backward.grad_input(Tensor grad_output, Tensor self, *, Tensor(a!) grad_input) -> Tensor(a!)
gelu_backward(Tensor grad_output, Tensor self, *, str approximate="none") -> Tensor
[]
gelu.out(Tensor self, *, str approximate="none", Tensor(a!) out) -> Tensor(a!)
gelu_(Tensor(a!) self, *, str approximate="none") -> Tensor(a!)
leaky_relu.out(Tensor self, Scalar negative_slope=0.01, *, Tensor(a!) out) -> Tensor(a!)
softplus.out(Tensor self, Scalar beta=1, Scalar threshold=20, *, Tensor(a!) out) -> Tensor(a!)
elu.out(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1, *, Tensor(a!) out) -> Tensor(a!)
threshold.out(Tensor self, Scalar threshold, Scalar value, *, Tensor(a!) out) -> Tensor(a!)
threshold_(Tensor(a!) self, Scalar threshold, Scalar value) -> Tensor(a!)
threshold_backward.grad_input(Tensor grad_output, Tensor self, Scalar threshold, *, Tensor(a!) grad_input) ->
    Tensor(a!)
gelu_backward.grad_input(Tensor grad_output, Tensor self, *, str approximate="none", Tensor(a!) grad_input) ->
    Tensor(a!)
leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor
leaky_relu_backward.grad_input(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result, *,
    Tensor(a!) grad_input) -> Tensor(a!)
softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor
softplus_backward.grad_input(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold, *, Tensor(a!)
    grad_input) -> Tensor(a!)
elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor
    self_or_result) -> Tensor
elu_backward.grad_input(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor
    self_or_result, *, Tensor(a!) grad_input) -> Tensor(a!)
"""
