"""The functions of ``torch.sparse``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dispatch_core as dc
from dispatch_core.tracebacks import api_boundary

from ..functions import FUNCTIONS
from ..size import check_dim
from ..tensors import Tensor
from .operators import coalesce, ops
from .tensor import expect_sparse, is_sparse


@api_boundary
def mm(sparse: Tensor, dense: Tensor, reduce: str | None = None) -> Tensor:
    """Return the product of two matrices, whose gradients have the places of sparse ones (source: ``torch.sparse.mm``).

    The product of two sparse matrices is sparse. Raises ``RuntimeError`` for matrices that do not fit,
    ``NotImplementedError`` for ``reduce``.

    >>> import torchlike
    >>> s = torchlike.sparse_coo_tensor([[0], [1]], [2.], (2, 2), requires_grad=True)
    >>> mm(s, torchlike.ones(2, 1)).sum().backward()
    >>> s.grad.layout
    torchlike.sparse_coo
    """
    if reduce is not None:
        raise NotImplementedError("sparse.mm(): reduce is not supported, which needs compressed rows")
    found: Tensor
    if not is_sparse(sparse):
        found = mm(dense.t(), sparse.t()).t() if is_sparse(dense) else FUNCTIONS["mm"](sparse, dense)
    elif is_sparse(dense):
        found = ops._sparse_sparse_matmul(sparse, dense)
    else:
        _check_product(sparse, dense)
        start = dense.new_zeros((dc.shape(sparse)[0], dc.shape(dense)[1]))
        found = ops._sparse_addmm(start, sparse, dense, 0, 1)
    return found


def _check_product(one: Tensor, other: Tensor) -> None:
    if one.dim() != 2 or other.dim() != 2:
        raise RuntimeError(f"addmm: expected matrices, but got tensors of {one.dim()} and {other.dim()} dimensions")
    if one.shape[1] != other.shape[0]:
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {one.shape[1]}, got {other.shape[0]}")


@api_boundary
def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """Return ``beta * mat + alpha * mat1 @ mat2`` for a sparse ``mat1`` (source: ``torch.sparse.addmm``).

    Its gradient has the places of ``mat1``. Raises ``RuntimeError`` for other layouts.

    >>> import torchlike
    >>> addmm(torchlike.ones(2, 2), torchlike.eye(2).to_sparse(), torchlike.ones(2, 2), alpha=2.)
    tensor([[3., 3.],
            [3., 3.]])
    """
    if not is_sparse(mat1) or is_sparse(mat2) or is_sparse(mat):
        raise RuntimeError(
            "addmm_sparse_dense: expected either 'mat1' to have sparse layout and 'mat2' to have strided layout, got 'mat1'"
            f" with layout {mat1.layout} and 'mat2' with layout {mat2.layout}"
        )
    _check_product(mat1, mat2)
    found: Tensor = ops._sparse_addmm(mat, mat1, mat2, beta, alpha)
    return found


@api_boundary
def sum(input: Tensor, dim: int | Sequence[int] | None = None, dtype: Any = None) -> Tensor:
    """Return the sum of all elements, or sums over dimensions, which are sparse (source: ``torch.sparse.sum``).

    A sum over all sparse dimensions is strided. Its gradient has the places of ``input``.

    >>> import torchlike
    >>> s = torchlike.tensor([[0., 1.], [2., 3.]]).to_sparse()
    >>> sum(s), sum(s, 0).to_dense()
    (tensor(6.), tensor([2., 4.]))
    """
    expect_sparse(input, "coalesce")
    found: Tensor
    if dtype is not None:
        input = input.to(dtype)
    if dim is None:
        found = ops.values(coalesce(input)).sum()
    else:
        wanted = [dim] if isinstance(dim, int) else list(dim)
        found = ops._sparse_sum(input, [check_dim(each, input.dim()) % input.dim() for each in wanted])
    return found


def embed(weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    """Return rows of ``weight``, whose gradient is sparse: the rows that were read, in their order."""
    found: Tensor = ops.embedding(weight, indices, padding_idx, scale_grad_by_freq)
    return found
