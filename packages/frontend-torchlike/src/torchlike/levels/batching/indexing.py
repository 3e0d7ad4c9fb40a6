"""Indexing with tensors, its writes, and embeddings.

Where both the tensor and an index are batched, the rows of the batch are one more index in front.
"""

from __future__ import annotations

from math import prod
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import bool_, int64, uint8
from dispatch_aten.errors import DimensionError, OperatorError

from .calls import Batch, BatchedCall, Rule, align, aten, dtype_of, rank_of, shape_of, shift, with_batch

_MASKS: Final = (bool_, uint8)


def rows_of(tensor: Any, size: int, rank: int) -> Any:
    """Return the numbers of a batch's rows, as an index that broadcasts with others of a rank."""
    ones = aten.new_ones.default(tensor, [size], dtype=int64)
    numbers = aten.sub.Scalar(aten.cumsum.default(ones, 0), 1)
    return aten.view.default(numbers, (size, *[1] * rank))


class _Indices:
    """The indices of a call, with masks replaced by their true places."""

    def __init__(self, indices: Any, size: int) -> None:
        self.items: list[Any] = []
        for index in indices:
            if index is None or dtype_of(index) not in _MASKS:
                self.items.append(index)
            elif type(index) is Batch:
                raise OperatorError(
                    "each row of a batched mask selects another number of elements; torchlike.where keeps the shape",
                    argument="indices",
                )
            else:
                self.items += aten.unbind.int(aten.nonzero.default(index), 1)
        dims = [place for place, index in enumerate(self.items) if index is not None]
        self.count = len(dims)
        self.size = size
        self.rank = max(rank_of(index) for index in self.items if index is not None)
        #: Whether the indexed dimensions are next to each other: those of the result then take their place, else the front.
        self.are_adjacent = dims == list(range(dims[0], dims[-1] + 1))
        self.before = dims[0] if self.are_adjacent else 0
        self.are_batched = any(type(index) is Batch for index in self.items)

    def line_up(self) -> list[Any]:
        return [index if index is None else align(index, self.rank) for index in self.items]

    def with_rows(self, tensor: Any) -> list[Any]:
        return [rows_of(tensor, self.size, self.rank), *self.line_up()]


def _check_masks(call: BatchedCall) -> None:
    """Refuse a mask whose shape is not that of the dimensions that it stands for."""
    shape, place = shape_of(call["self"]), 0
    for number, index in enumerate(call["indices"]):
        if index is None or dtype_of(index) not in _MASKS:
            place += 1
            continue
        mask = shape_of(index)
        if mask != shape[place : place + len(mask)]:
            raise DimensionError(
                f"The shape of the mask {list(mask)} at index {number} does not match the shape of the indexed tensor "
                f"{list(shape)} at index {place}",
                argument="indices",
            )
        place += len(mask)


def _index(call: BatchedCall) -> Any:
    _check_masks(call)
    indices = _Indices(call["indices"], call.size)
    own, before, rank = call["self"], indices.before, indices.rank
    if type(own) is not Batch:
        return _move(aten.index.Tensor(own, indices.line_up()), before, 0)
    if not indices.are_batched:
        found = aten.index.Tensor(own.tensor, [None, *indices.items])
        return found if indices.are_adjacent else _move(found, rank, 0)
    found = aten.index.Tensor(own.tensor, indices.with_rows(own.tensor))
    if not before:
        return found
    # The rows and the indices are not adjacent, so that the dimensions before these follow them.
    rest = range(1 + rank + before, len(found.shape))
    return aten.permute.default(found, (0, *range(1 + rank, 1 + rank + before), *range(1, 1 + rank), *rest))


def _move(tensor: Any, source: int, target: int) -> Any:
    if source == target:
        return tensor
    order = list(range(len(tensor.shape)))
    order.insert(target, order.pop(source))
    return aten.permute.default(tensor, order)


def _index_put(call: BatchedCall) -> Any:
    _check_masks(call)
    own = call.with_batch("self")
    if _is_filled_mask(call):
        return _fill_mask(call, own)
    indices = _Indices(call["indices"], call.size)
    rank = call.rank("self") - indices.count + indices.rank
    values = align(call["values"], rank)
    if indices.are_adjacent and not indices.are_batched:
        return call.run(self=own, indices=[None, *indices.items], values=values)
    if indices.before:
        values = _put_indices_first(values, indices, rank)
    return call.run(self=own, indices=indices.with_rows(own), values=values)


