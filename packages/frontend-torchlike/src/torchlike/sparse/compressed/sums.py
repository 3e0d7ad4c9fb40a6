"""Sums of compressed tensors."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc

from ...tensors.tensor import Tensor
from ..operators import ops
from . import places
from .operators import NAMES
from .rules import narrow
from .tensor import (
    record_of,
    replace_values,
)


def read_number(op: Any, self: Tensor) -> Any:
    """Return the only element of a tensor, zero where it is not there."""
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return op(record_of(self).values.sum(dtype=dc.dtype(self)))


def sum_all(op: Any, self: Tensor, dtype: Any = None) -> Tensor:
    """Return the sum of all elements, a strided tensor."""
    found: Tensor = op(record_of(self).values, dtype=dtype)
    return found


def sum_dims(op: Any, self: Tensor, dim: list[int] | None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """Return the sums over dimensions: compressed with ``keepdim``, else of coordinates, or strided."""
    if not dim and not keepdim:
        return sum_all(op, self, dtype)
    found = op(places.to_coo(self), dim, keepdim, dtype=dtype)
    record = record_of(self)
    if not keepdim:
        return found
    kept: Any = None
    if record.block is not None:
        sizes = dc.shape(found)[len(record.batch) :]
        kept = [min(one, two) for one, two in zip(record.block, sizes, strict=False)]
    made = record_of(ops._to_layout(found, NAMES[record.layout], list(kept or ()), len(record.dense)))
    return replace_values(narrow(made, record), made.values)
