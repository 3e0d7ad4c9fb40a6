"""The functions of ``torch.sparse``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dispatch_core as dc
from dispatch_core.tracebacks import api_boundary

from ..creation.factories import FACTORIES
from ..functions.operator_functions import FUNCTIONS
from ..history.grad_mode import no_grad
from ..tensors.tensor import Tensor
from ..values.layouts import strided
from ..values.size import check_dim
from .compressed.tensor import is_compressed
from .operators import coalesce, ops
from .tensor import Coo, count_through, expect_sparse, is_sparse, record_of


def _has_elements(tensor: Tensor) -> bool:
    return is_sparse(tensor) or is_compressed(tensor)


@api_boundary
def mm(sparse: Tensor, dense: Tensor, reduce: str | None = None) -> Tensor:
    """Return the product of two matrices, whose gradients have the places of sparse ones (source: ``torch.sparse.mm``).

    The product of two sparse matrices is sparse. ``reduce`` is what is done with the products of a row of a compressed
    matrix instead: "sum", "mean", "amax" or "amin", zero for a row without elements. Raises ``RuntimeError`` for matrices
    that do not fit, ``ValueError`` for another ``reduce``.

    >>> import torchlike
    >>> s = torchlike.sparse_coo_tensor([[0], [1]], [2.], (2, 2), requires_grad=True)
    >>> mm(s, torchlike.ones(2, 1)).sum().backward()
    >>> s.grad.layout
    torchlike.sparse_coo
    """
    found: Tensor
    if reduce is not None:
        found = _reduce_products(sparse, dense, reduce)
    elif not _has_elements(sparse):
        found = mm(dense.t(), sparse.t()).t() if _has_elements(dense) else FUNCTIONS["mm"](sparse, dense)
    elif is_sparse(sparse) and is_sparse(dense):
        found = ops._sparse_sparse_matmul(sparse, dense)
    else:
        _check_product(sparse, dense)
        start = dense.new_zeros((dc.shape(sparse)[0], dc.shape(dense)[1]))
        found = ops._sparse_addmm(start, sparse, dense, 0, 1)
    return found


def _reduce_products(sparse: Tensor, dense: Tensor, reduce: str) -> Tensor:
    wanted = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if wanted not in ("sum", "mean", "amax", "amin"):
        raise ValueError(f"sparse.mm(): reduce must be 'sum', 'mean', 'amax' or 'amin', not {reduce!r}")
    if not _has_elements(sparse) or _has_elements(dense):
        raise RuntimeError(
            f"sparse.mm(): reduce needs a sparse and a strided matrix, but got {sparse.layout} and {dense.layout}"
        )
    _check_product(sparse, dense)
    whole = coalesce(sparse if is_sparse(sparse) else sparse.to_sparse())
    rows, columns = record_of(whole).indices
    products = ops.values(whole).unsqueeze(1) * dense.index_select(0, columns)
    start = products.new_zeros((dc.shape(sparse)[0], dc.shape(dense)[1]))
    places = rows.unsqueeze(1).expand_as(products)
    if wanted in ("sum", "mean"):
        found: Tensor = FUNCTIONS["scatter_reduce"](start, 0, places, products, wanted, include_self=False)
        return found
    # The first of several that are alike has the gradient, and a row without elements none.
    given, count = products.detach(), dc.shape(products)[0]
    best = FUNCTIONS["scatter_reduce"](start, 0, places, given, wanted, include_self=False).index_select(0, rows)
    numbers = FACTORIES["arange"](count, device=given.device).unsqueeze(1).expand_as(given)
    numbers = FUNCTIONS["where"]((given == best) | given.isnan(), numbers, count)
    first = FUNCTIONS["full_like"](start, count, dtype=numbers.dtype).scatter_reduce(0, places, numbers, "amin")
    return FUNCTIONS["cat"]([products, products.new_zeros((1, dc.shape(products)[1]))]).gather(0, first)


def _check_product(one: Tensor, other: Tensor) -> None:
    if one.dim() != 2 or other.dim() != 2:
        raise RuntimeError(f"addmm: expected matrices, but got tensors of {one.dim()} and {other.dim()} dimensions")
    if one.shape[1] != other.shape[0]:
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {one.shape[1]}, got {other.shape[0]}")


@api_boundary
def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * mat + alpha * mat1 @ mat2`` for a sparse ``mat1`` (source: ``torch.sparse.addmm``).

    Its gradient has the places of ``mat1``. Raises ``RuntimeError`` for other layouts.

    >>> import torchlike
    >>> addmm(torchlike.ones(2, 2), torchlike.eye(2).to_sparse(), torchlike.ones(2, 2), alpha=2.)
    tensor([[3., 3.],
            [3., 3.]])
    """
    are_compressed = any(is_compressed(each) for each in (mat, mat1, mat2))
    if not are_compressed and (not is_sparse(mat1) or is_sparse(mat2) or is_sparse(mat)):
        raise RuntimeError(
            "addmm_sparse_dense: expected either 'mat1' to have sparse layout and 'mat2' to have strided layout, got 'mat1'"
            f" with layout {mat1.layout} and 'mat2' with layout {mat2.layout}"
        )
    _check_product(mat1, mat2)
    found: Tensor = ops._sparse_addmm(mat, mat1, mat2, beta, alpha)
    return found


