"""Pieces, windows, diagonals and copies of views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, arange_like, aten, has_views, meta_of, ndim, numel, overload
from dispatch_aten.decompositions._writes import scatter_into
from dispatch_aten.dtypes import int64
from dispatch_aten.errors import OperatorError, ShapeError
from dispatch_aten.promotion import Number
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_aten.shapes.refusals import refuse_kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _split_at(name: str, least: int, where: int) -> dict[str, Callable[..., list[Array]]]:
    """Make ``hsplit`` and its kind: cuts along one dimension, of tensors with at least so many."""

    def dimension(self: Array) -> int:
        count = ndim(self)
        if count < least:
            plural = "s" if least > 1 else ""
            raise ShapeError(
                f"torch.{name} requires a tensor with at least {least} dimension{plural}, but got a tensor with {count} "
                "dimensions!",
                operator=f"aten::{name}",
                argument="self",
            )
        return min(where, count - 1)

    def sections(self: Array, sections: int) -> list[Array]:
        dim = dimension(self)
        size = dc.shape(self)[dim]
        if sections == 0 or size % sections:
            raise OperatorError(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {size} is not "
                f"divisible by the split_size {sections}!",
                operator=f"aten::{name}.int",
                argument="sections",
            )
        return list(aten.tensor_split.sections(self, sections, dim))

    def array(self: Array, indices: Sequence[int]) -> list[Array]:
        return list(aten.tensor_split.indices(self, indices, dimension(self)))

    return {f"{name}.int": sections, f"{name}.array": array}


def _tensor_split(self: Array, tensor_indices_or_sections: Array, dim: int = 0) -> list[Array]:
    where = tensor_indices_or_sections
    text = ""
    if dc.dtype(where) != int64:
        text = f"have dtype of long, but got {dc.dtype(where).name}"
    elif ndim(where) > 1:
        text = f"be a zero-dimensional or one-dimensional tensor, but got a tensor with {ndim(where)} dims"
    if text:
        raise OperatorError(
            f"tensor_split expected tensor_indices_or_sections to {text}",
            operator="aten::tensor_split",
            argument="tensor_indices_or_sections",
        )
    if not ndim(where):
        return list(aten.tensor_split.sections(self, aten.item.default(where), dim))
    places = [aten.item.default(aten.select.int(where, 0, place)) for place in range(numel(where))]
    return list(aten.tensor_split.indices(self, places, dim))


def _unsafe_split(self: Array, lengths: int | Sequence[int], dim: int = 0) -> list[Array]:
    """Split into views that may be written to."""
    name = "split.Tensor" if isinstance(lengths, int) else "split_with_sizes"
    start, pieces = 0, []
    for part in RULES[name](meta_of(self), lengths, dim):
        stop = start + part.shape[dim]
        pieces.append(aten.slice.Tensor(self, dim, start, stop))
        start = stop
    return pieces


def _unsafe_chunk(self: Array, chunks: int, dim: int = 0) -> list[Array]:
    RULES["chunk"](meta_of(self), chunks, dim)
    size = dc.shape(self)[dim]
    length = (size + chunks - 1) // chunks
    return _unsafe_split(self, length or [0] * chunks, dim)


def _unfold_backward(grad_in: Array, input_sizes: Sequence[int], dim: int, size: int, step: int) -> Array:
    if not input_sizes:
        return aten.sum.default(grad_in)
    where = wrap_dim(dim, len(input_sizes))
    windows = dc.shape(grad_in)[where]
    starts = aten.unsqueeze.default(aten.mul.Scalar(arange_like(grad_in, windows), step), 1)
    places = aten.reshape.default(aten.add.Tensor(starts, arange_like(grad_in, size)), (-1 if windows * size else 0,))
    beside = aten.movedim.int(grad_in, -1, where + 1)
    sizes = dc.shape(beside)
    rows = aten.reshape.default(beside, (*sizes[:where], windows * size, *sizes[where + 2 :]))
    return aten.index_add.default(aten.new_zeros.default(grad_in, input_sizes), where, places, rows)


def _diag_embed(self: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    meta = RULES["diag_embed"](meta_of(self), offset, dim1, dim2)
    zeros = aten.new_zeros.default(self, meta.shape)
    return scatter_into(zeros, [(aten.diagonal.default, (offset, dim1, dim2))], self)


def _diag(self: Array, diagonal: int = 0) -> Array:
    if ndim(self) not in (1, 2):
        raise ShapeError(
            f"diag(): Supports 1D or 2D tensors. Got {ndim(self)}D", operator="aten::diag", argument="self"
        )
    if ndim(self) == 1:
        return aten.diag_embed.default(self, diagonal)
    return aten.diagonal_copy.default(self, diagonal)


def _trace(self: Array) -> Array:
    refuse_kinds("trace", "b", dc.dtype(self))
    if ndim(self) != 2:
        raise ShapeError("trace: expected a matrix", operator="aten::trace", argument="self")
    return aten.sum.default(aten.diagonal.default(self))


def _fill_diagonal(self: Array, fill_value: Number, wrap: bool = False) -> Array:
    sizes, strides = dc.shape(self), dc.strides(self)
    if len(sizes) < 2:
        raise ShapeError("dimensions must larger than 1", operator="aten::fill_diagonal_", argument="self")
    if len(sizes) > 2 and len(set(sizes)) > 1:
        raise ShapeError(
            "all dimensions of input must be of equal length", operator="aten::fill_diagonal_", argument="self"
        )
    height, width = sizes[0], sizes[-1]
    length, step = min(height, width), sum(strides)
    aten.fill_.Scalar(_line(self, length, step, 0), fill_value)
    if wrap and len(sizes) == 2 and height > width + 1:
        rest = (height * width + width) // (width + 1) - length
        aten.fill_.Scalar(_line(self, rest, step, strides[0] * (width + 1)), fill_value)
    return self


def _line(self: Array, length: int, step: int, start: int) -> Array:
    """Return a view of elements at equal distances in memory, counted from the first."""
    if has_views(self):
        return aten.as_strided.default(self, (length,), (step,), dc.storage_offset(self) + start)
    end = start + (length - 1) * step + 1 if length else start
    return aten.slice.Tensor(aten.view.default(self, (-1,)), 0, start, end, max(step, 1))


def _adjoint(name: str, text: str, *, only: bool = False) -> Callable[..., Array]:
    """Make ``adjoint``, ``mH`` or ``H``: matrices transposed and conjugated."""

    def kernel(self: Array) -> Array:
        count = ndim(self)
        if count == 1 or (only and count > 2):
            raise OperatorError(f"{text}. Got {count}-D tensor.", operator=f"aten::{name}", argument="self")
        turned = aten.transpose.int(self, -2, -1) if count else self
        return aten.conj.default(turned) if dc.dtype(self).is_complex else turned

    return kernel


def _slice_inverse(
    self: Array, src: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Array:
    return aten.as_strided.default(self, dc.shape(src), dc.strides(src), dc.storage_offset(src))


def _copy_of(view: str) -> Callable[..., Any]:
    """Make the kernel of a view operator's copying form."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        found = overload(view)(*args, **kwargs)
        if isinstance(found, (list, tuple)):
            return [aten.clone.default(each, memory_format=0) for each in found]
        return aten.clone.default(found, memory_format=0)

    return kernel


COMPOSITES: Final[dict[str, Callable[..., Any]]] = {
    **_split_at("hsplit", 1, 1),
    **_split_at("vsplit", 2, 0),
    **_split_at("dsplit", 3, 2),
}