def _put_indices_first(values: Any, indices: _Indices, rank: int) -> Any:
    missing = rank + 1 - len(values.shape)
    if missing > 0:
        values = aten.view.default(values, (*[1] * missing, *values.shape))
    start, end = 1 + indices.before, 1 + indices.before + indices.rank
    return aten.permute.default(values, (0, *range(start, end), *range(1, start), *range(end, rank + 1)))


def _is_filled_mask(call: BatchedCall) -> bool:
    """Return whether one number is written where a mask is true, which needs no shape that depends on values."""
    tensors = [index for index in call["indices"] if index is not None]
    is_mask = len(tensors) == 1 and dtype_of(tensors[0]) == bool_
    return is_mask and not call["accumulate"] and call["indices"][0] is not None and not call.rank("values")


def _fill_mask(call: BatchedCall, own: Any) -> Any:
    mask, rank = call["indices"][0], call.rank("self")
    missing = [1] * (rank - rank_of(mask))
    mask = mask.tensor if type(mask) is Batch else mask
    mask = aten.view.default(mask, (*mask.shape, *missing))
    found = aten.where.self(mask, align(call["values"], rank), own)
    return aten.copy_.default(own, found) if call.op.name == "aten::index_put_" else found


def _along_index(call: BatchedCall) -> Any:
    """Call ``gather``, ``scatter`` and their kind, whose tensors have one rank, on tensors that are all batched."""
    tensors = {name: call.with_batch(name) for name in call.tensors()}
    kept = "index" if call.op.name == "aten::gather" else "self"
    rank, shape = call.rank("self"), tensors[kept].shape
    tensors = {name: _with_dim(tensor) for name, tensor in tensors.items()}
    result = call.run(**tensors, dim=shift(call["dim"], rank))
    return result if len(shape) > 1 else aten.view.default(result, shape)


def _with_dim(tensor: Any) -> Any:
    return aten.unsqueeze.default(tensor, 1) if len(tensor.shape) == 1 else tensor


def _spread(index: Any, dim: int, shape: Any) -> Any:
    """Return batched vectors of indices as indices of every element of a shape along a dimension of it."""
    index = _with_dim(index)
    sizes = list(shape)
    sizes[0], sizes[dim] = index.shape
    lined_up = [size if place in (0, dim) else 1 for place, size in enumerate(sizes)]
    return aten.expand.default(aten.view.default(index, lined_up), sizes)


def _index_select(call: BatchedCall) -> Any:
    own, index, rank = call["self"], call["index"], call.rank("self")
    dim = shift(call["dim"], rank)
    if type(index) is not Batch:
        found = aten.index_select.default(_with_dim(own.tensor), dim, index)
    elif type(own) is Batch:
        tensor = _with_dim(own.tensor)
        found = aten.gather.default(tensor, dim, _spread(index.tensor, dim, tensor.shape))
    else:
        own = own if rank else aten.unsqueeze.default(own, 0)
        picked = aten.index_select.default(own, dim - 1, aten.reshape.default(index.tensor, (-1,)))
        shape = list(own.shape)
        shape[dim - 1 : dim] = [call.size, _with_dim(index.tensor).shape[1]]
        found = _move(aten.view.default(picked, shape), dim - 1, 0)
    return found if rank else aten.view.default(found, (call.size,))


def _index_write(call: BatchedCall) -> Any:
    """Call ``index_add``, ``index_copy`` or ``index_fill``; batched indices are those of a scattered write."""
    rank = call.rank("self")
    own, dim = _with_dim(call.with_batch("self")), shift(call["dim"], rank)
    name = call.op.name.removeprefix("aten::").partition(".")[0]
    value = call["value"] if name == "index_fill" else call["source"]
    is_tensor = name != "index_fill" or not isinstance(value, (bool, int, float, complex))
    if not call.is_batched("index") and not (name == "index_fill" and type(value) is Batch):
        changed = {"source": _with_dim(call.with_batch("source"))} if name != "index_fill" else {}
        found = call.run(self=own, dim=dim, **changed)
    else:
        found = _scatter(call, name, own, dim, value if is_tensor else None)
    return found if rank else aten.view.default(found, (call.size,))


