"""The table of what aten's operators do to dimensions: rows, and rules for those whose arguments decide it.

Note [Names]
    A rule is found by an operator's name with its overload, ``max.dim``, else by the name alone. In-place operators and
    those with ``out=`` have the rule of the functional one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from . import dims_rules as rules
from . import network_rules
from .dims import Rule, read_row

__all__ = ["USED", "find_rule"]

_ROWS: Final = """
mm: ik,kj->ij; linear 0|1
bmm: bik,bkj->bij; linear 0|1
mv: ik,k->i; linear 0|1
dot: k,k->; linear 0|1
addmm: ~ij,ik,kj->ij; linear 01|02; addend 0
baddbmm: ~bij,bik,bkj->bij; linear 01|02; addend 0
embedding: vd,*->*d; linear 0; whole v
native_layer_norm: *#,#,#->*#,*@,*@
native_layer_norm_backward: *#,*#,*@,*@,#,#->*#,#,#; linear 0
_fused_rms_norm: *#,#->*#,*@
_fused_rms_norm_backward: *#,*#,*@,#->*#,#; linear 0
max_pool2d_with_indices: nchw->nchw,nchw; whole hw; even c
max_pool2d_with_indices_backward: nchw,nchw,nchw->nchw; whole hw; linear 0; even c
avg_pool2d: nchw->nchw; whole hw; linear 0; even c
avg_pool2d_backward: nchw,nchw->nchw; whole hw; linear 0; even c
_adaptive_avg_pool2d: nchw->nchw; whole hw; linear 0; even c
_adaptive_avg_pool2d_backward: nchw,nchw->nchw; whole hw; linear 0; even c
max_pool3d_with_indices: ncdhw->ncdhw,ncdhw; whole dhw; even c
max_pool3d_with_indices_backward: ncdhw,ncdhw,ncdhw->ncdhw; whole dhw; linear 0; even c
avg_pool3d: ncdhw->ncdhw; whole dhw; linear 0; even c
avg_pool3d_backward: ncdhw,ncdhw->ncdhw; whole dhw; linear 0; even c
_adaptive_avg_pool3d: ncdhw->ncdhw; whole dhw; linear 0; even c
_adaptive_avg_pool3d_backward: ncdhw,ncdhw->ncdhw; whole dhw; linear 0; even c
reflection_pad1d: ncl->ncl; whole l; linear 0; even c
reflection_pad1d_backward: ncl,ncl->ncl; whole l; linear 0; even c
reflection_pad2d: nchw->nchw; whole hw; linear 0; even c
reflection_pad2d_backward: nchw,nchw->nchw; whole hw; linear 0; even c
replication_pad1d: ncl->ncl; whole l; linear 0; even c
replication_pad1d_backward: ncl,ncl->ncl; whole l; linear 0; even c
replication_pad2d: nchw->nchw; whole hw; linear 0; even c
replication_pad2d_backward: nchw,nchw->nchw; whole hw; linear 0; even c
native_dropout_backward: *,*->*; linear 0
tril: *ij->*ij; whole ij; linear 0
triu: *ij->*ij; whole ij; linear 0
view_as_complex: *p->*; whole p; linear 0
view_as_real: *->*p; linear 0
"""

#: Operators of a batch of images, each channel for itself.
_RESIZED: Final = (
    "upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d"
    " _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d"
).split()

#: Operators of the tag ``pointwise`` that sums go through, each with the sets of arguments; see Note [Labels] in `dims`.
_LINEAR: Final = {
    "add.Tensor": "01",
    "sub.Tensor": "01",
    "rsub.Tensor": "01",
    "mul": "0|1",
    "div.Tensor": "0",
    "div.Scalar": "0",
    "neg": "0",
    "clone": "0",
    "where.self": "12",
    "lerp.Scalar": "01",
    **dict.fromkeys(
        "gelu_backward threshold_backward tanh_backward sigmoid_backward silu_backward elu_backward leaky_relu_backward"
        " hardtanh_backward hardswish_backward hardsigmoid_backward softplus_backward mish_backward logit_backward"
        " log_sigmoid_backward mse_loss_backward smooth_l1_loss_backward".split(),
        "0",
    ),
}
#: Pointwise operators without the tag, or of which a call with a reduction is one without (``reduction=0``).
_POINTWISE: Final = frozenset(
    "rsub fill zero copy floor_divide hardswish masked_fill log_sigmoid_forward _prelu_kernel complex copysign"
    " hardshrink_backward softshrink_backward elu_backward leaky_relu_backward hardtanh_backward hardswish_backward"
    " hardsigmoid_backward softplus_backward log_sigmoid_backward mse_loss_backward smooth_l1_loss_backward".split()
)
_REDUCTIONS: Final = {
    "sum": "sum",
    "nansum": "sum",
    "count_nonzero": "sum",
    "mean": "avg",
    "prod": "product",
    "amax": "max",
    "amin": "min",
    "max.default": "max",
    "min.default": "min",
    "all": "min",
    "any": "max",
    **dict.fromkeys(
        "max.dim min.dim argmax argmin aminmax var.correction std.correction var_mean.correction std_mean.correction"
        " logsumexp median nanmedian mode kthvalue linalg_vector_norm norm".split()
    ),
}
_LOSSES: Final = frozenset(
    "mse_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits soft_margin_loss".split()
)
#: Operators that need a dimension as a whole, and leave the others to themselves; the argument that names it.
_ALONG: Final = {
    **dict.fromkeys(
        "_softmax _log_softmax _safe_softmax _softmax_backward_data _log_softmax_backward_data sort topk cumsum cumprod"
        " logcumsumexp cummax cummin glu glu_backward slice split split_with_sizes slice_scatter slice_backward"
        " unsafe_split gather scatter scatter_add scatter_reduce cat".split(),
        "dim",
    ),
    "flip": "dims",
    "roll": "dims",
}
_LINEAR_ALONG: Final = frozenset("flip roll slice split split_with_sizes unsafe_split slice_backward".split())
_LINEAR_BACKWARD: Final = frozenset({"cumsum", "_softmax_backward_data", "_log_softmax_backward_data", "glu_backward"})

_RULES: Final[dict[str, Rule]] = {
    **{name: read_row(text) for name, text in (line.split(": ", 1) for line in _ROWS.split("\n") if line)},
    **{
        name: partial(rules.reduction, combine=way, linear=name in ("sum", "mean")) for name, way in _REDUCTIONS.items()
    },
    **dict.fromkeys(_LOSSES, rules.loss),
    **{name: read_row("nc.->nc.; linear 0; even c") for name in _RESIZED},
    **{f"{name}_backward": read_row("nc.->nc.; linear 0; even c; sizes input_size") for name in _RESIZED},
    "convolution": network_rules.convolution,
    "convolution_backward": network_rules.convolution_backward,
    **dict.fromkeys(
        "_native_batch_norm_legit _native_batch_norm_legit_functional _native_batch_norm_legit_no_training".split(),
        network_rules.batch_norm,
    ),
    "native_batch_norm_backward": network_rules.batch_norm_backward,
    "native_group_norm": network_rules.group_norm,
    "native_group_norm_backward": network_rules.group_norm_backward,
    **{
        name: partial(rules.along, name=each, linear=name in _LINEAR_ALONG, backward=name in _LINEAR_BACKWARD)
        for name, each in _ALONG.items()
    },
    **dict.fromkeys(("t", "transpose", "permute"), rules.permute),
    **dict.fromkeys(("alias", "detach"), rules.same),
    **dict.fromkeys(("zeros_like", "ones_like", "full_like", "empty_like"), rules.like),
    **dict.fromkeys(("new_zeros", "new_ones", "new_full", "new_empty"), rules.new),
    **dict.fromkeys(("view", "_unsafe_view"), rules.reshape),
    **dict.fromkeys(("select", "unbind"), rules.select),
    "view.dtype": rules.reinterpret,
    "_to_copy": rules.convert,
    "embedding_dense_backward": rules.embedding_backward,
    "all.dims": partial(rules.truths, combine="min"),
    "any.dims": partial(rules.truths, combine="max"),
    "cat": rules.cat,
    "stack": rules.stack,
    "expand": rules.expand,
    "squeeze": rules.squeeze,
    "unsqueeze": rules.unsqueeze,
    "select_backward": rules.select_backward,
    "nll_loss_forward": rules.nll_loss,
    "nll_loss_backward": rules.nll_loss_backward,
    "index_select": rules.index_select,
    "index.Tensor": rules.index,
    "index_put": partial(rules.index, puts=True),
    "constant_pad_nd": rules.pad,
}
#: The arguments besides tensors that rules read.
USED: Final = frozenset(
    "dim dims dim0 dim1 size input_size input_sizes keepdim reduction dtype scale_grad_by_freq normalized_shape indices pad"
    " training train transposed groups bias_sizes output_mask N".split()
)


def find_rule(name: str, tags: Iterable[str] = (), results: int = 1) -> Rule | None:
    """Return the rule for an operator by its name, with the overload, and its tags; None where there is none.

    See Note [Names].

    >>> from dispatch_aten.placements.dims import Call
    >>> find_rule("mm.default")(Call(((2, 3), (3, 4)), (0, 1), {})).outputs, find_rule("linalg_qr.default")
    ((('i', 'j'),), None)
    """
    base, _, overload = name.partition(".")
    name = f"{base}.{overload or 'default'}"
    if (found := _RULES.get(name) or _RULES.get(base)) is not None:
        return found
    if "pointwise" in tags or base in _POINTWISE:
        return partial(rules.pointwise, linear=_LINEAR.get(name) or _LINEAR.get(base) or "", outputs=results)
    return None