@api_boundary
def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """Return ``beta * input + alpha * mat1 @ mat2`` in the places of a compressed tensor alone (source: ``torch.sparse``).

    Computes no other element of the product. All may have a batch. Raises ``RuntimeError`` for other layouts, sizes that do
    not fit, and dtypes that differ.

    >>> import torchlike
    >>> places = torchlike.eye(2).to_sparse_csr()
    >>> sampled_addmm(places, torchlike.ones(2, 3), torchlike.ones(3, 2)).to_dense()
    tensor([[4., 0.],
            [0., 4.]])
    """
    if not is_compressed(input) or mat1.layout is not strided or mat2.layout is not strided:
        raise RuntimeError(
            "sampled_addmm: expected a compressed tensor and two strided ones, but got layouts"
            f" {input.layout}, {mat1.layout}, {mat2.layout}\nHint: to_sparse_csr() makes a compressed one"
        )
    sizes = [tuple(dc.shape(each)) for each in (input, mat1, mat2)]
    kinds = [dc.dtype(each) for each in (input, mat1, mat2)]
    if not (kinds[0].is_floating_point or kinds[0].is_complex) or len({*kinds}) != 1:
        raise RuntimeError(f"sampled_addmm: expected one floating-point or complex dtype, but got {kinds}")
    batch = sizes[0][:-2]
    if input.dense_dim() or min(map(len, sizes)) < 2 or any(each[:-2] != batch for each in sizes):
        raise RuntimeError(f"sampled_addmm: expected matrices, or batches of as many, but got sizes {sizes}")
    if sizes[1][-1] != sizes[2][-2] or sizes[0][-2:] != (sizes[1][-2], sizes[2][-1]):
        raise RuntimeError(f"sampled_addmm: the sizes {sizes} do not fit: expected (m, n), (m, k) and (k, n)")
    found: Tensor = ops.sampled_addmm(input, mat1, mat2, beta, alpha)
    return found


@api_boundary
def spsolve(input: Tensor, other: Tensor, *, left: bool = True) -> Tensor:
    """Return the solution of a system of a compressed matrix, computed by SciPy (source: ``torch.sparse.spsolve``).

    Raises ``RuntimeError`` for sizes that do not fit, for a singular matrix, and where SciPy is not installed.

    >>> import torchlike
    >>> spsolve(torchlike.tensor([[2., 0.], [1., 4.]]).to_sparse_csr(), torchlike.tensor([2., 9.]))
    tensor([1., 2.])
    """
    from .compressed.systems import solve  # few programs use it

    if not left or not is_compressed(input):
        raise RuntimeError(f"spsolve(): expected left=True and a compressed matrix, but got {left} and {input.layout}")
    with no_grad():
        return solve(input, other)


@api_boundary
def sum(input: Tensor, dim: int | Sequence[int] | None = None, dtype: Any = None) -> Tensor:
    """Return the sum of all elements, or sums over dimensions, which are sparse (source: ``torch.sparse.sum``).

    A sum over all sparse dimensions is strided. Its gradient has the places of ``input``.

    >>> import torchlike
    >>> s = torchlike.tensor([[0., 1.], [2., 3.]]).to_sparse()
    >>> sum(s), sum(s, 0).to_dense()
    (tensor(6.), tensor([2., 4.]))
    """
    found: Tensor
    if dtype is not None:
        input = input.to(dtype)
    if is_compressed(input):
        if dim is None:
            return FUNCTIONS["sum"](ops.values(input))
        input = input.to_sparse()
    expect_sparse(input, "coalesce")
    if dim is None:
        found = ops.values(coalesce(input)).sum()
    else:
        wanted = [dim] if isinstance(dim, int) else list(dim)
        found = ops._sparse_sum(input, [check_dim(each, input.dim()) % input.dim() for each in wanted])
    return found


