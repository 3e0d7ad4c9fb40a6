"""Short ways of views and of functions that join tensors, whose usual ways are composites of others.

A view by a short way is one by the composite itself, whose arguments are kept to make it again. So those that take another
tensor for its shape alone lead to the view that they come to, and keep no tensor alive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from ...arrays import Array, is_row_major
from ..networks.padding import KERNELS as PADDING
from ..views.kernels import KERNELS as VIEWS
from ..views.kernels import view_row_major
from ..views.lists import KERNELS as JOINING

#: How many parts are made without asking the rule, which refuses more than memory holds.
_MOST_PARTS: Final = 1 << 20


def _flat_size(self: Array, start_dim: int = 0, end_dim: int = -1) -> Any:
    shape = self.shape
    count = len(shape)
    start, end = start_dim % (count or 1), end_dim % (count or 1)
    if not start < end < count or not (-count <= start_dim < count and -count <= end_dim < count):
        return NotImplemented  # a single dimension is the tensor itself
    return (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :])


def _flatten(self: Array, start_dim: int = 0, end_dim: int = -1) -> Any:
    size = _flat_size(self, start_dim, end_dim) if self.ndim > 1 else NotImplemented
    return size if size is NotImplemented else view_row_major(self, size)


def _unflat_size(self: Array, dim: int, sizes: Sequence[int]) -> Any:
    shape = self.shape
    if not sizes or not -len(shape) <= dim < len(shape):
        return NotImplemented
    place = dim % len(shape)
    if -1 not in sizes and prod(sizes) != shape[place]:
        return NotImplemented
    return (*shape[:place], *sizes, *shape[place + 1 :])


def _unflatten(self: Array, dim: int, sizes: Sequence[int]) -> Any:
    size = _unflat_size(self, dim, sizes)
    return size if size is NotImplemented else view_row_major(self, size)


def _ravel(self: Array) -> Any:
    return view_row_major(self, (-1,))


def _narrow_bounds(self: Array, dim: int, start: int, length: int) -> Any:
    size = self.shape[dim]
    if start < 0:
        start += size
    return (dim, start, start + length) if 0 <= start < start + length <= size else NotImplemented


def _narrow(self: Array, dim: int, start: int, length: int) -> Any:
    bounds = _narrow_bounds(self, dim, start, length)
    return bounds if bounds is NotImplemented else _slice(self, *bounds)


def _reverse_dims(self: Array) -> Any:
    return self.T if self.size and self.ndim else NotImplemented


def _all_backwards(self: Array) -> Any:
    return (tuple(range(self.ndim))[::-1],) if self.ndim else NotImplemented


def _transpose_last(self: Array) -> Any:
    return self.swapaxes(-2, -1) if self.size and self.ndim > 1 else NotImplemented


def _last_two(self: Array) -> Any:
    return (-2, -1) if self.ndim > 1 else NotImplemented


def _moved_order(self: Array, source: Any, destination: Any) -> Any:
    count = self.ndim
    if not self.size:
        return NotImplemented
    if type(source) is type(destination) is int:
        if not (-count <= source < count and -count <= destination < count):
            return NotImplemented
        order = list(range(count))
        order.insert(destination % count, order.pop(source))
        return (order,)
    sources, targets = ((each,) if type(each) is int else each for each in (source, destination))
    if len(sources) != len(targets):
        return NotImplemented
    for each in (*sources, *targets):
        if not -count <= each < count:
            return NotImplemented
    taken = {to % count: dim % count for dim, to in zip(sources, targets, strict=True)}
    moved = {*taken.values()}
    if len(taken) != len(sources) or len(moved) != len(sources):
        return NotImplemented
    rest = iter([dim for dim in range(count) if dim not in moved])
    return ([taken[dim] if dim in taken else next(rest) for dim in range(count)],)


def _move(self: Array, source: Any, destination: Any) -> Any:
    order = _moved_order(self, source, destination)
    return order if order is NotImplemented else self.transpose(order[0])


_split, _split_with_sizes, _slice = VIEWS["split.Tensor"], VIEWS["split_with_sizes"], VIEWS["slice.Tensor"]


def _chunk_length(self: Array, chunks: int, dim: int = 0) -> Any:
    length = -(-self.shape[dim] // chunks) if chunks > 0 and self.size else 0
    return (length, dim) if length else NotImplemented


def _chunk(self: Array, chunks: int, dim: int = 0) -> Any:
    length = -(-self.shape[dim] // chunks) if chunks > 0 and self.size else 0
    return _split(self, length, dim) if length else NotImplemented


def _tensor_split(self: Array, sections: int, dim: int = 0) -> Any:
    size = self.shape[dim]
    if not 0 < sections <= min(size, _MOST_PARTS):
        return NotImplemented
    short, longer = divmod(size, sections)
    return _split_with_sizes(self, [short + 1] * longer + [short] * (sections - longer), dim)


def _grow(arrays: Sequence[Array], least: int) -> list[Array]:
    return [each if each.ndim >= least else each.reshape(*[1] * (least - each.ndim), *each.shape) for each in arrays]


def _split_at(self: Array, indices: Sequence[int], dim: int = 0) -> Any:
    ends = [*indices, self.shape[dim]]
    lengths = [end - start for start, end in zip([0, *indices], ends, strict=True)]
    # A part without elements may begin anywhere.
    return _split_with_sizes(self, lengths, dim) if min(lengths) > 0 else NotImplemented


def _pad(self: Array, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    if mode != "constant":
        return NotImplemented
    return PADDING["constant_pad_nd"](self, pad, 0.0 if value is None else value)


def _repeat_items(self: Array, repeats: int, dim: int | None = None, *, output_size: int | None = None) -> Any:
    if (
        repeats < 1
        or output_size is not None
        or not is_row_major(self)
        or self.ndim == 0
        or (dim is None and self.ndim > 1)
    ):
        return NotImplemented
    return self.repeat(repeats, dim or 0)


def _hstack(tensors: Sequence[Array]) -> Any:
    grown = _grow(tensors, 1)
    return JOINING["cat"](grown, 1 if grown[0].ndim > 1 else 0)


def _vstack(tensors: Sequence[Array]) -> Any:
    return JOINING["cat"](_grow(tensors, 2), 0)


def _tile(self: Array, dims: Sequence[int]) -> Any:
    return JOINING["repeat"](self, (*[1] * (self.ndim - len(dims)), *dims))


def _same(name: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return the way of an operator that is another one under another name."""
    return {**VIEWS, **JOINING}[name], {"parts": (name,), "to": name}


