"""Operators that arrange dimensions: none of them touches the batch's, and the ragged one moves as a whole."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import dispatch_core as dc

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from .operators import Operator, canonical, inner_dim, refuse_gaps
from .pointwise import align, fits
from .tensor import Jagged, NestedTensor, nest, wrap_values


def transpose(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Exchange two dimensions, of which one may be ragged."""
    tensor, one, other = values
    return _swap(operator, tensor._dispatch_data, one, other)


def transpose_matrices(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Exchange the last two dimensions."""
    return _swap(operator, values[0]._dispatch_data, -2, -1)


def _swap(operator: Operator, record: Jagged, one: int, other: int) -> Tensor:
    rank = record.values.dim() + 1
    dims = canonical(one, rank), canonical(other, rank)
    if 0 in dims and dims != (0, 0):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    moved = dict(zip(dims, dims[::-1], strict=True)).get(record.ragged, record.ragged)
    if dims == (0, 0):
        return wrap_values(record, record.values)
    return wrap_values(record, record.values.transpose(dims[0] - 1, dims[1] - 1), moved)


def permute(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Bring the dimensions into another order."""
    tensor, dims = values
    record, rank = tensor._dispatch_data, tensor.dim()
    if len(dims) != rank:
        raise ValueError(
            f"permute(): number of dimensions in the tensor input ({rank}) does not match the length of the desired"
            f" ordering of dimensions ({len(dims)})."
        )
    found = [canonical(each, rank) for each in dims]
    if len({*found}) != rank:
        raise ValueError("permute(): duplicate dims are not allowed.")
    if found[0]:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    inner = [each - 1 for each in found[1:]]
    return wrap_values(record, record.values.permute(inner), found.index(record.ragged))


def move_dims(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Move dimensions to other places."""
    tensor, source, destination = values
    rank = tensor.dim()
    from_, to = (
        [canonical(each, rank) for each in (dims if isinstance(dims, (list, tuple)) else [dims])]
        for dims in (source, destination)
    )
    rest = iter([dim for dim in range(rank) if dim not in from_])
    placed = dict(zip(to, from_, strict=True))
    return FUNCTIONS["permute"](tensor, [placed[dim] if dim in placed else next(rest) for dim in range(rank)])


def view(operator: Operator, values: tuple[Any, ...]) -> Any:
    """View or copy the values in other sizes behind the ragged dimension."""
    tensor, size = values[0], list(values[1])
    record = tensor._dispatch_data
    own = record.shape
    if tuple(size) == own:
        return wrap_values(record, record.values)
    if record.ragged != 1 and not fits(record, size):
        operator.refuse(f"cannot view shape {own} as {size}")
    if len(size) < 3 or not fits(record, size):
        operator.refuse(f"cannot view shape {own} as {size}")
    inner = size[1:]
    inner[record.ragged - 1] = dc.shape(record.values)[record.ragged - 1]
    for dim in range(record.ragged - 1):
        inner[dim] = dc.shape(record.values)[dim]
    return wrap_values(record, operator([record.values, inner, *values[2:]]))


def view_like(operator: Operator, values: tuple[Any, ...]) -> Any:
    """View or copy the values in the sizes of another tensor."""
    packet = getattr(dc.ops.aten, operator.packet.removesuffix("_as"))
    return packet.default(values[0], dc.shape(values[1]))


def flatten(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Make one dimension of several, none of which is ragged."""
    tensor, start, end = values
    record = tensor._dispatch_data
    first, last = (inner_dim(operator, record, each) for each in (start, end))
    if first < record.ragged - 1 < last:
        operator.refuse("not supported for NestedTensor on ragged dim")
    moved = last - first if first < record.ragged - 1 else 0
    return wrap_values(record, record.values.flatten(first, last), record.ragged - max(moved, 0))


def unflatten(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Make several dimensions of one that is not ragged."""
    tensor, dim, sizes = values
    record = tensor._dispatch_data
    inner = inner_dim(operator, record, dim)
    moved = len(sizes) - 1 if inner < record.ragged - 1 else 0
    return wrap_values(record, record.values.unflatten(inner, sizes), record.ragged + moved)


def unsqueeze(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Add a dimension of size 1."""
    tensor, dim = values
    record = tensor._dispatch_data
    inner = inner_dim(operator, record, dim, more=1, ragged=True)
    return wrap_values(record, record.values.unsqueeze(inner), record.ragged + (inner <= record.ragged - 1))


def squeeze(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Take a dimension of size 1 away."""
    tensor, dim = values
    record = tensor._dispatch_data
    inner = inner_dim(operator, record, dim)
    found = record.values.squeeze(inner)
    moved = found.dim() < record.values.dim() and inner < record.ragged - 1
    return wrap_values(record, found, record.ragged - moved)


def expand(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Broadcast dimensions other than the batch's and the ragged one."""
    tensor, size = values[0], values[1]
    record = tensor._dispatch_data
    if len(size) != tensor.dim() or not fits(record, size):
        operator.refuse(f"cannot expand shape {record.shape} -> {list(size)}")
    inner = [-1 if dim == record.ragged else size[dim] for dim in range(1, len(size))]
    return wrap_values(record, record.values.expand(inner))


def expand_as(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Broadcast a tensor to the sizes of another."""
    tensor, other = values
    if not isinstance(other, NestedTensor):
        operator.refuse("a nested tensor has no strided sizes")
    record = other._dispatch_data
    return wrap_values(record, align(operator, other, tensor).expand(dc.shape(record.values)))


def select(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Return a row, or one index of a dimension of all rows."""
    tensor, dim, index = values
    record = tensor._dispatch_data
    inner = inner_dim(operator, record, dim, batch=True)
    if inner < 0:
        count = dc.shape(tensor)[0]
        if not -count <= index < count:
            raise IndexError(f"select(): index {index} out of range for tensor of size {record.shape} at dimension 0")
        return FUNCTIONS["unbind"](tensor, 0)[index]
    found = FUNCTIONS["select"](record.values, inner, index)
    return wrap_values(record, found, record.ragged - (inner < record.ragged - 1))


def take_part(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Apply an operator that takes a dimension into parts, or a part of it: slices, splits, chunks."""
    given = operator.bind(values)
    record: Jagged = given["self"]._dispatch_data
    if operator.packet in ("chunk", "unsafe_chunk") and canonical(given["dim"], record.values.dim() + 1) == 0:
        return _chunk_batch(operator, record, given["chunks"])
    given["dim"] = inner_dim(operator, record, given["dim"])
    given["self"] = record.values
    found = operator.call(given)
    if isinstance(found, (list, tuple)):
        return [wrap_values(record, each) for each in found]
    return wrap_values(record, found)


def _chunk_batch(operator: Operator, record: Jagged, count: int) -> list[Tensor]:
    """Return parts of the batch, each with offsets of its own."""
    refuse_gaps(operator, record)
    lengths = FUNCTIONS["chunk"](record.row_lengths(), count)
    parts = FUNCTIONS["split"](record.values, [int(each.sum().item()) for each in lengths], record.ragged - 1)
    begin = record.offsets.new_zeros(1)
    return [
        nest(part, FUNCTIONS["cat"]([begin, each.cumsum(0)]), None, record.ragged)
        for part, each in zip(parts, lengths, strict=True)
    ]


def unbind(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Return the rows, as views of the values."""
    tensor, dim = values
    if canonical(dim, tensor.dim()):
        operator.refuse("only supported for NestedTensor on dim=0")
    record = tensor._dispatch_data
    offsets: list[int] = record.offsets.tolist()
    if record.lengths is None:
        sizes = [end - begin for begin, end in pairwise(offsets)]
        packed = dc.shape(record.values)[record.ragged - 1]
        if offsets[0] or offsets[-1] != packed or any(size < 0 for size in sizes):
            operator.refuse(f"offsets {offsets} do not divide a dimension of size {packed}")
        return list(FUNCTIONS["split"](record.values, sizes, record.ragged - 1))
    begins, sizes = offsets[:-1], record.lengths.tolist()
    return [record.values.narrow(record.ragged - 1, begin, size) for begin, size in zip(begins, sizes, strict=True)]


def concatenate(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Join tensors along a dimension that is neither the batch's nor ragged, or a new one."""
    tensors, dim = values
    first = next(each for each in tensors if isinstance(each, NestedTensor))
    record = first._dispatch_data
    inner = inner_dim(operator, record, dim, more=int(operator.packet == "stack"))
    parts = []
    for each in tensors:
        if isinstance(each, NestedTensor) and not fits(record, dc.shape(each)):
            operator.refuse("expected all nested tensors to have the same nested structure")
        found = align(operator, first, each)
        sizes = [-1] * found.dim() if isinstance(each, NestedTensor) else list(dc.shape(record.values))
        parts.append(found if isinstance(each, NestedTensor) else found.expand(sizes))
    moved = operator.packet == "stack" and inner <= record.ragged - 1
    return wrap_values(record, operator([parts, inner]), record.ragged + moved)


def make_contiguous(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Return the rows without gaps, with the values in row-major order."""
    tensor = values[0]
    record = tensor._dispatch_data
    if record.lengths is None:
        found = operator([record.values, *values[1:]])
        return tensor if found is record.values else wrap_values(record, found)
    rows = FUNCTIONS["unbind"](tensor, 0)
    begin = record.offsets.new_zeros(1)
    offsets = FUNCTIONS["cat"]([begin, record.lengths.cumsum(0)])
    return nest(FUNCTIONS["cat"](rows, record.ragged - 1), offsets, None, record.ragged)