def _scatter(call: BatchedCall, name: str, own: Any, dim: int, value: Any) -> Any:
    index = call.with_batch("index")
    if name == "index_fill":
        # Negative indices count from the end; others that are too large stay so, and are refused.
        index = aten.where.self(aten.lt.Scalar(index, 0), aten.add.Scalar(index, own.shape[dim]), index)
        index = _spread(index, dim, own.shape)
        if value is None:
            return aten.scatter.value(own, dim, index, call["value"])
        value = aten._to_copy.default(with_batch(value, call.size), dtype=own.dtype)
        value = aten.view.default(value, (call.size, *[1] * (len(own.shape) - 1)))
        return aten.scatter.src(own, dim, index, aten.expand.default(value, index.shape))
    source = _with_dim(with_batch(value, call.size))
    index = _spread(index, dim, source.shape)
    if name == "index_copy":
        return aten.scatter.src(own, dim, index, source)
    source = source if call["alpha"] == 1 else aten.mul.Scalar(source, call["alpha"])
    return aten.scatter_add.default(own, dim, index, source)


def _rows(tensor: Any) -> Any:
    return aten.reshape.default(tensor, (tensor.shape[0], prod(tensor.shape[1:])))


def _places(call: BatchedCall, length: int) -> Any:
    """Return places among the elements of each row, negative ones counted from the end."""
    index = _rows(call.with_batch("index"))
    return aten.where.self(aten.lt.Scalar(index, 0), aten.add.Scalar(index, length), index)


def _take(call: BatchedCall) -> Any:
    own, index = call["self"], call["index"]
    if type(own) is not Batch:
        return aten.take.default(own, index.tensor)
    rows = _rows(own.tensor)
    found = aten.gather.default(rows, 1, _places(call, rows.shape[1]))
    return aten.view.default(found, call.with_batch("index").shape)


def _put(call: BatchedCall) -> Any:
    own = call.with_batch("self")
    rows = _rows(own)
    write = aten.scatter_add.default if call["accumulate"] else aten.scatter.src
    found = write(rows, 1, _places(call, rows.shape[1]), _rows(call.with_batch("source")))
    return aten.view.default(found, own.shape)


def _embedding(call: BatchedCall) -> Any:
    weight = call["weight"]
    if type(weight) is not Batch:
        return call.run(indices=call["indices"].tensor)
    lead, indices = None, call["indices"]
    if type(indices) is Batch:
        lead, indices = rows_of(weight.tensor, call.size, rank_of(indices)), indices.tensor
    found = aten.index.Tensor(weight.tensor, [lead, indices])
    if call["padding_idx"] < 0:
        return found
    # The row of padding has values, and no gradient.
    is_padding = aten.unsqueeze.default(aten.eq.Scalar(indices, call["padding_idx"]), -1)
    return aten.where.self(is_padding, aten.detach.default(found), found)


def _embedding_gradient(call: BatchedCall) -> Any:
    # The tables of all rows are one table for the call: row after row.
    grad, indices = call.with_batch("grad_output"), call.with_batch("indices")
    count, padding = call["num_weights"], call["padding_idx"]
    rank = len(indices.shape) - 1
    shifted = aten.add.Tensor(indices, aten.mul.Scalar(rows_of(indices, call.size, rank), count))
    if padding >= 0:
        grad = aten.masked_fill.Scalar(grad, aten.unsqueeze.default(aten.eq.Scalar(indices, padding), -1), 0)
    found = call.run(grad_output=grad, indices=shifted, num_weights=count * call.size, padding_idx=-1)
    return aten.view.default(found, (call.size, count, *found.shape[1:]))


def _as_strided_scatter(call: BatchedCall) -> Any:
    own = call["self"].tensor if call.is_batched("self") else aten.clone.default(call.with_batch("self"))
    return call.run(
        self=own,
        src=call.with_batch("src"),
        size=[call.size, *call["size"]],
        stride=[dc.strides(own)[0], *call["stride"]],
    )


RULES: Final[dict[str, Rule]] = {
    "index.Tensor": _index,
    "index_put": _index_put,
    "index_put_": _index_put,
    "gather": _along_index,
    "scatter.src": _along_index,
    "scatter.value": _along_index,
    "scatter_add": _along_index,
    "scatter_reduce.two": _along_index,
    "index_select": _index_select,
    "index_add": _index_write,
    "index_copy": _index_write,
    "index_fill.int_Scalar": _index_write,
    "index_fill.int_Tensor": _index_write,
    "take": _take,
    "put": _put,
    "embedding": _embedding,
    "embedding_dense_backward": _embedding_gradient,
    "as_strided_scatter": _as_strided_scatter,
}
