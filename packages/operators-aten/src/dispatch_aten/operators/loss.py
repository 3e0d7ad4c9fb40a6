"""Schemas of softmax and loss functions with their backward operators, as torch spells them."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = """
softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
softmax.int_out(Tensor self, int dim, ScalarType? dtype=None, *, Tensor(a!) out) -> Tensor(a!)
_softmax(Tensor self, int dim, bool half_to_float) -> Tensor
_softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) -> Tensor(a!)
_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor
_softmax_backward_data.out(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype, *, Tensor(a!)
    grad_input) -> Tensor(a!)
log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
log_softmax.int_out(Tensor self, int dim, ScalarType? dtype=None, *, Tensor(a!) out) -> Tensor(a!)
_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor
_log_softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) -> Tensor(a!)
_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor
_log_softmax_backward_data.out(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype, *, Tensor(a!)
    out) -> Tensor(a!)
nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor
nll_loss.out(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, *,
    Tensor(a!) out) -> Tensor(a!)
nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor
nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output,
    Tensor total_weight)
nll_loss_forward.output(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, *,
    Tensor(a!) output, Tensor(b!) total_weight) -> (Tensor(a!), Tensor(b!))
nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt
    ignore_index, Tensor total_weight) -> Tensor
nll_loss_backward.grad_input(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt
    ignore_index, Tensor total_weight, *, Tensor(a!) grad_input) -> Tensor(a!)
cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float
    label_smoothing=0.) -> Tensor
mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
mse_loss.out(Tensor self, Tensor target, int reduction=1, *, Tensor(a!) out) -> Tensor(a!)
mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor
mse_loss_backward.grad_input(Tensor grad_output, Tensor self, Tensor target, int reduction, *, Tensor(a!)
    grad_input) -> Tensor(a!)
l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int
    reduction=1) -> Tensor
binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor
binary_cross_entropy.out(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, *, Tensor(a!) out) ->
    Tensor(a!)
kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor
smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor
smooth_l1_loss.out(Tensor self, Tensor target, int reduction=1, float beta=1., *, Tensor(a!) out) -> Tensor(a!)
huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor
huber_loss.out(Tensor self, Tensor target, int reduction=1, float delta=1., *, Tensor(a!) out) -> Tensor(a!)
soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
soft_margin_loss.out(Tensor self, Tensor target, int reduction=1, *, Tensor(a!) out) -> Tensor(a!)
hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor
cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor
margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor
triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float
    eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor
poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor
multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) ->
    Tensor
multi_margin_loss.out(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1, *,
    Tensor(a!) out) -> Tensor(a!)
multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
multilabel_margin_loss.out(Tensor self, Tensor target, int reduction=1, *, Tensor(a!) out) -> Tensor(a!)
nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor
nll_loss2d.out(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, *,
    Tensor(a!) out) -> Tensor(a!)
cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor
pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor
pdist(Tensor self, float p=2.) -> Tensor
cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor
_euclidean_dist(Tensor x1, Tensor x2) -> Tensor
_euclidean_dist.out(Tensor x1, Tensor x2, *, Tensor(a!) out) -> Tensor(a!)
bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor
"""
