"""Sparse matrices that are made of their diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dispatch_core as dc
from dispatch_aten.dtypes import int64
from dispatch_core.tracebacks import api_boundary

from ..creation.factories import FACTORIES
from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from ..values.layouts import sparse_coo
from .construction import make_empty, sparse_coo_tensor


@api_boundary
def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Any = None) -> Tensor:
    """Return a matrix with the rows of ``diagonals`` along diagonals (source: ``torch.sparse.spdiags``).

    Offset 0 is the main diagonal, positive ones stand above it. An element stays in its column; those outside of the
    matrix are left out. It has the history of ``diagonals``. Raises ``RuntimeError`` for numbers of diagonals, offsets and
    sizes that do not fit, offsets that are no integers of 64 bits or come twice, and layouts other than ``sparse_coo``.

    >>> import torchlike
    >>> spdiags(torchlike.tensor([[1., 2.], [3., 4.]]), torchlike.tensor([0, 1]), (2, 2)).to_dense()
    tensor([[1., 4.],
            [0., 2.]])
    """
    places = _check_diagonals(diagonals, offsets, shape, layout)
    rows, columns = shape
    values, indices = [], []
    for row, offset in zip(diagonals.reshape(len(places), dc.shape(diagonals)[-1]), places, strict=True):
        start = max(0, offset)
        stop = max(start, min(dc.shape(row)[0], columns, rows + offset))
        column = FACTORIES["arange"](start, stop, device=diagonals.device)
        values.append(row[start:stop])
        indices.append(FUNCTIONS["stack"]([column - offset, column]))
    if not places:
        return make_empty(shape, diagonals.dtype, diagonals.device)
    return sparse_coo_tensor(FUNCTIONS["cat"](indices, 1), FUNCTIONS["cat"](values), shape)


def _check_diagonals(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Any) -> list[int]:
    """Return the offsets as numbers."""
    for name, each in (("diagonals", diagonals), ("offsets", offsets)):
        if not isinstance(each, Tensor):
            raise TypeError(f"spdiags(): argument '{name}' must be Tensor, not {type(each).__name__}")
    if diagonals.dim() not in (1, 2):
        raise RuntimeError("Diagonals must be vector or matrix")
    if offsets.dim() > 1:
        raise RuntimeError("Offsets must be scalar or vector")
    count = dc.shape(diagonals)[0] if diagonals.dim() == 2 else 1
    if count != offsets.numel():
        raise RuntimeError(f"Number of diagonals ({count}) does not match the number of offsets ({offsets.numel()})")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if layout not in (None, sparse_coo):
        raise RuntimeError(f"spdiags(): the layout is {sparse_coo}, not {layout}")
    if offsets.dtype is not int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {offsets.dtype!r}")
    places: list[int] = offsets.reshape(-1).tolist()
    if len({*places}) != len(places):
        raise RuntimeError("Offset tensor contains duplicate values")
    return places
