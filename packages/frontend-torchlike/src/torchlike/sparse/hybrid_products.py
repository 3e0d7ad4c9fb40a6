"""Products of a sparse matrix of coordinates and a strided one that are sparse: torch's older functions."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc
from dispatch_core.tracebacks import api_boundary

from ..functions.arrangements import unique
from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from .operators import coalesce, ops
from .tensor import expect_sparse, record_of


@api_boundary
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of a sparse matrix and a strided one, with the rows that it has (source: ``torch.hspmm``).

    The result has one sparse dimension and one dense one. Raises ``RuntimeError`` for matrices that do not fit, and for a
    first one that is not of coordinates.

    >>> import torchlike
    >>> hspmm(torchlike.sparse_coo_tensor([[2], [0]], [3.], (4, 2)), torchlike.ones(2, 2))
    tensor(indices=tensor([[2]]),
           values=tensor([[3., 3.]]),
           size=(4, 2), nnz=1, layout=torchlike.sparse_coo)
    """
    expect_sparse(mat1, "hspmm")
    product = FUNCTIONS["mm"](mat1, mat2)
    rows = unique(record_of(coalesce(mat1)).indices[0])
    values = product.index_select(0, rows)
    found: Tensor = ops._sparse_coo_tensor_with_dims_and_tensors(rows.unsqueeze(0), values, list(product.shape), True)
    return found


def hsmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Return the product as `hspmm` does (source: ``torch.hsmm``)."""
    return hspmm(mat1, mat2)


@api_boundary
def smm(input: Tensor, mat: Tensor) -> Tensor:
    """Return the product of a sparse matrix and a strided one, of two sparse dimensions (source: ``torch.smm``).

    It has the rows that ``input`` has. Raises as `hspmm`.

    >>> import torchlike
    >>> smm(torchlike.sparse_coo_tensor([[1], [0]], [3.], (2, 2)), torchlike.ones(2, 2)).indices()
    tensor([[1, 1],
            [0, 1]])
    """
    rows = hspmm(input, mat)
    count, width = record_of(rows).count, dc.shape(mat)[1]
    columns = FUNCTIONS["zeros_like"](record_of(rows).indices[0]).unsqueeze(1)
    columns = (columns + FUNCTIONS["ones_like"](columns).expand(count, width).cumsum(1) - 1).reshape(-1)
    places = FUNCTIONS["stack"]([record_of(rows).indices[0].repeat_interleave(width), columns])
    values = ops.values(rows).reshape(-1)
    found: Tensor = ops._sparse_coo_tensor_with_dims_and_tensors(places, values, list(rows.shape), True)
    return found


@api_boundary
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * input + alpha * mat1 @ mat2``, of which ``mat2`` alone is strided (source: ``torch.sspaddmm``).

    Raises as `hspmm`, and ``RuntimeError`` for an ``input`` that is not of coordinates.

    >>> import torchlike
    >>> x = torchlike.eye(2).to_sparse()
    >>> sspaddmm(x, x, torchlike.ones(2, 2), alpha=2).to_dense()
    tensor([[3., 2.],
            [2., 3.]])
    """
    expect_sparse(input, "sspaddmm")
    return coalesce(input * beta + smm(mat1, mat2) * alpha)


def saddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return the sum as `sspaddmm` does (source: ``torch.saddmm``)."""
    return sspaddmm(input, mat1, mat2, beta=beta, alpha=alpha)
