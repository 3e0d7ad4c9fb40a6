"""The kernels of sparse tensors for the operators of ``aten``: a rule for each, under the Sparse key of a device.

They stand below autograd, whose formulas are those of strided tensors: a formula calls operators on sparse tensors. An
operator without a rule is refused before anything is computed.

A rule takes the operator and all its arguments in the order of the schema, calls operators on the components and
returns tensors. Grad mode is off: the history is that of the call. Where tensors of several layouts may meet, torch's
table, `mixed_layouts`, decides before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions import IMPLICIT
from dispatch_core.keys import DispatchKey

from ..history.grad_mode import no_grad
from . import arithmetic, components, joining, outputs, products, reductions, refusals
from .mixed_layouts import RESULTS
from .refusals import read_layouts, refuse_layouts, refuse_operator
from .tensor import COO

Rule = Callable[..., Any]
#: Functions of one element that keep zeros, and have a form in place.
FUNCTIONS_THAT_KEEP_ZEROS: Final = (
    "abs sign sgn relu sqrt sin sinh tan tanh asin asinh atan atanh ceil floor trunc round frac expm1 log1p erf erfinv"
    " deg2rad rad2deg nan_to_num"
)
TESTS: Final = "isposinf isneginf signbit"
#: Those of them, and of the tests, whose output has the dtype of the result and no other.
_KEEP_DTYPE: Final = f"abs absolute sign sgn nan_to_num ceil floor trunc fix round frac {TESTS}".split()
_OTHER_NAMES: Final = "arcsin arcsinh arctan arctanh"
_WITH_OUTPUT: Final = [
    each
    for each in f"{FUNCTIONS_THAT_KEEP_ZEROS} square {_OTHER_NAMES}".split()
    if each != "relu" and each not in _KEEP_DTYPE
]
#: Rule → the overloads that it serves.
_RULES: Final[dict[Rule, str]] = {
    components.copy_components: "clone alias detach",
    components.convert: "_to_copy",
    components.make_empty: "zeros_like empty_like",
    components.make_new: "new_zeros new_empty",
    components.transpose: "transpose.int",
    components.transpose_matrix: "t",
    components.permute: "permute",
    components.write_transposed: "t_ transpose_",
    components.write_zeros: "zero_",
    components.write_copy: "copy_",
    components.write_size: "resize_as_",
    components.apply_to_values: "neg positive _conj_physical conj_physical",
    components.write_values: "neg_ conj_physical_",
    components.apply_to_sums: f"{FUNCTIONS_THAT_KEEP_ZEROS} {TESTS} isnan isinf threshold_backward",
    components.write_to_sums: " ".join(f"{name}_" for name in FUNCTIONS_THAT_KEEP_ZEROS.split()),
    outputs.write_result: " ".join([*(f"{name}.out" for name in _WITH_OUTPUT), "pow.Tensor_Scalar_out"]),
    outputs.write_same_dtype: " ".join(f"{name}.out" for name in _KEEP_DTYPE),
    outputs.write_converted: "neg.out negative.out conj_physical.out",
    outputs.write_function: (
        "add.out sub.out subtract.out mul.out multiply.out div.out divide.out true_divide.out div.out_mode divide.out_mode"
        " floor_divide.out mm.out matmul.out addmm.out"
    ),
    outputs.write_empty: "zeros.out",
    components.read_number: "_local_scalar_dense",
    components.raise_power: "pow.Tensor_Scalar",
    arithmetic.add: "add.Tensor",
    arithmetic.subtract: "sub.Tensor",
    arithmetic.write_sum: "add_.Tensor",
    arithmetic.write_difference: "sub_.Tensor",
    refusals.refuse_number: "add.Scalar sub.Scalar rsub.Scalar add_.Scalar sub_.Scalar",
    arithmetic.multiply: "mul.Tensor",
    arithmetic.multiply_number: "mul.Scalar",
    arithmetic.divide: "div.Tensor div.Tensor_mode",
    arithmetic.divide_number: "div.Scalar div.Scalar_mode",
    arithmetic.divide_down: "floor_divide floor_divide.Scalar",
    arithmetic.write_product: "mul_.Tensor mul_.Scalar",
    arithmetic.write_quotient: "div_.Tensor div_.Scalar div_.Tensor_mode div_.Scalar_mode",
    arithmetic.write_rounded_down: "floor_divide_.Tensor floor_divide_.Scalar",
    joining.concatenate: "cat",
    joining.stack: "stack",
    joining.unsqueeze: "unsqueeze",
    joining.select: "select.int",
    joining.unbind: "unbind.int",
    joining.select_indices: "index_select",
    joining.copy_part: "narrow_copy",
    products.multiply_matrices: "mm",
    products.multiply_batches: "bmm",
    products.multiply_vector: "mv",
    products.add_product: "addmm",
    reductions.find_any: "any",
    reductions.find_norm: "linalg_vector_norm",
    reductions.sum_all: "sum",
    reductions.sum_dims: "sum.dim_IntList",
}
RULES: Final = {name: rule for rule, names in _RULES.items() for name in names.split()}


class _RuleFactory(dc.KernelFactory):
    #: A result that the schema calls a view is none: a transposed tensor has components of its own.
    answers_for_results = True


def make_finder(rules: dict[str, Rule], layouts: dict[str, Any]) -> Callable[[str], dc.KernelFactory | None]:
    """Return the function that finds an overload's kernel by a table of rules, of layouts that meet and of refusals."""

    def find(name: str) -> dc.KernelFactory | None:
        rule = rules.get(name)
        if rule is None and name in IMPLICIT:
            return None  # the operators that it calls have rules, or are refused
        known = layouts.get(name)

        def make(op: Any, keyset: Any) -> Any:
            run = partial(rule or refuse_operator, op)

            def kernel(*values: Any) -> Any:
                if known is not None and (found := read_layouts(values)) not in known:
                    refuse_layouts(op, found, values)
                with no_grad():
                    return run(*values)

            return kernel

        return _RuleFactory(make, in_order=True)

    return find


_libraries: Final[list[dc.Library]] = []


@COO.for_each_key
def register(key: DispatchKey) -> None:
    """Register the kernels under the Sparse key of a device."""
    # Below the program's registrations, whether made before or after it uses sparse tensors.
    with dc.registry.transaction(level="backend"):
        library = dc.Library("aten", "IMPL", key.name)
        library.impl_lazily(make_finder(RULES, RESULTS))
        _libraries.append(library)
