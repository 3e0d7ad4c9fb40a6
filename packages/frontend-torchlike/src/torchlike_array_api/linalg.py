"""The standard's linear algebra, over ``torchlike.linalg``.

>>> import torchlike
>>> det(torchlike.tensor([[2., 0.], [0., 3.]]))
tensor(6.)
"""

from __future__ import annotations

__name__ = "torchlike.array_api.linalg"  # see Note [Public paths]

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple

from dispatch_aten.dtypes import ScalarType
from torchlike.functions.operator_functions import FUNCTIONS, NAMESPACES
from torchlike.tensors.tensor import Tensor

from .data_types import finfo
from .manipulation import matrix_transpose
from .operands import promote, resolve_axes
from .reductions import sum as sum_along

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

_LINALG: Final = NAMESPACES["linalg"]


class EigResult(NamedTuple):
    """The eigenvalues of matrices and their vectors, complex."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """The eigenvalues of Hermitian matrices and their vectors."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """An orthogonal and an upper triangular factor."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """The signs of determinants and the logarithms of their absolute values."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """The factors of a singular value decomposition."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _make_plain(name: str, sentence: str) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor, /) -> Tensor:
        return _LINALG[name](x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return {sentence} (source: the array API standard's ``linalg.{name}``)."
    return function


det = _make_plain("det", "the determinants of matrices")
eigvals = _make_plain("eigvals", "the complex eigenvalues of matrices")
eigvalsh = _make_plain("eigvalsh", "the eigenvalues of Hermitian matrices")
inv = _make_plain("inv", "the inverses of matrices")
svdvals = _make_plain("svdvals", "the singular values of matrices")


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """Return the lower, or upper, triangular factors of positive definite Hermitian matrices."""
    return _LINALG["cholesky"](x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the cross products of vectors of 3 elements; ``ValueError`` for other sizes."""
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(f"cross: vectors have 3 elements, not {x1.shape[axis]} and {x2.shape[axis]}")
    return _LINALG["cross"](*FUNCTIONS["broadcast_tensors"](list(promote(x1, x2))), dim=axis)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Return a view of the diagonals of matrices, or of those ``offset`` above."""
    return FUNCTIONS["diagonal"](x, offset, -2, -1)


def eig(x: Tensor, /) -> EigResult:
    """Return the eigenvalues of matrices and their vectors, complex."""
    return EigResult(*_LINALG["eig"](x))


def eigh(x: Tensor, /) -> EighResult:
    """Return the eigenvalues of Hermitian matrices and their vectors."""
    return EighResult(*_LINALG["eigh"](x))


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the products of matrices, or of a vector and matrices.

    >>> import torchlike
    >>> matmul(torchlike.ones(2, 3), torchlike.ones(3, dtype=torchlike.float64))
    tensor([3., 3.], dtype=torchlike.float64)
    """
    return FUNCTIONS["matmul"](*promote(x1, x2))


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro") -> Tensor:
    """Return the norms of matrices."""
    return _LINALG["matrix_norm"](x, "fro" if ord is None else ord, keepdim=keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Return matrices to the power of an integer."""
    return _LINALG["matrix_power"](x, n)


def _tolerance(x: Tensor, rtol: Any) -> Any:
    if rtol is None:
        return max(x.shape[-2:]) * finfo(x).eps
    return rtol


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Return how many singular values of matrices are greater than ``rtol`` times the greatest."""
    values = svdvals(x)
    if not values.shape[-1]:
        return values.sum(-1, dtype=ScalarType.Long)
    limits = values.amax(-1, keepdim=True) * _as_column(_tolerance(x, rtol))
    return (values > limits).sum(-1)


def _as_column(rtol: Any) -> Any:
    return rtol[..., None] if isinstance(rtol, Tensor) else rtol


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the products of each element of one vector with each of another."""
    return FUNCTIONS["outer"](*promote(x1, x2))


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Return the pseudo-inverses of matrices; singular values below ``rtol`` times the greatest count as 0."""
    return _LINALG["pinv"](x, rtol=_tolerance(x, rtol))


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Return the orthogonal and the upper triangular factors of matrices."""
    return QRResult(*_LINALG["qr"](x, mode))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """Return the signs of determinants and the logarithms of their absolute values."""
    return SlogdetResult(*_LINALG["slogdet"](x))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the solutions of ``x1 @ x = x2``; ``x2`` is a vector if it has one dimension, and matrices otherwise."""
    matrices, sides = promote(x1, x2)
    if sides.ndim == 1:
        return _LINALG["solve"](matrices, sides[:, None])[..., 0]
    batch = FUNCTIONS["broadcast_tensors"]([matrices[..., 0, 0], sides[..., 0, 0]])[0].shape if sides.numel() else None
    if batch is not None:
        sides = sides.expand(*batch, *sides.shape[-2:])
    return _LINALG["solve"](matrices, sides)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """Return the singular values of matrices between their orthogonal factors."""
    return SVDResult(*_LINALG["svd"](x, full_matrices))


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """Return the sums of products over pairs of axes, or over the last of one tensor and the first of the other."""
    return FUNCTIONS["tensordot"](*promote(x1, x2), dims=axes)


def trace(x: Tensor, /, *, offset: int = 0, dtype: ScalarType | None = None) -> Tensor:
    """Return the sums over the diagonals of matrices."""
    return sum_along(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the dot products of vectors along an axis, the first conjugated."""
    first, second = promote(x1, x2)
    if first.shape[axis] != second.shape[axis]:
        raise ValueError(f"vecdot: vectors of {first.shape[axis]} and {second.shape[axis]} elements")
    if first.dtype.is_integral:
        return (first * second).sum(axis, dtype=first.dtype)
    return _LINALG["vecdot"](first, second, dim=axis)


def vector_norm(
    x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """Return the norms of vectors along axes, of all elements for None."""
    if axis == ():
        return x.abs() if ord else FUNCTIONS["ne"](x, 0).to(x.dtype.to_real())
    return _LINALG["vector_norm"](x, ord, resolve_axes(axis, x.ndim), keepdims)
