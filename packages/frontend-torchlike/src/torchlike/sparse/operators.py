"""The operators of sparse tensors alone: the namespace ``sparse``, with their gradients.

They are called with frontend tensors, also in pipelines and traces, which record the calls on the components.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final

import dispatch_core as dc

from ..autograd.rules.derivative import Derivative
from ..autograd.rules.kernels import make_kernel
from ..functions.operator_functions import FUNCTIONS
from ..history.grad_mode import no_grad
from ..tensors.tensor import Tensor
from .matrices import add_up, sum_duplicates
from .tensor import count_through, expect_sparse, gather, is_sparse, record_of, replace_values, wrap_coo

_SCHEMAS: Final = {
    "coalesce": "(Tensor self) -> Tensor",
    "_sparse_coo_tensor_with_dims_and_tensors": "(Tensor indices, Tensor values, int[] size, bool is_coalesced) -> Tensor",
    "embedding": "(Tensor weight, Tensor indices, int padding_idx, bool scale_grad_by_freq) -> Tensor",
    "_sparse_sparse_matmul": "(Tensor self, Tensor other) -> Tensor",
    "_sparse_addmm": "(Tensor self, Tensor mat1, Tensor mat2, Scalar beta, Scalar alpha) -> Tensor",
    "sparse_mask": "(Tensor self, Tensor mask) -> Tensor",
    "_sparse_sum": "(Tensor self, int[] dim) -> Tensor",
    "to_dense": "(Tensor self, bool masked_grad) -> Tensor",
    "to_sparse": "(Tensor self, int sparse_dim) -> Tensor",
    "values": "(Tensor self) -> Tensor",
}
#: The gradients, as `dispatch_aten.derivatives` writes them; the functions stand in `gradients`.
_GRADIENTS: Final = {
    "coalesce": {"self": "grad"},
    "_sparse_coo_tensor_with_dims_and_tensors": {"values": "gather(grad, indices)"},
    "embedding": {"weight": "embedding_gradient(grad, indices, weight_sizes, padding_idx, scale_grad_by_freq)"},
    "_sparse_sparse_matmul": {
        "self": "mask(mm(grad, t(other)), coalesce(self))",
        "other": "mask(mm(t(self), grad), coalesce(other))",
    },
    "_sparse_addmm": {
        "self": "maybe_multiply(grad, beta)",
        "mat1": "maybe_multiply(mask(mm(grad, t(mat2)), coalesce(mat1)), alpha)",
        "mat2": "maybe_multiply(mask_alike(mm(t(mat1), grad), mat2), alpha)",
    },
    "sparse_mask": {"self": "mask_gradient(grad, self, mask)"},
    "_sparse_sum": {"self": "sum_gradient(grad, self, dim)"},
    "to_dense": {"self": "dense_gradient(grad, self, masked_grad)"},
    "to_sparse": {"self": "densify(grad)"},
    "values": {"self": "values_gradient(grad, self)"},
}


def _coo_tensor(indices: Tensor, values: Tensor, size: list[int], is_coalesced: bool) -> Tensor:
    return wrap_coo(indices, values.detach(), size, is_coalesced)


def _coalesce(self: Tensor) -> Tensor:
    record = record_of(self)
    if record.is_coalesced:
        return replace_values(record, record.values)
    indices, values = sum_duplicates(record.indices, record.values, record.size)
    return wrap_coo(indices, values, record.size, is_coalesced=True)


def _to_dense(self: Tensor, masked_grad: bool) -> Tensor:
    if not is_sparse(self):  # a row of a tensor with one sparse dimension
        return self.clone()
    record = record_of(self)
    sizes, rest = record.size[: record.sparse_dim], record.size[record.sparse_dim :]
    return add_up(record.values, count_through(record.indices, sizes), prod(sizes)).reshape((*sizes, *rest))


def _to_sparse(self: Tensor, sparse_dim: int) -> Tensor:
    self = self.detach()
    rest = self.dim() - sparse_dim
    there = self != 0
    if rest:
        there = there.flatten(sparse_dim).any(sparse_dim)
    indices = there.nonzero().t().contiguous()
    return wrap_coo(indices, gather(self, indices), self.shape, is_coalesced=True)


def _values(self: Tensor) -> Tensor:
    return record_of(self).values.detach()


def _mask(self: Tensor, mask: Tensor) -> Tensor:
    record = record_of(mask)
    return replace_values(record, gather(self, record.indices))


def _matmul(self: Tensor, other: Tensor) -> Tensor:
    found: Tensor = FUNCTIONS["mm"](self, other)
    return found


def _addmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any) -> Tensor:
    found: Tensor = FUNCTIONS["addmm"](self, mat1, mat2, beta=beta, alpha=alpha)
    return found


def _sum(self: Tensor, dim: list[int]) -> Tensor:
    # torch keeps an integer's dtype where the sums are sparse.
    is_sparse_sum = any(each not in dim for each in range(record_of(self).sparse_dim))
    found: Tensor = FUNCTIONS["sum"](self, dim, dtype=dc.dtype(self) if is_sparse_sum else None)
    return found


def _embedding(weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    found: Tensor = FUNCTIONS["embedding"](weight, indices, padding_idx, scale_grad_by_freq)
    return found


_KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "coalesce": _coalesce,
    "_sparse_coo_tensor_with_dims_and_tensors": _coo_tensor,
    "embedding": _embedding,
    "_sparse_sparse_matmul": _matmul,
    "_sparse_addmm": _addmm,
    "sparse_mask": _mask,
    "_sparse_sum": _sum,
    "to_dense": _to_dense,
    "to_sparse": _to_sparse,
    "values": _values,
}


#: The functions of these formulas alone, which `gradients` brings: they call operators of this module.
FORMULA_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {}


class _Derivative(Derivative):
    """A derivative whose formulas use the functions for sparse tensors, too."""

    @property
    def namespace(self) -> dict[str, Any]:
        return {f"f_{name}": FORMULA_FUNCTIONS.get(name) or _find_function(name) for name in self.called}


def _find_function(name: str) -> Any:
    from dispatch_aten.gradients import FUNCTIONS as GRADIENTS

    return GRADIENTS[name] if name in GRADIENTS else FUNCTIONS[name]


def _make_autograd_kernel(formulas: dict[str, str]) -> dc.KernelFactory:
    def make(op: Any, keyset: Any) -> Any:
        return make_kernel(op, keyset, lambda: _Derivative(op, formulas))

    return dc.kernel_factory(make)


def below_history(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel whose calls have no history; its results are tensors that lie as they should."""

    def run(*values: Any) -> Any:
        with no_grad():
            return kernel(*values)

    return dc.KernelTraits(answers_for_results=True)(run)


def define(
    schemas: dict[str, str], gradients: dict[str, dict[str, str]], kernels: dict[str, Callable[..., Any]]
) -> dc.Library:
    """Define operators of the namespace, with their gradients and the kernels of strided and of sparse tensors."""
    with dc.registry.transaction(level="backend"):
        library = dc.Library("sparse", "FRAGMENT")
        for name, schema in schemas.items():
            library.define(f"{name}{schema}")
            library.impl(name, below_history(kernels[name]), "CompositeExplicitAutograd")
            library.impl(name, _make_autograd_kernel(gradients[name]), "Autograd")
            for layer in ("Pipeline", "Tracer"):
                library.impl(name, dc.fallthrough_kernel, layer)
    return library


_library: Final = define(_SCHEMAS, _GRADIENTS, _KERNELS)
ops: Final = dc.ops.sparse


def coalesce(self: Tensor) -> Tensor:
    """Return the tensor with its places sorted and each there once, or itself (source: ``torch.Tensor.coalesce``)."""
    record = expect_sparse(self, "coalesce")
    found: Tensor = self if record.is_coalesced else ops.coalesce(self)
    return found
