"""Broadcasting, and the strides of fresh results (source: torch's ``TensorIterator``).

An element-wise result keeps the order in which its inputs' dimensions lie in memory: the sum of two transposed matrices
is transposed. The order is found by sorting the dimensions by the inputs' strides, the first input's before all others.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from dispatch_aten.errors import OperatorError, ShapeError

from .meta import (
    TensorMeta,
    channels_last_strides,
    contiguous_strides,
    dense_strides,
    is_channels_last,
    is_contiguous,
    is_non_overlapping_and_dense,
    same_places,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch_aten.dtypes import ScalarType


_Layout: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]


def broadcast_shapes(*shapes: tuple[int, ...], argument: str = "") -> tuple[int, ...]:
    """Return the shape that ``shapes`` broadcast to.

    Raises ``ShapeError`` in torch's words.

    >>> broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    found = shapes[0] if shapes else ()
    for shape in shapes[1:]:
        if shape != found:
            found = _broadcast_two(found, shape, argument)
    return found


@lru_cache(maxsize=4096)
def _broadcast_two(a: tuple[int, ...], b: tuple[int, ...], argument: str) -> tuple[int, ...]:
    ndim = max(len(a), len(b))
    result = list(a if len(a) == ndim else b)
    for back in range(1, min(len(a), len(b)) + 1):
        x, y = a[-back], b[-back]
        if x != y and 1 not in (x, y):
            raise ShapeError(
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) "
                f"at non-singleton dimension {ndim - back}",
                argument=argument,
            )
        result[-back] = y if x == 1 else x
    return tuple(result)


def broadcast_strides(meta: TensorMeta, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of ``meta`` expanded to ``shape``: 0 where a dimension is repeated or new."""
    return _spread(meta.shape, meta.strides, shape)


def _spread(have: tuple[int, ...], strides: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    ndim = len(shape) - len(have)
    return (0,) * ndim + tuple(
        0 if size == 1 and wanted != 1 else stride
        for size, stride, wanted in zip(have, strides, shape[ndim:], strict=True)
    )


def memory_order(shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the dimensions from the innermost to the outermost, by the inputs' strides.

    >>> memory_order((2, 3, 4), [(12, 1, 3)])
    [1, 2, 0]

    It is an insertion sort by a comparison that is no order (a stride of 0 abstains), so the steps matter: they are the
    ones that decide torch's layouts.
    """

    def later(dim0: int, dim1: int) -> int:
        for of_input in strides:
            stride0, stride1 = of_input[dim0], of_input[dim1]
            if stride0 == 0 or stride1 == 0:
                continue
            if stride0 != stride1:
                return 1 if stride0 > stride1 else -1
            if shape[dim0] > shape[dim1]:
                return 1
        return 0

    order = list(range(len(shape) - 1, -1, -1))
    for start in range(1, len(order)):
        place = start
        for before in range(start - 1, -1, -1):
            verdict = later(order[before], order[place])
            if verdict > 0:
                order[before], order[place] = order[place], order[before]
                place = before
            elif verdict < 0:
                break
    return order


def is_expanded(meta: TensorMeta) -> bool:
    """Return whether elements share a place in memory.

    >>> from dispatch_aten.dtypes import float32
    >>> is_expanded(TensorMeta((2, 3), (0, 1), float32)), is_expanded(TensorMeta((1, 3), (0, 1), float32))
    (True, False)
    """
    return 0 not in meta.shape and any(
        not stride and size > 1 for size, stride in zip(meta.shape, meta.strides, strict=True)
    )


def check_written(meta: TensorMeta, argument: str = "self") -> None:
    """Refuse to write to a tensor whose elements share memory, as expanded ones do."""
    if is_expanded(meta):
        raise OperatorError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation.",
            argument=argument,
        )


def check_apart(written: TensorMeta, read: TensorMeta, argument: str = "self", *, entirely: bool = False) -> None:
    """Refuse to write to a tensor while one in the same memory is read, unless `are_apart`."""
    if not are_apart(written, read, entirely=entirely):
        raise overlap_error(argument)


def are_apart(written: TensorMeta, read: TensorMeta, shift: int = 0, *, entirely: bool = False) -> bool:
    """Return whether each element of two tensors in one memory is read at most where it is written.

    With ``entirely`` not even there. Tensors with gaps are let through (source: ``at::assert_no_partial_overlap`` and
    ``at::assert_no_overlap``). ``shift`` is by how many bytes ``read`` begins later than it tells.

    >>> from dispatch_aten.dtypes import float32
    >>> one, other = (TensorMeta((2,), (1,), float32, start) for start in (0, 2))
    >>> are_apart(one, other), are_apart(one, other, -4)
    (True, False)
    """
    for meta in (written, read):
        if not meta.numel or not is_non_overlapping_and_dense(meta.shape, meta.strides):
            return True
    starts = [meta.storage_offset * meta.dtype.itemsize + by for meta, by in ((written, 0), (read, shift))]
    ends = [start + meta.numel * meta.dtype.itemsize for start, meta in zip(starts, (written, read), strict=True)]
    if max(starts) >= min(ends):
        return True
    same = starts[0] == starts[1] and same_places(written.shape, written.strides, read.shape, read.strides)
    return same and not entirely


def overlap_error(argument: str) -> OperatorError:
    """Return the error for an output that lies where an input is read."""
    return OperatorError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
        "location. Please clone() the tensor before performing the operation.",
        argument=argument,
    )


def check_output_shape(result: tuple[int, ...], output: tuple[int, ...], argument: str = "self") -> None:
    """Refuse to write a result to a tensor of another shape; an in-place call never changes its tensor's."""
    if result != output:
        raise ShapeError(
            f"output with shape {list(output)} doesn't match the broadcast shape {list(result)}", argument=argument
        )


def iterator_strides(shape: tuple[int, ...], inputs: Sequence[TensorMeta]) -> tuple[int, ...]:
    """Return the strides of a fresh element-wise result of ``shape`` computed from ``inputs``."""
    return _iterator_strides(shape, tuple([(each.shape, each.strides) for each in inputs]))


@lru_cache(maxsize=4096)
def _iterator_strides(shape: tuple[int, ...], inputs: tuple[_Layout, ...]) -> tuple[int, ...]:
    if all(each == shape for each, _ in inputs):
        if all(is_contiguous(shape, strides) for _, strides in inputs):
            return contiguous_strides(shape)
        if all(is_channels_last(shape, strides) for _, strides in inputs):
            return channels_last_strides(shape)
        first = inputs[0][1]
        if all(strides == first for _, strides in inputs) and is_non_overlapping_and_dense(shape, first):
            return first
    order = memory_order(shape, [_spread(each, strides, shape) for each, strides in inputs])
    if order == list(range(len(shape) - 1, -1, -1)):
        return contiguous_strides(shape)
    result = [0] * len(shape)
    step = 1
    for dim in order:
        result[dim] = step
        step *= shape[dim]
    return tuple(result)


@lru_cache(maxsize=4096)
def preserved_strides(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a copy that preserves the format (``torch.preserve_format``): dense, dimensions in order."""
    if is_non_overlapping_and_dense(shape, strides):
        return strides
    if len(shape) <= 1:
        return (1,) * len(shape)
    return dense_strides(shape, memory_order(shape, [strides]))


def preserve_format(meta: TensorMeta, dtype: ScalarType | None = None) -> TensorMeta:
    """Describe a fresh copy of ``meta`` that preserves its format, with another dtype if one is given."""
    return TensorMeta(meta.shape, preserved_strides(meta.shape, meta.strides), meta.dtype if dtype is None else dtype)
