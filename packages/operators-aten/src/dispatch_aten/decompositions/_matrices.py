"""Helpers of linear algebra's composites: adjoints, diagonals, unit matrices, layouts and LAPACK's error codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten import host
from dispatch_aten.dtypes import bool_
from dispatch_aten.errors import LinAlgError

from ._shared import Array, aten, cast, copy_into

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dispatch_aten.dtypes import ScalarType
    from dispatch_aten.shapes import TensorMeta


def conj(self: Array) -> Array:
    """Return the complex conjugates; real numbers are their own."""
    return aten._conj_physical.default(self) if dc.dtype(self).is_complex else self


def real(self: Array) -> Array:
    """Return the real parts."""
    return cast(self, dc.dtype(self).to_real())


def imag(self: Array) -> Array:
    """Return the imaginary parts of complex numbers."""
    return aten.imag.default(self)


def mT(self: Array) -> Array:  # noqa: N802  # torch's name
    """Return the transposed matrices."""
    return aten.transpose.int(self, -2, -1)


def mH(self: Array) -> Array:  # noqa: N802  # torch's name
    """Return the adjoint matrices."""
    return mT(conj(self))


def diagonal(self: Array) -> Array:
    """Return the matrices' diagonals, as a view."""
    return aten.diagonal.default(self, 0, -2, -1)


def column(self: Array) -> Array:
    """Return vectors as matrices of one column."""
    return aten.unsqueeze.default(self, -1)


def row(self: Array) -> Array:
    """Return vectors as matrices of one row."""
    return aten.unsqueeze.default(self, -2)


def eye_like(like: Array, rows: int, columns: int | None = None, dtype: ScalarType | None = None) -> Array:
    """Return one unit matrix in the dtype and on the device of ``like``."""
    made = aten.eye.m(
        rows,
        rows if columns is None else columns,
        dtype=dc.dtype(like) if dtype is None else dtype,
        device=dc.device(like),
    )
    return dc.wrap_like(like, made)


def diag_embed(self: Array) -> Array:
    """Return matrices with these diagonals and zeros elsewhere; differentiable."""
    return aten.mul.Tensor(column(self), eye_like(self, dc.shape(self)[-1]))


def with_diagonal(self: Array, values: Array | float) -> Array:
    """Return square matrices with another diagonal: numbers, or vectors."""
    unit = eye_like(self, dc.shape(self)[-1], dtype=bool_)
    if isinstance(values, (int, float)):
        return aten.masked_fill.Scalar(self, unit, values)
    return aten.where.self(unit, cast(column(values), dc.dtype(self)), self)


def zeros_like_shape(like: Array, shape: Sequence[int], dtype: ScalarType | None = None) -> Array:
    """Return zeros of a shape on the device of ``like``."""
    return aten.new_zeros.default(like, shape, dtype=dc.dtype(like) if dtype is None else dtype)


def in_layout(self: Array, meta: TensorMeta) -> Array:
    """Return the elements in the strides of a description, copied where they lie otherwise."""
    if not dc.has_strides(self):
        return self
    if dc.strides(self) == meta.strides or not meta.numel:
        return self if dc.strides(self) == meta.strides else _fresh(self, meta)
    return copy_into(_fresh(self, meta), self)


def _fresh(like: Array, meta: TensorMeta) -> Array:
    return aten.new_empty_strided.default(like, meta.shape, meta.strides, dtype=meta.dtype)


def check_info(info: Array, api: str, describe: Callable[[int], str]) -> None:
    """Raise ``LinAlgError`` for the first code that is not 0; ``describe`` tells the code's meaning."""
    if dc.device(info).type == "meta":
        return
    codes: Any = host.get(info).reshape(-1)
    if not codes.any():
        return
    place = int(codes.nonzero()[0][0])
    batch = f"(Batch element {place}): " if len(dc.shape(info)) else ""
    raise LinAlgError(f"{api}: {batch}{describe(int(codes[place]))}")
