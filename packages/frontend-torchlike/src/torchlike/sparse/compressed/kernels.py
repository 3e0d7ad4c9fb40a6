"""The kernels of compressed tensors for the operators of ``aten``: a rule for each, under the SparseCsr key of a device.

As those of `sparse.kernels`, they stand below autograd. Most go by the values, which keep their places, or by way of
coordinates. Where torch refuses, some compute: `docs/guides/sparse.md` lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.keys import DispatchKey

from ..kernels import FUNCTIONS_THAT_KEEP_ZEROS, TESTS, make_finder
from ..operators import below_history
from ..refusals import refuse_operator
from . import arithmetic, copies, dimensions, products, rules, sums, systems
from .operators import KERNELS
from .tensor import COMPRESSED

Rule = Callable[..., Any]
_KEEP_ZEROS: Final = f"{FUNCTIONS_THAT_KEEP_ZEROS} neg square angle"
#: Rule → the overloads that it serves.
_RULES: Final[dict[Rule, str]] = {
    copies.copy_components: "clone alias detach",
    copies.convert: "_to_copy",
    copies.make_zeros: "zeros_like",
    copies.make_alike: "empty_like ones_like full_like rand_like randn_like",
    copies.make_new: "new_zeros new_empty",
    copies.fill_new: "new_ones new_full",
    copies.write_zeros: "zero_",
    copies.write_copy: "copy_",
    arithmetic.apply_to_values: f"{_KEEP_ZEROS} {TESTS} isnan isinf positive _conj_physical conj_physical threshold_backward"
    " round.decimals mul.Scalar div.Scalar div.Scalar_mode",
    arithmetic.write_values: " ".join([*(f"{name}_" for name in _KEEP_ZEROS.split() if name != "angle")])
    + " conj_physical_ div_.Scalar div_.Scalar_mode mul_.Scalar fill_.Scalar normal_ uniform_ round_.decimals",
    arithmetic.write_result: " ".join(
        f"{name}.out" for name in f"{_KEEP_ZEROS} {TESTS} conj_physical negative absolute".split()
    )
    + " pow.Tensor_Scalar_out",
    arithmetic.raise_power: "pow.Tensor_Scalar",
    arithmetic.multiply: "mul.Tensor",
    arithmetic.write_product: "mul_.Tensor",
    arithmetic.divide: "div.Tensor div.Tensor_mode",
    arithmetic.add: "add.Tensor sub.Tensor",
    arithmetic.write_sum: "add_.Tensor sub_.Tensor",
    dimensions.transpose: "transpose.int",
    dimensions.transpose_matrix: "t",
    dimensions.permute: "permute",
    dimensions.select: "select.int",
    dimensions.unbind: "unbind.int",
    dimensions.resize: "resize_",
    dimensions.resize_alike: "resize_as_",
    refuse_operator: "isreal",  # the elements that are not there are real, too
    sums.read_number: "_local_scalar_dense",
    rules.by_coo: "any linalg_vector_norm",
    sums.sum_all: "sum",
    sums.sum_dims: "sum.dim_IntList",
    products.multiply_matrices: "mm",
    products.multiply_vector: "mv",
    products.multiply_batches: "bmm",
    products.add_product: "addmm",
    products.add_vector: "addmv",
    products.write_dense: "mm.out mv.out bmm.out addmm.out addmm_ addmv.out addmv_",
    systems.solve_triangular: "triangular_solve",
}
RULES: Final = {name: rule for rule, names in _RULES.items() for name in names.split()}

_libraries: Final[list[dc.Library]] = []


@COMPRESSED.for_each_key
def register(key: DispatchKey) -> None:
    """Register the kernels under the SparseCsr key of a device."""
    # Below the program's registrations, whether made before or after it uses such tensors.
    with dc.registry.transaction(level="backend"):
        library = dc.Library("aten", "IMPL", key.name)
        library.impl_lazily(make_finder(RULES, {}))
        own = dc.Library("sparse", "IMPL", key.name)
        for name, kernel in KERNELS.items():
            own.impl(name, below_history(kernel))
        _libraries.extend((library, own))
