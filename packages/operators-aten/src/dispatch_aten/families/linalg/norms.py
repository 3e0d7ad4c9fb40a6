"""Norms, ranks, condition numbers, powers and products of chains of matrices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.decompositions._matrices import column, zeros_like_shape
from dispatch_aten.decompositions._shared import Array, aten, cast, meta_of, ndim
from dispatch_aten.dtypes import ScalarType, int64
from dispatch_aten.errors import DtypeError, OperatorError
from dispatch_aten.families.linalg.least_squares import tolerance
from dispatch_aten.promotion import promote_types
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_aten.shapes.matrices import check_inexact, check_matrices, check_square

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _norm(
    self: Array,
    ord: float | None = None,  # torch's name
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: ScalarType | None = None,
) -> Array:
    dims = _norm_dims(self, ord, dim)
    if ord is not None and ((dims is not None and len(dims) == 2) or (dims is None and ndim(self) == 2)):
        return aten.linalg_matrix_norm.default(self, ord, dims or [0, 1], keepdim, dtype=dtype)
    return aten.linalg_vector_norm.default(self, 2 if ord is None else ord, dims, keepdim, dtype=dtype)


def _norm_dims(self: Array, ord: object, dim: int | Sequence[int] | None) -> list[int] | None:
    dims = [dim] if isinstance(dim, int) else None if dim is None else list(dim)
    if dims is not None and len(dims) not in (1, 2):
        raise OperatorError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {dims}", argument="dim"
        )
    if dims is None and ord is not None and ndim(self) not in (1, 2):
        raise OperatorError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {ndim(self)}D.",
            argument="self",
        )
    return dims


def _norm_by_name(
    self: Array,
    ord: str,  # torch's name
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: ScalarType | None = None,
) -> Array:
    dims = _norm_dims(self, ord, dim)
    return aten.linalg_matrix_norm.str_ord(self, ord, [-2, -1] if dims is None else dims, keepdim, dtype=dtype)


def _matrix_dims(self: Array, dim: Sequence[int], dtype: ScalarType | None) -> tuple[int, int]:
    meta = meta_of(self)
    check_matrices(meta, "linalg.matrix_norm")
    check_inexact(meta, "linalg.matrix_norm", halves=True)
    if len(dim) != 2:
        raise OperatorError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {list(dim)}", argument="dim")
    first, second = (wrap_dim(each, meta.ndim) for each in dim)
    if first == second:
        raise OperatorError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})", argument="dim")
    if dtype is not None and (
        not dtype.is_differentiable
        or dtype.is_complex != meta.dtype.is_complex
        or promote_types(meta.dtype, dtype) != dtype
    ):
        raise DtypeError(f"linalg.matrix_norm: dtype {dtype.name} does not fit the input {meta.dtype.name}")
    return first, second


def _matrix_norm(
    self: Array,
    ord: float,  # torch's name
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: ScalarType | None = None,
) -> Array:
    first, second = _matrix_dims(self, dim, dtype)
    size = abs(ord)
    if size not in (1, 2, math.inf):
        raise OperatorError(f"linalg.matrix_norm: Order {ord} not supported.", argument="ord")
    if dtype is not None:
        self = cast(self, dtype)

    def pick(values: Array, dim: int, keepdim: bool = False) -> Array:
        if ord < 0:
            return aten.amin.default(values, [dim], keepdim)
        # The greatest of none is 0.
        if not dc.shape(values)[dim]:
            return aten.sum.dim_IntList(values, [dim], keepdim)
        return aten.amax.default(values, [dim], keepdim)

    if size == 2:
        return _of_singular_values(self, first, second, keepdim, lambda values: pick(values, -1))
    if size == math.inf:
        first, second = second, first
    sums = aten.linalg_vector_norm.default(self, 1, [first], keepdim)
    return pick(sums, second - (first < second and not keepdim), keepdim)


def _of_singular_values(self: Array, first: int, second: int, keepdim: bool, reduce: Callable[[Array], Array]) -> Array:
    values = aten.linalg_svdvals.default(aten.movedim.intlist(self, [first, second], [-2, -1]))
    found = reduce(values)
    if keepdim:
        for each in sorted((first, second)):
            found = aten.unsqueeze.default(found, each)
    return found


def _matrix_norm_by_name(
    self: Array,
    ord: str = "fro",  # torch's name
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: ScalarType | None = None,
) -> Array:
    if ord not in ("fro", "nuc"):
        raise OperatorError(f"linalg.matrix_norm: Order {ord} not supported.", argument="ord")
    first, second = _matrix_dims(self, dim, dtype)
    if ord == "fro":
        return aten.linalg_vector_norm.default(self, 2, [first, second], keepdim, dtype=dtype)
    if dtype is not None:
        self = cast(self, dtype)
    return _of_singular_values(self, first, second, keepdim, lambda values: aten.sum.dim_IntList(values, [-1]))


def _nuclear_norm_of(self: Array, dim: Sequence[int], keepdim: bool = False) -> Array:
    if len(dim) != 2:
        raise OperatorError(
            f"nuclear norm requires a 'dim' argument of size 2, but got {len(dim)} dims", argument="dim"
        )
    return aten.linalg_matrix_norm.str_ord(self, "nuc", dim, keepdim)


def _frobenius_norm(self: Array, dim: int | Sequence[int], keepdim: bool = False) -> Array:
    dims = [dim] if isinstance(dim, int) else list(dim)
    if len(dims) > 2:
        raise OperatorError(f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead.", argument="dim")
    return aten.linalg_vector_norm.default(self, 2, dims, keepdim)


def _norm_except_dim(v: Array, pow: int = 2, dim: int = 0) -> Array:  # torch's name
    if dim == -1:
        return aten.norm.Scalar(v, pow)
    where = wrap_dim(dim, ndim(v))
    others = [each for each in range(ndim(v)) if each != where]
    if not others:
        return aten.abs.default(v)
    return aten.norm.ScalarOpt_dim(v, pow, others, True)


def _sizes_of_values(self: Array, *, hermitian: bool) -> Array:
    return aten.abs.default(aten.linalg_eigvalsh.default(self)) if hermitian else aten.linalg_svdvals.default(self)


def _matrix_rank(self: Array, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Array:
    meta = meta_of(self)
    check_matrices(meta, "linalg.matrix_rank", "input")
    check_inexact(meta, "linalg.matrix_rank", "input")
    for name, each in (("atol", atol), ("rtol", rtol)):
        if each is not None and not isinstance(each, float) and dc.dtype(each).is_complex:
            raise DtypeError(
                f"torch.linalg.matrix_rank: {name} tensor of complex type is not supported.", argument=name
            )
    if hermitian:
        check_square(meta, "linalg.matrix_rank")
    if not meta.numel:
        return zeros_like_shape(self, meta.shape[:-2], int64)
    sizes = _sizes_of_values(self, hermitian=hermitian)
    largest = aten.amax.default(sizes, [-1], True)
    return aten.sum.dim_IntList(aten.gt.Tensor(sizes, tolerance(largest, meta.shape, atol, rtol)), [-1])


def _cond(self: Array, p: float | None = None) -> Array:
    meta = meta_of(self)
    check_matrices(meta, "linalg.cond")
    if p is not None and abs(p) not in (1, 2, math.inf):
        raise OperatorError(f"linalg.cond got an invalid norm type: {p}", argument="p")
    if p is not None and abs(p) != 2:
        return _cond_by(self, p)
    if not meta.numel:
        return zeros_like_shape(self, meta.shape[:-2], meta.dtype.to_real())
    values = aten.linalg_svdvals.default(self)
    largest, least = aten.select.int(values, -1, 0), aten.select.int(values, -1, -1)
    return aten.div.Tensor(least, largest) if p == -2 else aten.div.Tensor(largest, least)


def _cond_by(self: Array, p: float | str) -> Array:
    """Return the product of the norms of the matrices and of their inverses; infinity for singular matrices."""
    meta = meta_of(self)
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise OperatorError(f"linalg.cond got an invalid norm type: {p}", argument="p")
    check_square(meta, f"linalg.cond({'inf' if p == math.inf else p})")
    if not meta.numel:
        return zeros_like_shape(self, meta.shape[:-2], meta.dtype.to_real())
    inverse, info = aten.linalg_inv_ex.default(self)
    singular = column(column(aten.gt.Scalar(info, 0)))
    inverse = aten.masked_fill.Scalar(inverse, singular, math.inf)
    if p == "nuc":
        # The singular values of infinity are none; torch's norm of such an inverse is infinite.
        inverse = aten.masked_fill.Scalar(inverse, singular, 0)
        norms = aten.linalg_matrix_norm.str_ord(inverse, p)
        norms = aten.masked_fill.Scalar(norms, aten.gt.Scalar(info, 0), math.inf)
        return aten.mul.Tensor(aten.linalg_matrix_norm.str_ord(self, p), norms)
    norm = aten.linalg_matrix_norm.str_ord if isinstance(p, str) else aten.linalg_matrix_norm.default
    return aten.mul.Tensor(norm(self, p), norm(inverse, p))