@api_boundary
def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Return the softmax along a dimension of the elements that are there (source: ``torch.sparse.softmax``).

    Missing elements count as minus infinity, and are missing in the result, too.

    >>> import torchlike
    >>> softmax(torchlike.tensor([[0., 1.], [2., 2.]]).to_sparse(), 1).to_dense()
    tensor([[0.0000, 1.0000],
            [0.5000, 0.5000]])
    """
    return _normalize(input, dim, dtype, is_logarithm=False)


@api_boundary
def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Return the logarithm of the softmax of the elements that are there (source: ``torch.sparse.log_softmax``).

    >>> import torchlike
    >>> log_softmax(torchlike.tensor([[0., 1.], [2., 2.]]).to_sparse(), 1).to_dense()
    tensor([[ 0.0000,  0.0000],
            [-0.6931, -0.6931]])
    """
    return _normalize(input, dim, dtype, is_logarithm=True)


def _normalize(input: Tensor, dim: int, dtype: Any, *, is_logarithm: bool) -> Tensor:
    expect_sparse(input, "softmax")
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise TypeError(f"softmax(): argument 'dim' must be int, not {type(dim).__name__}")
    given = coalesce(input if dtype is None else input.to(dtype))
    if not given.dtype.is_floating_point:
        raise NotImplementedError(f"softmax() is not implemented for {given.dtype!r}\nHint: dtype=torchlike.float32")
    record, rank = record_of(given), input.dim()
    place, values = check_dim(dim, rank) % rank, ops.values(given)
    if place >= record.sparse_dim:
        found = FUNCTIONS["log_softmax" if is_logarithm else "softmax"](values, place - record.sparse_dim + 1)
    else:
        found = _normalize_groups(values, _number_groups(record, place), is_logarithm)
    made: Tensor = ops._sparse_coo_tensor_with_dims_and_tensors(record.indices, found, list(record.size), True)
    return made


def _number_groups(record: Coo, dim: int) -> Tensor:
    """Return for each element the number of the line along a dimension that it stands in, less than that of elements."""
    others = [each for each in range(record.sparse_dim) if each != dim]
    if not others or not record.count:
        return FUNCTIONS["zeros_like"](record.indices[0])
    lines, order = count_through(record.indices[others], [record.size[each] for each in others]).sort()
    begins = FUNCTIONS["cat"]([lines.new_zeros((1,)), (lines[1:] != lines[:-1]).long()])
    found: Tensor = FUNCTIONS["zeros_like"](lines).scatter(0, order, begins.cumsum(0))
    return found


def _normalize_groups(values: Tensor, groups: Tensor, is_logarithm: bool) -> Tensor:
    wide = groups.reshape(-1, *[1] * (values.dim() - 1)).expand_as(values)
    zeros = FUNCTIONS["zeros_like"](values.detach())
    highest = zeros.scatter_reduce(0, wide, values.detach(), "amax", include_self=False)
    away = values - highest.index_select(0, groups)
    total = zeros.index_add(0, groups, away.exp()).index_select(0, groups)
    return away - total.log() if is_logarithm else away.exp() / total


def embed_bags(
    weight: Tensor, indices: Tensor, padding_idx: int | None, scale_grad_by_freq: bool
) -> tuple[Tensor, Tensor, int | None]:
    """Return the rows that bags name, whose gradient is sparse, their numbers among these rows, and that of the padding."""
    count = indices.shape[0]
    numbers = FACTORIES["arange"](count, device=indices.device)
    if padding_idx is None:
        return embed(weight, indices, -1, scale_grad_by_freq), numbers, None
    # The padding's row stands before the others, for it is left out by its number.
    padding = padding_idx % max(weight.shape[0], 1)
    read = FUNCTIONS["cat"]([indices.new_full((1,), padding), indices])
    return embed(weight, read, padding, scale_grad_by_freq), (numbers + 1).masked_fill(indices == padding, 0), 0


def embed(weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    """Return rows of ``weight``, whose gradient is sparse: the rows that were read, in their order."""
    found: Tensor = ops.embedding(weight, indices, padding_idx, scale_grad_by_freq)
    return found
