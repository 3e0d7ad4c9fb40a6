"""Checks of matrices, which the rules and decompositions of linear algebra share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dispatch_aten.dtypes import ScalarType, bfloat16, float16
from dispatch_aten.errors import DtypeError, ShapeError

from .meta import TensorMeta, contiguous, contiguous_strides

if TYPE_CHECKING:
    from collections.abc import Sequence


_HALVES: Final = (float16, bfloat16)


def column_major(shape: Sequence[int], dtype: ScalarType) -> TensorMeta:
    """Describe fresh column-major matrices in a row-major batch.

    >>> from dispatch_aten.dtypes import float32
    >>> column_major((5, 2, 3), float32).strides
    (6, 1, 2)
    """
    shape = tuple(shape)
    if len(shape) < 2:
        return contiguous(shape, dtype)
    *batch, step, inner = contiguous_strides((*shape[:-2], shape[-1], shape[-2]))
    return TensorMeta(shape, (*batch, inner, step), dtype)


def check_matrices(meta: TensorMeta, api: str, argument: str = "A") -> None:
    """Refuse fewer than two dimensions."""
    if meta.ndim < 2:
        raise ShapeError(f"{api}: The input tensor {argument} must have at least 2 dimensions.", argument=argument)


def check_square(meta: TensorMeta, api: str, argument: str = "A") -> None:
    """Refuse matrices that are not square."""
    check_matrices(meta, api, argument)
    rows, columns = meta.shape[-2:]
    if rows != columns:
        raise ShapeError(
            f"{api}: {argument} must be batches of square matrices, but they are {rows} by {columns} matrices",
            argument=argument,
        )


def check_inexact(meta: TensorMeta, api: str, argument: str = "A", *, halves: bool = False) -> None:
    """Refuse integers, and unless ``halves`` numbers of 16 bits, which LAPACK has no functions for."""
    if not meta.dtype.is_differentiable:
        raise DtypeError(
            f"{api}: Expected a floating point or complex tensor as input. Got {meta.dtype.name}", argument=argument
        )
    if not halves and meta.dtype in _HALVES:
        raise DtypeError(f"{api}: Low precision dtypes not supported. Got {meta.dtype.name}", argument=argument)


def check_square_inexact(meta: TensorMeta, api: str, argument: str = "A") -> None:
    """Refuse anything but a batch of square matrices of floating-point or complex numbers."""
    check_square(meta, api, argument)
    check_inexact(meta, api, argument)


def is_vector(A: TensorMeta, B: TensorMeta) -> bool:
    """Return whether ``B`` is a vector for each matrix of ``A``, as ``linalg.solve`` takes it."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])


def check_same_dtype(A: TensorMeta, B: TensorMeta, api: str) -> None:
    """Refuse a right-hand side of another dtype than the matrices'."""
    if A.dtype != B.dtype:
        raise DtypeError(
            f"{api}: Expected A and B to have the same dtype, but found A of type {A.dtype.name} and B of type "
            f"{B.dtype.name} instead",
            argument="B",
        )