def _fits(self: Array, size: Sequence[int]) -> bool:
    """Return whether an array without gaps can be viewed in a size."""
    if not self.flags.c_contiguous:
        return False
    least = min(size, default=1)
    if least > 0:
        return prod(size) == self.size
    return least == -1 and size.count(-1) == 1 and 0 not in size and self.size % -prod(size) == 0


def _reshape_size(self: Array, shape: Sequence[int]) -> Any:
    return (shape,) if _fits(self, shape) else NotImplemented


def _flatten_size(self: Array, start_dim: int = 0, end_dim: int = -1) -> Any:
    size = _flat_size(self, start_dim, end_dim)
    return (size,) if size is not NotImplemented and self.flags.c_contiguous else NotImplemented


def _unflatten_size(self: Array, dim: int, sizes: Sequence[int]) -> Any:
    size = _unflat_size(self, dim, sizes)
    return (size,) if size is not NotImplemented and _fits(self, size) else NotImplemented


def _ravel_size(self: Array) -> Any:
    return ((-1,),) if self.size and self.flags.c_contiguous else NotImplemented


def _tile_repeats(self: Array, dims: Sequence[int]) -> Any:
    return ((*[1] * (self.ndim - len(dims)), *dims),)


def _pad_value(self: Array, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    fits = mode == "constant" and len(pad) <= 2 * self.ndim and not len(pad) % 2 and min(pad, default=0) >= 0
    return (pad, 0.0 if value is None else value) if fits else NotImplemented


def _to(target: str, arguments: Callable[..., Any], *between: str) -> dict[str, Any]:
    """Return the options of a way that leads to ``target``; ``between`` are composites that come to it, too."""
    return {"parts": (target, *between), "to": target, "arguments": arguments}


def _shape_of_other(self: Array, other: Array) -> Any:
    return (other.shape,)


#: In-place view → the view that the tensor becomes, by the same function.
_BECOMES: Final = {
    "squeeze_": "squeeze",
    "squeeze_.dim": "squeeze.dim",
    "t_": "t",
    "transpose_": "transpose.int",
    "unsqueeze_": "unsqueeze",
}


def _is_set_to(self: Array, tensor: Array) -> Any:
    if self is tensor:
        return True
    differ = self.shape != tensor.shape or self.strides != tensor.strides or not np.may_share_memory(self, tensor)
    return False if differ and self.size else NotImplemented


_CAT: Final = {"parts": ("cat", "reshape", "view")}
#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {
    "reshape": (view_row_major, _to("view", _reshape_size)),
    "flatten.using_ints": (_flatten, _to("view", _flatten_size, "reshape")),
    "unflatten.int": (_unflatten, _to("view", _unflatten_size)),
    "ravel": (_ravel, _to("view", _ravel_size)),
    "view_as": (_shape_of_other, _to("view", _shape_of_other)),
    "narrow": (_narrow, _to("slice.Tensor", _narrow_bounds)),
    "numpy_T": (_reverse_dims, _to("permute", _all_backwards)),
    "mT": (_transpose_last, _to("transpose.int", _last_two)),
    "movedim.int": (_move, _to("permute", _moved_order)),
    "movedim.intlist": (_move, _to("permute", _moved_order)),
    "moveaxis.int": (_move, _to("permute", _moved_order, "movedim.int")),
    "moveaxis.intlist": (_move, _to("permute", _moved_order, "movedim.intlist")),
    "swapaxes": _same("transpose.int"),
    "swapdims": _same("transpose.int"),
    "broadcast_to": _same("expand"),
    "chunk": (_chunk, _to("split.Tensor", _chunk_length)),
    "split.sizes": _same("split_with_sizes"),
    "tensor_split.sections": (_tensor_split, {"parts": ("slice.Tensor",)}),
    "tensor_split.indices": (_split_at, {"parts": ("slice.Tensor",)}),
    **{name: (VIEWS[view], {"parts": (view,)}) for name, view in _BECOMES.items()},
    "is_set_to": (_is_set_to, {"autograd": True}),
    "pad": (_pad, _to("constant_pad_nd", _pad_value, "_pad_enum")),
    "repeat_interleave.self_int": (_repeat_items, {"parts": ("unsqueeze", "expand", "clone", "_unsafe_view")}),
    "concat": _same("cat"),
    "concatenate": _same("cat"),
    "hstack": (_hstack, _CAT),
    "vstack": (_vstack, _CAT),
    "tile": (_tile, _to("repeat", _tile_repeats)),
}
