"""The kernels of nested tensors: a rule for each operator, registered under AutogradNestedTensor.

They stand under the Autograd key of nested tensors, above every device and its Autograd key, and call operators on the
values, whose own keys do the rest. An operator without a rule is refused before anything is computed.
"""

from __future__ import annotations

from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.operators import ATEN_BY_NAME
from dispatch_aten.variants import functional_of

from . import normalization, outputs, pointwise, products, reductions, selection, views
from .operators import Operator, Rule, refuse_operator

#: Rule → the operators that it serves, all overloads of a name where no overload is named.
_RULES: Final[dict[Rule, str]] = {
    pointwise.apply_to_values: (
        "clone detach alias to.dtype to.dtype_layout to.device _to_copy type_as dropout native_dropout alpha_dropout"
        " bernoulli empty_like zeros_like ones_like full_like rand_like randn_like randint_like fill.Scalar hardswish"
        " log_sigmoid one_hot conj real resolve_conj"
    ),
    pointwise.broadcast: "broadcast_tensors",
    pointwise.have_same_sizes: "is_same_size",
    pointwise.apply_pointwise: "max.other min.other",
    pointwise.apply_loss: (
        "l1_loss mse_loss smooth_l1_loss huber_loss soft_margin_loss poisson_nll_loss kl_div binary_cross_entropy"
        " binary_cross_entropy_with_logits"
    ),
    pointwise.write_pointwise: "copy_ zero_ fill_ dropout_ normal_ uniform_ bernoulli_",
    reductions.reduce: ("sum nansum mean prod any all max max.dim min min.dim amax amin argmax argmin count_nonzero"),
    reductions.take_dims: (
        "cumsum cumprod logcumsumexp cummax cummin sort argsort topk kthvalue mode median.dim nanmedian.dim flip logsumexp"
        " var.dim var.correction std.dim std.correction var_mean.dim var_mean.correction std_mean.dim std_mean.correction"
        " norm.ScalarOpt_dim norm.ScalarOpt_dim_dtype linalg_vector_norm glu renorm diff"
    ),
    selection.select_by_mask: "masked_select",
    selection.put_items: "index_put index_put_",
    views.transpose: "transpose.int swapaxes swapdims",
    views.transpose_matrices: "mT mH adjoint matrix_H",
    views.permute: "permute",
    views.move_dims: "movedim moveaxis",
    views.view: "view reshape _unsafe_view",
    views.view_like: "view_as reshape_as",
    views.flatten: "flatten.using_ints",
    views.unflatten: "unflatten.int",
    views.unsqueeze: "unsqueeze",
    views.squeeze: "squeeze.dim",
    views.expand: "expand broadcast_to",
    views.expand_as: "expand_as",
    views.select: "select.int",
    views.take_part: (
        "slice.Tensor narrow chunk unsafe_chunk split.Tensor split.sizes split_with_sizes unsafe_split.Tensor"
        " unsafe_split_with_sizes tensor_split.sections tensor_split.indices"
    ),
    views.unbind: "unbind.int",
    views.concatenate: "cat concat concatenate stack",
    views.make_contiguous: "contiguous",
    products.apply_linear: "linear",
    products.embed: "embedding",
    products.multiply_matrices: "matmul bmm",
    products.attend: "scaled_dot_product_attention",
    normalization.apply_softmax: "softmax.int _softmax log_softmax.int _log_softmax special_softmax special_log_softmax",
    normalization.normalize_layer: "layer_norm native_layer_norm rms_norm",
}
RULES: Final = {name: rule for rule, names in _RULES.items() for name in names.split()}


def find_rule(name: str) -> Rule:
    """Return the rule for an overload; that which refuses where there is none.

    >>> find_rule("add.Tensor").__name__, find_rule("sum.dim_IntList").__name__, find_rule("conv2d").__name__
    ('apply_pointwise', 'reduce', 'refuse_operator')
    """
    tags = ATEN_BY_NAME[name].tags
    if "out" in tags:
        functional = functional_of(name)
        return outputs.write_output if functional and find_rule(functional) is not refuse_operator else refuse_operator
    found = RULES.get(name) or RULES.get(name.partition(".")[0])
    if found is not None:
        return found
    base, functional = name.partition(".")[0], name.replace("_.", ".").removesuffix("_")
    is_element_wise = any(
        "pointwise" in ATEN_BY_NAME[each].tags for each in (name, functional) if each in ATEN_BY_NAME
    ) or bool({base, base.removesuffix("_")} & _ELEMENT_WISE)
    if not is_element_wise or name in _NOT_ELEMENT_WISE:
        return refuse_operator
    return pointwise.write_pointwise if "inplace" in tags else pointwise.apply_pointwise


#: Element-wise operators without torch's tag, most of them other names of one with it.
_ELEMENT_WISE: Final = frozenset(
    "__and__ __or__ __xor__ __lshift__ __rshift__ __iand__ __ior__ __ixor__ __ilshift__ __irshift__"
    " subtract rsub multiply divide true_divide floor_divide negative absolute where masked_fill"
    " arccos arccosh arcsin arcsinh arctan arctan2 arctanh fix greater greater_equal less less_equal not_equal isclose"
    " isreal special_digamma"
    " special_erf special_erfc special_erfinv special_exp2 special_expit special_expm1"
    " special_gammainc special_gammaincc special_gammaln special_i0 special_log1p special_logit special_multigammaln"
    " special_ndtr special_polygamma special_psi special_round special_sinc special_xlogy".split()
)
#: Overloads of such names that read more than one element.
_NOT_ELEMENT_WISE: Final = frozenset(["equal", "where"])


def _make_factory(name: str) -> dc.KernelFactory:
    rule = find_rule(name)

    def make(op: Any, keyset: Any) -> Any:
        operator = Operator(op)
        return lambda *values: rule(operator, values)

    return dc.kernel_factory(make, in_order=True)


# Below the program's registrations, whether made before or after it uses nested tensors.
with dc.registry.transaction(level="backend"):
    _library: Final = dc.Library("aten", "IMPL", "AutogradNestedTensor")
    _library.impl_lazily(_make_factory)
