"""Nodes of operators that arrange elements: views, joins, indices, and tensors that are made."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

from dispatch_core.planning import Value

from .emitters import EMITTERS, emits
from .errors import OnnxExporterError
from .sizes import DynamicSize
from .writer import Writer

#: The largest index: the end of a slice that has none.
_END: Final = (1 << 63) - 1


@emits("alias", "clone", "contiguous", "detach", "lift_fresh", "lift_fresh_copy")
def _same(w: Writer, self: Value, *_: Any) -> str:
    return w.name(self)


EMITTERS["prims::device_put"] = _same


@emits("view", "_unsafe_view", "reshape", "view_copy")
def _view(w: Writer, self: Value, size: Any) -> str:
    return w.reshape(w.name(self), size)


@emits("t", "transpose.int", "permute", "numpy_T")
def _permute(w: Writer, self: Value, dims: Any) -> str:
    return str(w.node("Transpose", w.name(self), perm=[each % len(self.shape) for each in dims]))


@emits("transpose.int")
def _transpose(w: Writer, self: Value, dim0: int, dim1: int) -> str:
    order = list(range(len(self.shape)))
    if not order:
        return w.name(self)
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return _permute(w, self, order)


@emits("t")
def _t(w: Writer, self: Value) -> Any:
    made = w.results[0]
    if len(self.shape) < 2 or made is None:
        return w.name(self)
    # A product of matrices takes it as it is.
    w.transposed[made.index] = self
    return lambda: _permute(w, self, (1, 0))


@emits("expand")
def _expand(w: Writer, self: Value, size: Any, implicit: bool = False) -> str:
    return str(w.node("Expand", w.name(self), w.ints([1 if each == -1 else each for each in size])))


@emits("unsqueeze")
def _unsqueeze(w: Writer, self: Value, dim: int) -> str:
    return str(w.node("Unsqueeze", w.name(self), w.ints([dim])))


@emits("squeeze", "squeeze.dim", "squeeze.dims")
def _squeeze(w: Writer, self: Value, dims: Any = None) -> str:
    wanted = range(len(self.shape)) if dims is None else (dims,) if isinstance(dims, int) else dims
    axes = [each for each in wanted if self.shape and self.shape[each] == 1]
    return str(w.node("Squeeze", w.name(self), w.ints(axes))) if axes else w.name(self)


@emits("select.int")
def _select(w: Writer, self: Value, dim: int, index: Any) -> str:
    return str(w.node("Gather", w.name(self), w.scalar(index), axis=dim))


@emits("slice.Tensor")
def _slice(w: Writer, self: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> str:
    bounds = (0 if start is None else start, _END if end is None else end)
    return str(w.node("Slice", w.name(self), *(w.ints([each]) for each in (*bounds, dim, step))))


@emits("split.Tensor")
def _split(w: Writer, self: Value, split_size: Any, dim: int = 0) -> list[str]:
    sizes = [w.shape(each)[dim] for each in w.results if each is not None]
    return _split_with_sizes(
        w, self, sizes if len(sizes) > 1 and not isinstance(split_size, DynamicSize) else [split_size], dim
    )


@emits("split_with_sizes")
def _split_with_sizes(w: Writer, self: Value, split_sizes: Any, dim: int = 0) -> list[str]:
    if len(w.results) == 1:
        return [w.name(self)]
    if len(split_sizes) != len(w.results):
        raise OnnxExporterError("the number of parts depends on a dynamic dimension")
    return list(w.node("Split", w.name(self), w.ints(split_sizes), results=len(w.results), axis=dim))


@emits("unbind.int")
def _unbind(w: Writer, self: Value, dim: int = 0) -> list[str]:
    return [str(w.node("Gather", w.name(self), w.scalar(index), axis=dim)) for index in range(len(w.results))]


@emits("cat")
def _cat(w: Writer, tensors: Any, dim: int = 0) -> str:
    made = w.results[0]
    assert made is not None
    # Empty vectors count for nothing, whatever their rank is.
    given = [each for each in tensors if len(each.shape) == len(made.shape)]
    return str(w.node("Concat", *(w.cast(each, made.dtype) for each in given), axis=dim))


@emits("stack")
def _stack(w: Writer, tensors: Any, dim: int = 0) -> str:
    made = w.results[0]
    assert made is not None
    parts = [w.node("Unsqueeze", w.cast(each, made.dtype), w.ints([dim])) for each in tensors]
    return str(w.node("Concat", *parts, axis=dim))


@emits("flip")
def _flip(w: Writer, self: Value, dims: Any) -> str:
    count = len(dims)
    return str(
        w.node("Slice", w.name(self), w.ints([-1] * count), w.ints([-_END] * count), w.ints(dims), w.ints([-1] * count))
    )


@emits("roll")
def _roll(w: Writer, self: Value, shifts: Any, dims: Any = ()) -> str:
    found = w.name(self)
    flat = not dims
    if flat:
        found = w.reshape(found, [-1])
    for shift, dim in zip([shifts] if isinstance(shifts, int) else shifts, dims or [0], strict=True):
        ends = [
            w.node("Slice", found, *map(w.ints, each)) for each in (([-shift], [_END], [dim]), ([0], [-shift], [dim]))
        ]
        found = w.node("Concat", *ends, axis=dim) if shift else found
    return str(w.node("Reshape", found, w.node("Shape", w.name(self)))) if flat else found


@emits("repeat")
def _repeat(w: Writer, self: Value, repeats: Any) -> str:
    more = len(repeats) - len(self.shape)
    found = w.node("Unsqueeze", w.name(self), w.ints(range(more))) if more else w.name(self)
    return str(w.node("Tile", found, w.ints(repeats)))


@emits("constant_pad_nd")
def _pad(w: Writer, self: Value, pad: Any, value: Any = 0, *, mode: str = "constant") -> str:
    rest = [0] * (len(self.shape) - len(pad) // 2)
    begins, ends = [*rest, *pad[::2][::-1]], [*rest, *pad[1::2][::-1]]
    filler = [w.constant(value, self.dtype)] if mode == "constant" else []
    return str(w.node("Pad", w.name(self), w.ints([*begins, *ends]), *filler, mode=mode))


for _kind, _mode in (("reflection", "reflect"), ("replication", "edge")):
    EMITTERS.update({f"aten::{_kind}_pad{n}d": partial(_pad, mode=_mode) for n in (1, 2, 3)})


@emits("index_select")
def _index_select(w: Writer, self: Value, dim: int, index: Value) -> str:
    return str(w.node("Gather", w.name(self), w.name(index), axis=dim))


@emits("embedding")
def _embedding(w: Writer, weight: Value, indices: Value, *_: Any) -> str:
    return str(w.node("Gather", w.name(weight), w.name(indices), axis=0))


@emits("gather")
def _gather(w: Writer, self: Value, dim: int, index: Value, sparse_grad: bool = False) -> str:
    return str(w.node("GatherElements", w.name(self), w.name(index), axis=dim))


@emits("index.Tensor")
def _index(w: Writer, self: Value, indices: Any) -> str:
    given = [(place, each) for place, each in enumerate(indices) if each is not None]
    if len(given) == 1:
        place, index = given[0]
        if str(index.dtype.short) != "bool":
            return str(w.node("Gather", w.name(self), w.name(index), axis=place))
        if place == 0:
            return str(
                w.node("GatherND", w.name(self), w.node("Transpose", w.node("NonZero", w.name(index)), perm=[1, 0]))
            )
    places = [place for place, _ in given]
    if places != list(range(len(places))) or any(str(each.dtype.short) == "bool" for _, each in given):
        raise OnnxExporterError("indices of several tensors must be integers for the first dimensions")
    return str(w.node("GatherND", w.name(self), _positions(w, [each for _, each in given])))


def _positions(w: Writer, indices: list[Value]) -> str:
    """Return index tensors side by side in a last dimension."""
    names = [w.cast_name(w.name(each), "int64") for each in indices]
    total = names[0]
    for each in names[1:]:
        total = w.node("Add", total, each)
    shape = w.node("Shape", total)
    return str(
        w.node("Concat", *(w.node("Unsqueeze", w.node("Expand", each, shape), w.ints([-1])) for each in names), axis=-1)
    )


@emits("index_put", "_index_put_impl")
def _index_put(w: Writer, self: Value, indices: Any, values: Value, accumulate: bool = False, *unsafe: bool) -> str:
    first, name, value = indices[0], w.name(self), w.cast(values, self.dtype)
    if len(indices) == 1 and first is not None and str(first.dtype.short) == "bool" and values.shape in ((), (1,)):
        mask = w.name(first)
        for _ in range(len(self.shape) - len(first.shape)):
            mask = w.node("Unsqueeze", mask, w.ints([-1]))
        return str(w.node("Where", mask, value, name))
    if None in indices or any(str(each.dtype.short) == "bool" for each in indices):
        raise OnnxExporterError(
            "written positions must be integers for the first dimensions, or one mask and one value"
        )
    where = _positions(w, list(indices))
    shape = w.node("Shape", w.node("GatherND", name, where))
    return str(
        w.node("ScatterND", name, where, w.node("Expand", value, shape), reduction="add" if accumulate else None)
    )


@emits("scatter.src", "scatter.value", "scatter_add")
def _scatter(w: Writer, self: Value, dim: int, index: Value, src: Any, *, reduction: str | None = None) -> str:
    name, where = w.name(self), w.name(index)
    if isinstance(src, Value):
        # Only its part that has an index is written.
        taken = w.node("Slice", w.cast(src, self.dtype), w.ints([0] * len(index.shape)), w.node("Shape", where))
    else:
        taken = w.node("Expand", w.constant(src, self.dtype), w.node("Shape", where))
    return str(w.node("ScatterElements", name, where, taken, axis=dim, reduction=reduction))


EMITTERS["aten::scatter_add"] = partial(_scatter, reduction="add")


@emits("index_fill.int_Scalar")
def _index_fill(w: Writer, self: Value, dim: int, index: Value, value: Any) -> str:
    return _write_along(w, self, dim, w.name(index), w.constant(value, self.dtype))


def _write_along(w: Writer, self: Value, dim: int, positions: str, value: str) -> str:
    """Write a value, which is spread, at positions along a dimension."""
    ones = [1] * len(self.shape)
    ones[dim] = -1
    found = w.node("Gather", w.name(self), positions, axis=dim)
    where = w.node("Expand", w.reshape(positions, ones), w.node("Shape", found))
    return str(
        w.node("ScatterElements", w.name(self), where, w.node("Expand", value, w.node("Shape", found)), axis=dim)
    )


@emits("slice_scatter")
def _slice_scatter(
    w: Writer, self: Value, src: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> str:
    size = w.node("Gather", w.node("Shape", w.name(self)), w.scalar(dim % len(self.shape)), axis=0)
    every = w.node("Range", w.scalar(0), size, w.scalar(1))
    bounds = (0 if start is None else start, _END if end is None else end)
    positions = w.node("Slice", every, w.ints([bounds[0]]), w.ints([bounds[1]]), w.ints([0]), w.ints([step]))
    return _write_along(w, self, dim, positions, w.cast(src, self.dtype))


@emits("select_scatter")
def _select_scatter(w: Writer, self: Value, src: Value, dim: int, index: int) -> str:
    whole = w.node("Unsqueeze", w.cast(src, self.dtype), w.ints([dim]))
    return _write_along(w, self, dim, w.ints([index % w.size(self, dim)]), whole)


@emits("tril", "triu")
def _tril(w: Writer, self: Value, diagonal: int = 0, *, upper: int = 0) -> str:
    return str(w.node("Trilu", w.name(self), w.scalar(diagonal), upper=upper))


EMITTERS["aten::triu"] = partial(_tril, upper=1)


@emits("nonzero")
def _nonzero(w: Writer, self: Value) -> str:
    return str(w.node("Transpose", w.node("NonZero", w.name(self)), perm=[1, 0]))


def _fill(w: Writer, shape: str, value: Any) -> str:
    made = w.results[0]
    assert made is not None
    return str(w.node("Expand", w.operand(value, made.dtype), shape))


@emits("full", "full.out")
def _full(w: Writer, size: Any, value: Any, *_: Any) -> str:
    return _fill(w, w.ints(size), value)


@emits("full_like", "fill.Scalar", "fill.Tensor")
def _full_like(w: Writer, self: Value, value: Any, *_: Any) -> str:
    return _fill(w, w.node("Shape", w.name(self)), value)


@emits("new_full")
def _new_full(w: Writer, self: Value, size: Any, value: Any, *_: Any) -> str:
    return _fill(w, w.ints(size), value)


for _name, _value in (("zeros", 0), ("ones", 1), ("empty", 0)):
    EMITTERS[f"aten::{_name}"] = partial(lambda value, w, size, *_: _fill(w, w.ints(size), value), _value)
    EMITTERS[f"aten::{_name}_like"] = partial(lambda value, w, self, *_: _full_like(w, self, value), _value)
    EMITTERS[f"aten::new_{_name}"] = partial(lambda value, w, self, size, *_: _fill(w, w.ints(size), value), _value)
EMITTERS["aten::empty.memory_format"] = EMITTERS["aten::empty"]


@emits("arange.start_step")
def _arange(w: Writer, start: Any, end: Any, step: Any = 1, *_: Any) -> str:
    made = w.results[0]
    assert made is not None
    return str(w.node("Range", *(w.operand(each, made.dtype) for each in (start, end, step))))


@emits("arange")
def _arange_to(w: Writer, end: Any, *_: Any) -> str:
    return _arange(w, 0, end)


@emits("arange.start")
def _arange_from(w: Writer, start: Any, end: Any, *_: Any) -> str:
    return _arange(w, start, end)


@emits("copy", "expand_as")
def _copy(w: Writer, self: Value, src: Value, *_: Any) -> str:
    return str(w.node("Expand", w.cast(src, self.dtype), w.node("Shape", w.name(self))))


@emits("unfold")
def _unfold(w: Writer, self: Value, dimension: int, size: int, step: int) -> str:
    count, rank = (w.size(self, dimension) - size) // step + 1, len(self.shape)
    positions = np.arange(count)[:, None] * step + np.arange(size)
    found = w.node("Gather", w.name(self), w.constant(positions), axis=dimension)
    axis = dimension % rank
    return str(w.node("Transpose", found, perm=[*range(axis + 1), *range(axis + 2, rank + 1), axis + 1]))


@emits("diagonal")
def _diagonal(w: Writer, self: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> str:
    rank = len(self.shape)
    one, other = dim1 % rank, dim2 % rank
    rest = [each for each in range(rank) if each not in (one, other)]
    made = w.results[0]
    assert made is not None
    count = w.size(made, -1)
    rows = np.arange(count) + max(-offset, 0)
    positions = np.stack([rows, rows + offset], -1)
    found = w.node("GatherND", w.node("Transpose", w.name(self), perm=[one, other, *rest]), w.constant(positions))
    return str(w.node("Transpose", found, perm=[*range(1, len(rest) + 1), 0]))
