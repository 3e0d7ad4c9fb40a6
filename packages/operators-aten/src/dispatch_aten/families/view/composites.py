"""Views in terms of a few of them, and the decisions whether to view or to copy.

Note [Views of arrays without strides]
    An array that has no strides, and cannot be written, is never a view: it is row-major and has memory of its own.
    torch's views of it are arrays that functions make: the ``prims`` (`functional`). The frontend still knows
    the tensor as a view, and how it was made; a write through it makes the base, and all of its views, again.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, has_views, meta_of, ndim
from dispatch_aten.errors import AtenError, OperatorError
from dispatch_aten.families.view.functional import functional_view
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_aten.shapes.meta import TensorMeta, is_contiguous
from dispatch_aten.shapes.sizes import infer_size, view_strides
from dispatch_core.frontends import find_layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _reshape(self: Array, shape: Sequence[int]) -> Array:
    size, is_view = _find_reshape(dc.shape(self), dc.strides(self), tuple(shape))
    if is_view:
        return aten.view.default(self, size)
    return aten._unsafe_view.default(aten.clone.default(self, memory_format=0), size)


@lru_cache(1024)
def _find_reshape(have: Any, strides: Any, wanted: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """Return the size that a tensor gets, and whether its memory can be seen so."""
    try:
        size = infer_size(wanted, prod(have))
    except AtenError as error:
        error.argument = "shape"
        raise error.at("aten::reshape") from None
    return size, view_strides(have, strides, size) is not None


def _flatten(self: Array, start_dim: int = 0, end_dim: int = -1) -> Array:
    shape = dc.shape(self)
    count = len(shape)
    start, end = start_dim % (count or 1), end_dim % (count or 1)
    if not (count and -count <= start_dim < count and -count <= end_dim < count and start <= end):
        RULES["flatten.using_ints"](meta_of(self), start_dim, end_dim)  # raises, but where there are no dimensions
        return aten.reshape.default(self, (1,))
    if start == end:
        return self
    return aten.reshape.default(self, (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


def _unflatten(self: Array, dim: int, sizes: Sequence[int]) -> Array:
    wanted: TensorMeta = RULES["unflatten.int"](meta_of(self), dim, sizes)
    return aten.view.default(self, wanted.shape)


def _narrow(self: Array, dim: int, start: int, length: int) -> Array:
    shape = dc.shape(self)
    if -len(shape) <= dim < len(shape):
        begin = start + shape[dim] if start < 0 else start
        if 0 <= begin <= begin + length <= shape[dim]:
            return aten.slice.Tensor(self, dim, begin, begin + length, 1)
    meta: TensorMeta = RULES["narrow"](meta_of(self), dim, start, length)  # raises, as far as is known
    return aten.slice.Tensor(self, dim, start, start + meta.shape[dim], 1)


def _narrow_tensor(self: Array, dim: int, start: Array, length: int) -> Array:
    if dc.shape(start) or not dc.dtype(start).is_integral:
        raise OperatorError("start must be an 0-dim integral Tensor.", operator="aten::narrow.Tensor", argument="start")
    return _narrow(self, dim, aten.item.default(start), length)


def _chunk(self: Array, chunks: int, dim: int = 0) -> list[Array]:
    shape = dc.shape(self)
    if chunks < 1 or not -len(shape) <= dim < len(shape) or not shape[dim]:
        RULES["chunk"](meta_of(self), chunks, dim)  # raises, but for a few pieces of nothing
    length = (shape[dim] + chunks - 1) // chunks
    if length == 0:
        return list(aten.split_with_sizes.default(self, [0] * chunks, dim))
    return list(aten.split.Tensor(self, length, dim))


def _tensor_split_indices(self: Array, indices: Sequence[int], dim: int = 0) -> list[Array]:
    RULES["tensor_split.indices"](meta_of(self), indices, dim)
    ends = [*indices, dc.shape(self)[dim]]
    return [aten.slice.Tensor(self, dim, a, b) for a, b in zip([0, *indices], ends, strict=True)]


def _movedim(self: Array, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    RULES["movedim.intlist"](meta_of(self), source, destination)
    count = ndim(self)
    if not count:
        return aten.alias.default(self)
    sources = [source] if isinstance(source, int) else source
    targets = [destination] if isinstance(destination, int) else destination
    taken = {wrap_dim(to, count): wrap_dim(dim, count) for dim, to in zip(sources, targets, strict=True)}
    rest = iter(dim for dim in range(count) if dim not in taken.values())
    return aten.permute.default(self, [taken[dim] if dim in taken else next(rest) for dim in range(count)])


def _ravel(self: Array) -> Array:
    if is_contiguous(dc.shape(self), dc.strides(self)):
        return aten.view.default(self, (-1,))
    return aten.reshape.default(aten.clone.default(self, memory_format=0), (-1,))


def _apply_rule(name: str) -> Callable[..., Array]:
    """Make the kernel of a view from its shape rule and ``as_strided``; see Note [Views of arrays without strides]."""

    def kernel(self: Array, *args: Any, **kwargs: Any) -> Array:
        meta: TensorMeta = RULES[name](meta_of(self), *args, **kwargs)
        if has_views(self):
            return aten.as_strided.default(self, meta.shape, meta.strides, meta.storage_offset)
        return functional_view(name, self, meta, args)

    return kernel


def _as_strided(self: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Array:
    meta: TensorMeta = RULES["as_strided"](meta_of(self), size, stride, storage_offset)
    if (layout := find_layout(self)) is not None:
        raise dc.NoKernelError(
            f"aten::as_strided, of which the view is made: no kernel for tensors of {layout!r}",
            hint=layout.hint or "register a kernel of the view, or a fallback, for the layout",
        )
    if has_views(self):
        raise dc.NoKernelError(f"aten::as_strided: no kernel for device {dc.device(self)}, whose arrays have views")
    return functional_view("as_strided", self, meta, ())


def _split(name: str) -> Callable[..., list[Array]]:
    """Make the kernel of a view that cuts a dimension into adjacent pieces, of the lengths that its shape rule finds."""

    def kernel(self: Array, lengths: int | Sequence[int], dim: int = 0) -> list[Array]:
        start, pieces = 0, []
        for part in RULES[name](meta_of(self), lengths, dim):
            stop = start + part.shape[dim]
            pieces.append(aten.slice.Tensor(self, dim, start, stop))
            start = stop
        return pieces

    return kernel


def _unbind(self: Array, dim: int = 0) -> list[Array]:
    RULES["unbind.int"](meta_of(self), dim)
    return [aten.select.int(self, dim, index) for index in range(dc.shape(self)[dim])]


def _turn_matrices(self: Array) -> Array:
    if ndim(self) == 1:
        raise OperatorError(
            "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.",
            operator="aten::mT",
            argument="self",
        )
    return aten.transpose.int(self, -2, -1) if ndim(self) else self


def _positive(self: Array) -> Array:
    RULES["positive"](meta_of(self))
    return self
