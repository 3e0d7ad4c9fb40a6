"""The record of a tensor with compressed rows or columns, which may hold blocks.

Note [Compressed tensors]
    ``compressed`` counts the elements before each row (CSR, BSR) or column (CSC, BSC), ``plain`` has the column or row of
    each, and ``values`` the elements: numbers, or blocks of ``blocksize`` (BSR, BSC), with dense dimensions behind. All have
    the batch's dimensions in front, so each matrix of a batch has as many elements. The transposed of a tensor is made of
    the same components. As in Note [Sparse tensors], the components have no history. All four layouts have one record, for
    a key belongs to one; a rule asks ``layout``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import dispatch_core as dc
from dispatch_core.frontends import TensorLayout

from ...tensors.tensor import Tensor, wrap
from ...values import layouts
from ...values.layouts import LayoutData, layout, layout_of
from ..tensor import find_record
from ..text import write_components

#: The layouts by the names that torch's functions have.
LAYOUTS: Final = {each: getattr(layouts, f"sparse_{each}") for each in ("csr", "csc", "bsr", "bsc")}
_BY_ROWS: Final = (layouts.sparse_csr, layouts.sparse_bsr)
_BLOCKED: Final = (layouts.sparse_bsr, layouts.sparse_bsc)
#: Layout → that of the transposed tensor.
TRANSPOSED: Final = {
    LAYOUTS[one]: LAYOUTS[other] for one, other in (("csr", "csc"), ("csc", "csr"), ("bsr", "bsc"), ("bsc", "bsr"))
}


@dataclass(slots=True)
class Compressed(LayoutData):
    """The data of a compressed tensor; see Note [Compressed tensors]."""

    compressed: Tensor
    plain: Tensor
    values: Tensor
    size: tuple[int, ...]
    layout: layout  # type: ignore[misc]  # four layouts have one record

    densified_by: ClassVar[str] = "to_dense()"

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the sizes of all dimensions."""
        return self.size

    @property
    def dtype(self) -> Any:
        """Return the type of the elements."""
        return dc.dtype(self.values)

    @property
    def is_by_rows(self) -> bool:
        """Return whether rows are compressed, not columns."""
        return self.layout in _BY_ROWS

    @property
    def names(self) -> tuple[str, str]:
        """Return the names of the indices: the compressed ones, the plain ones."""
        return ("crow_indices", "col_indices") if self.is_by_rows else ("ccol_indices", "row_indices")

    @property
    def batch(self) -> tuple[int, ...]:
        """Return the sizes of the batch."""
        return tuple(dc.shape(self.compressed)[:-1])

    @property
    def count(self) -> int:
        """Return the number of elements, or blocks, of each matrix."""
        return dc.shape(self.plain)[-1]

    @property
    def block(self) -> tuple[int, ...] | None:
        """Return the sizes of a block, None for single elements."""
        start = len(self.batch) + 1
        return tuple(dc.shape(self.values)[start : start + 2]) if self.layout in _BLOCKED else None

    @property
    def dense(self) -> tuple[int, ...]:
        """Return the sizes of the dense dimensions."""
        return self.size[len(self.batch) + 2 :]

    @property
    def grid(self) -> tuple[int, int]:
        """Return the numbers of rows and columns, of blocks where there are any."""
        rows, columns = self.size[len(self.batch) :][:2]
        high, wide = self.block or (1, 1)
        return rows // max(high, 1), columns // max(wide, 1)

    def to_text(self, tensor: Tensor) -> str:
        """Return the components, the sizes and the history, as torch does."""
        shown = {**dict(zip(self.names, (self.compressed, self.plain), strict=True)), "values": self.values}
        return write_components(tensor, shown, self.count, new_line=False)


COMPRESSED: Final = TensorLayout(
    "SparseCsr",
    Compressed,
    component="values",
    shape=lambda record: record.size,
    dtype=lambda record: record.dtype,
    strides=lambda record: (0,) * len(record.size),
    hint="x.to_dense() is a strided tensor, x.to_sparse() one of coordinates, and x.values() has the elements",
)


def wrap_compressed(compressed: Tensor, plain: Tensor, values: Tensor, size: Sequence[int], layout: layout) -> Tensor:
    """Return the compressed tensor of these components, which are not looked at."""
    fields = {"compressed": compressed, "plain": plain, "values": values, "size": tuple(size), "layout": layout}
    return wrap(COMPRESSED.make(**fields))


def is_compressed(value: object) -> bool:
    """Return whether a value is a compressed tensor, or a transform's for one."""
    return isinstance(getattr(value, "_dispatch_data", None), Compressed) or (
        isinstance(value, Tensor) and layout_of(value) in TRANSPOSED
    )


def record_of(tensor: Tensor) -> Compressed:
    """Return the record of a compressed tensor, or of the one that a transform's represents; raises as `find_record`."""
    return find_record(tensor, Compressed)


def replace_values(record: Compressed, values: Tensor) -> Tensor:
    """Return a compressed tensor with other values in the same places."""
    return change_record(record, values=values)


def change_record(record: Compressed, **changes: object) -> Tensor:
    """Return the compressed tensor of a record with other fields."""
    return wrap(COMPRESSED.replace(record, **changes))


def widen_indices(tensor: Tensor) -> Tensor:
    """Return a compressed tensor with indices of int64."""
    record = record_of(tensor)
    return change_record(record, compressed=record.compressed.long(), plain=record.plain.long())
