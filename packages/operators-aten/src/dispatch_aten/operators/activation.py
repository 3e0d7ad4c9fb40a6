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
hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor
hardtanh_(Tensor(a!) self, Scalar min_val=-1, Scalar max_val=1) -> Tensor(a!)
celu(Tensor self, Scalar alpha=1.) -> Tensor
celu_(Tensor(a!) self, Scalar alpha=1.) -> Tensor(a!)
mish(Tensor self) -> Tensor
hardsigmoid(Tensor self) -> Tensor
hardsigmoid_(Tensor(a!) self) -> Tensor(a!)
hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor
softshrink(Tensor self, Scalar lambd=0.5) -> Tensor
relu6(Tensor self) -> Tensor
selu(Tensor self) -> Tensor
selu_(Tensor(a!) self) -> Tensor(a!)
[]
mish.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
mish_(Tensor(a!) self) -> Tensor(a!)
hardswish(Tensor self) -> Tensor
hardswish.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
hardswish_(Tensor(a!) self) -> Tensor(a!)
hardsigmoid.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor
hardswish_backward(Tensor grad_output, Tensor self) -> Tensor
hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor
softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor
_prelu_kernel(Tensor self, Tensor weight) -> Tensor
hardtanh.out(Tensor self, Scalar min_val=-1, Scalar max_val=1, *, Tensor(a!) out) -> Tensor(a!)
hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor
hardtanh_backward.grad_input(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val, *, Tensor(a!)
    grad_input) -> Tensor(a!)
relu6_(Tensor(a!) self) -> Tensor(a!)
celu.out(Tensor self, Scalar alpha=1., *, Tensor(a!) out) -> Tensor(a!)
mish_backward(Tensor grad_output, Tensor self) -> Tensor
glu(Tensor self, int dim=-1) -> Tensor
glu.out(Tensor self, int dim=-1, *, Tensor(a!) out) -> Tensor(a!)
glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor
glu_backward.grad_input(Tensor grad_output, Tensor self, int dim, *, Tensor(a!) grad_input) -> Tensor(a!)
hardswish_backward.out(Tensor grad_output, Tensor self, *, Tensor(a!) out) -> Tensor(a!)
hardsigmoid_backward.grad_input(Tensor grad_output, Tensor self, *, Tensor(a!) grad_input) -> Tensor(a!)
hardshrink.out(Tensor self, Scalar lambd=0.5, *, Tensor(a!) out) -> Tensor(a!)
hardshrink_backward.grad_input(Tensor grad_out, Tensor self, Scalar lambd, *, Tensor(a!) grad_input) -> Tensor(a!)
softshrink.out(Tensor self, Scalar lambd=0.5, *, Tensor(a!) out) -> Tensor(a!)
softshrink_backward.grad_input(Tensor grad_output, Tensor self, Scalar lambd, *, Tensor(a!) grad_input) ->
    Tensor(a!)
prelu(Tensor self, Tensor weight) -> Tensor
_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)
rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training,
    bool self_is_result) -> Tensor
log_sigmoid(Tensor self) -> Tensor
log_sigmoid.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)
log_sigmoid_forward.output(Tensor self, *, Tensor(a!) output, Tensor(b!) buffer) -> (Tensor(a!), Tensor(b!))
log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor
log_sigmoid_backward.grad_input(Tensor grad_output, Tensor self, Tensor buffer, *, Tensor(a!) grad_input) ->
    Tensor(a!)
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
[pointwise, nondeterministic_seeded]
rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator?
    generator=None) -> Tensor
[nondeterministic_seeded]
rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator?
    generator=None) -> Tensor(a!)
rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool
    training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)
"""
