"""What the rules of compressed tensors share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import dispatch_core as dc

from ...tensors.tensor import Tensor
from ...values.dtypes import can_cast
from .. import tensor as coo
from . import places
from .operators import convert_like
from .tensor import (
    Compressed,
    is_compressed,
)


def find_first(values: Sequence[Any]) -> Tensor:
    """Return the first compressed tensor among arguments."""
    found: Tensor = next(each for each in values if is_compressed(each))
    return found


def become(self: Tensor, other: Tensor) -> Tensor:
    """Put the components of another tensor into one, tell its history that it was written to, and return it."""
    self._dispatch_data = other._dispatch_data
    self._count_write()
    return self


def call(op: Any, *values: Any) -> Any:
    """Call an operator with all its arguments in the order of the schema."""
    count, names = len(op.schema.positional), [argument.name for argument in op.schema.keyword_only]
    return op(*values[:count], **dict(zip(names, values[count:], strict=False)))


def narrow(record: Compressed, template: Compressed) -> Compressed:
    """Return a record with indices of another's dtype."""
    kind = dc.dtype(template.compressed)
    return replace(record, compressed=record.compressed.to(kind), plain=record.plain.to(kind))


def check_result(found: Any, kind: Any) -> None:
    """Raise ``RuntimeError`` for a dtype that the output's cannot take."""
    if not can_cast(found, kind):
        raise RuntimeError(f"result type {found.name} can't be cast to the desired output type {kind.name}")


def by_coo(op: Any, *values: Any) -> Any:
    """Compute with tensors of coordinates; a sparse result gets the layout of the first compressed tensor."""
    first = find_first(values)
    found = call(op, *[places.to_coo(each) if is_compressed(each) else each for each in values])
    if not coo.is_sparse(found) or coo.record_of(found).sparse_dim < 2:
        return found
    return convert_like(found, first)
