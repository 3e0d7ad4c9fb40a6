"""Reading elements by indices and masks, and the gradients that write to their places.

NumPy's advanced indexing has torch's meaning once masks are expanded and indices are checked. This module adds the checks,
torch's messages and the layout of results.

Note [One index]
    Most often one array indexes another without gaps. Then NumPy's ``take`` gives the result in torch's layout, accepts
    negative indices as torch does and refuses all others, so that no rule is asked, and none keeps an answer
    for each number of elements that a mask selects. Failed calls are done again the long way, which makes torch's error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dispatch_aten.errors import DimensionError, DtypeError
from dispatch_aten.shapes import wrap_dim
from dispatch_core.tracebacks import warn_caller

from ...arrays import Array, empty_strided, is_row_major
from ...kernel_table import Kernel, KernelTable
from ...output_specs import OutputSpec, conform, half_as_float, infer_output, output_rule
from ..support.compiled_kernels import native
from ..support.places import add_slices, as_vector, check_along, check_rows, is_outside, locate, read_at
from ..support.rule_kernels import cast, make_kernel, write
from ..views import kernels as view

KERNELS: Final = KernelTable()

Indices = Sequence[Array | None]

INT64: Final = np.dtype(np.int64)
BOOL: Final = np.dtype(np.bool_)

_BYTES: Final = "indexing with dtype uint8 is now deprecated, please use a dtype bool instead"


def find_places(self: Array, indices: Indices) -> tuple[list[Any], list[Array | None]]:
    """Turn torch's list of indices into NumPy's tuple, masks into the integers of their true elements.

    Returns the tuple's items, and the same with None for full slices. Raises ``DimensionError`` for too many indices, masks
    that do not fit and indices that are neither integers nor masks. Whether they are in range is left to check.
    """
    places: list[Array | None] = []
    for number, given in enumerate(indices):
        if given is None:
            places.append(None)
            continue
        index = np.asarray(given)
        kind = index.dtype.char
        if kind in "?B":
            if kind == "B":
                warn_caller(_BYTES)
            _check_mask(self, index, len(places), number)
            places.extend(np.nonzero(index) if index.ndim else ())
        elif kind in "il" or index.dtype == np.int64:
            places.append(index)
        else:
            raise DimensionError("tensors used as indices must be long, int, byte or bool tensors", argument="indices")
    taken = len(places)
    if taken > self.ndim:
        raise DimensionError(f"too many indices for tensor of dimension {self.ndim} (got {taken})", argument="indices")
    items: list[Any] = [slice(None) if place is None else place for place in places]
    return items, places


def _check_mask(self: Array, mask: Array, dim: int, number: int) -> None:
    for offset, size in enumerate(mask.shape):
        if dim + offset >= self.ndim or self.shape[dim + offset] != size:
            raise DimensionError(
                f"The shape of the mask {list(mask.shape)} at index {offset} does not match the shape of the indexed tensor "
                f"{list(self.shape)} at index {dim + offset}",
                argument="indices",
            )


def check_range(self: Array, places: list[Array | None]) -> None:
    """Raise ``DimensionError`` for an index that is out of range."""
    for dim, index in enumerate(places):
        if index is None or not index.size:
            continue
        size = self.shape[dim]
        low, high = index.min(), index.max()
        if low < -size or high >= size:
            wrong = int(high if high >= size else low)
            raise DimensionError(
                f"index {wrong} is out of bounds for dimension {dim} with size {size}", argument="indices"
            )


def one_index(self: Array, indices: Indices) -> tuple[Array, int, Array] | None:
    """Return an array that shares the memory of ``self``, one of its dimensions and the places along it that are indexed.

    None unless exactly one index is given, and both arrays are plain; see Note [One index]. A mask is turned into the
    places where it is true.
    """
    axis = len(indices) - 1
    index = indices[axis] if indices else None
    if index is None or (axis and any(each is not None for each in indices[:axis])):
        return None
    if not (self.size and is_row_major(self) and is_row_major(index)):
        return None
    dtype, shape = index.dtype, index.shape
    if dtype is INT64:
        return (self, axis, index) if axis < self.ndim and index.size else None
    if dtype is not BOOL or not shape or shape != self.shape[axis : axis + len(shape)]:
        return None
    if len(shape) > 1:
        if axis or len(shape) != self.ndim:
            return None
        self, index = self.reshape(-1), index.reshape(-1)
    index = index.nonzero()[0]
    return (self, axis, index) if index.size else None


def _are_alike(self: Array, indices: Indices) -> bool:
    """Return whether lines of one length index the first dimensions of an array without gaps."""
    first = indices[0]
    return (
        first is not None
        and first.ndim == 1
        and bool(first.size and self.size)
        and is_row_major(self)
        and len(indices) <= self.ndim
        and all(each is not None and each.dtype is INT64 and each.shape == first.shape for each in indices)
    )


@KERNELS("index.Tensor")
def _index(self: Array, indices: Indices) -> Array:
    one = one_index(self, indices)
    if one is not None:
        target, axis, index = one
        try:
            taken: Array = target.take(index, axis)
        except IndexError:
            pass
        else:
            return taken
    elif len(indices) > 1 and _are_alike(self, indices):
        try:
            chosen: Array = self[tuple(indices)]
        except IndexError:
            pass
        else:
            if is_row_major(chosen):
                return chosen
    if not indices:
        raise DimensionError("at least one index must be provided", operator="aten::index.Tensor", argument="indices")
    items, places = find_places(self, indices)
    if not items:
        return self.copy()
    spec = infer_output("index.Tensor", self, places)
    if not spec.numel:
        return conform(np.empty(spec.shape, self.dtype), spec)  # Torch looks at no index then.
    check_range(self, places)
    return conform(self[tuple(items)], spec)


def is_one_mask(indices: Indices) -> bool:
    """Return whether exactly one index is given, which is a mask."""
    given = [index for index in indices if index is not None]
    return len(given) == 1 and given[0].dtype.char in "?B"


@KERNELS("masked_select")
def _masked_select(self: Array, mask: Array) -> Array:
    one = one_index(self, [mask]) if mask.shape == self.shape else None
    if one is not None:
        return one[0].take(one[2])
    if mask.dtype.kind != "b":
        raise DtypeError("masked_select: expected BoolTensor for mask", argument="mask")
    shape = infer_output("where.self", mask, self, self).shape
    return np.broadcast_to(self, shape)[np.broadcast_to(mask, shape)]


@KERNELS("nonzero")
def _nonzero(self: Array) -> Array:
    if self.ndim == 1:
        (places,) = self.nonzero()
        return np.ndarray((len(places), 1), INT64, places, 0, (8, 8 * len(places))) if len(places) else places[:, None]
    count = int(np.count_nonzero(self))
    result = empty_strided((count, self.ndim), (1, count), INT64)
    for dim, place in enumerate(self.nonzero() if self.ndim else ()):
        result[:, dim] = place
    return result


_gathered: Final = output_rule("gather")
_selected: Final = output_rule("index_select")
_taken: Final = output_rule("take")
_embedded: Final = output_rule("embedding")


@KERNELS("gather")
def _gather(self: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    if self.ndim == 1 and index.ndim == 1 and index.dtype is INT64 and -1 <= dim < 1 and index.size:
        # Elements of one line at places in another, which no rule has to see.
        check_along(index, 0, self.shape[0])
        return self.take(index)
    spec = _gathered(self, dim, index, sparse_grad=sparse_grad)
    if not index.size:
        return conform(np.empty(index.shape, self.dtype), spec)
    a, index = as_vector(self), as_vector(index)
    axis = wrap_dim(dim, a.ndim)
    check_along(index, axis, a.shape[axis])
    return conform(read_at(*locate(a, index, axis, index.shape)), spec)


@KERNELS("index_select")
def _index_select(self: Array, dim: int, index: Array) -> Array:
    spec = _selected(self, dim, index)
    a, places = as_vector(self), as_vector(index)
    axis = wrap_dim(dim, a.ndim)
    check_rows(places, a.shape[axis], operator="aten::index_select")
    return conform(a.take(places, axis), spec)


@KERNELS("take")
def _take(self: Array, index: Array) -> Array:
    spec = _taken(self, index)
    size = self.size
    if is_outside(index, -size, size):
        raise DimensionError("out of range: tried to access an index that self does not have", argument="index")
    return conform(self.reshape(-1).take(index), spec)


@KERNELS("embedding")
def _embedding(
    weight: Array, indices: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Array:
    spec = _embedded(weight, indices, padding_idx, scale_grad_by_freq, sparse)
    check_rows(indices, len(weight), operator="aten::embedding", argument="indices")
    return conform(weight.take(indices, 0), spec)


def _embedding_dense_backward(
    spec: OutputSpec, grad: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    flat = indices.reshape(-1)
    wide = half_as_float(grad.dtype)
    rows = cast(grad, wide).reshape(len(flat), grad.shape[-1])
    if scale_grad_by_freq:
        counts = np.bincount(flat, minlength=num_weights)
        rows = rows / counts[flat][:, None].astype(wide)
    if padding_idx >= 0:
        kept = flat != padding_idx
        flat, rows = flat[kept], rows[kept]
    result = np.zeros((num_weights, rows.shape[1]), wide)
    if rows.size:
        add_slices(result, 0, flat, rows)
    return result


def _scatter_gradient(spec: OutputSpec, grad: Array, place: tuple[Any, ...]) -> Any:
    result = np.zeros(spec.shape, spec.array_dtype)
    result[place] = grad
    return result


def _select_backward(spec: OutputSpec, grad: Array, input_sizes: Any, dim: int, index: int) -> Any:
    return _scatter_gradient(spec, grad, (slice(None),) * wrap_dim(dim, len(input_sizes)) + (index,))


def _slice_backward(spec: OutputSpec, grad: Array, input_sizes: Any, dim: int, start: int, end: int, step: int) -> Any:
    return _scatter_gradient(spec, grad, (slice(None),) * wrap_dim(dim, len(input_sizes)) + (slice(start, end, step),))


def _diagonal_backward(spec: OutputSpec, grad: Array, input_sizes: Any, offset: int, dim1: int, dim2: int) -> Any:
    result = np.zeros(spec.shape, spec.array_dtype)
    write(view.KERNELS["diagonal"](result, offset, dim1, dim2), grad)
    return result


def _diag_embed(spec: OutputSpec, self: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    result = np.zeros(spec.shape, self.dtype)
    write(view.KERNELS["diagonal"](result, offset, dim1, dim2), self)
    return result


def _select_scatter(spec: OutputSpec, self: Array, src: Array, dim: int, index: int) -> Any:
    return _write_part(spec, self, src, (slice(None),) * wrap_dim(dim, self.ndim) + (index,))


def _slice_scatter(
    spec: OutputSpec, self: Array, src: Array, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    return _write_part(spec, self, src, (slice(None),) * wrap_dim(dim, self.ndim) + (slice(start, end, step),))


def _copy_as(spec: OutputSpec, self: Array) -> Array:
    if is_row_major(self):
        return self.copy("C")
    result = empty_strided(spec.shape, spec.strides, spec.array_dtype)
    result[...] = self
    return result


def _write_part(spec: OutputSpec, self: Array, src: Array, place: tuple[Any, ...]) -> Array:
    result = _copy_as(spec, self)
    write(result[(*place, ...)], src)
    return result


def _diagonal_scatter(spec: OutputSpec, self: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    result = _copy_as(spec, self)
    write(view.KERNELS["diagonal"](result, offset, dim1, dim2), src)
    return result


_COMPUTE: Final[dict[str, Kernel]] = {
    "diag_embed": _diag_embed,
    "select_scatter": _select_scatter,
    "slice_scatter": _slice_scatter,
    "diagonal_scatter": _diagonal_scatter,
    "embedding_dense_backward": _embedding_dense_backward,
    "select_backward": _select_backward,
    "slice_backward": _slice_backward,
    "diagonal_backward": _diagonal_backward,
}
KERNELS.update({name: make_kernel(name, compute) for name, compute in _COMPUTE.items()})
for _name in ("gather", "index_select"):
    KERNELS[_name] = native(_name, KERNELS[_name], None, None, halves=1)
KERNELS["embedding_dense_backward"] = native(
    "embedding gradient", KERNELS["embedding_dense_backward"], None, map(np.dtype, "fd")
)
