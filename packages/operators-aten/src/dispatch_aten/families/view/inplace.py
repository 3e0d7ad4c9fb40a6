"""In-place views: the tensor itself gets another shape, strides or storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, meta_of, overload
from dispatch_aten.errors import OperatorError
from dispatch_aten.placing import is_placed_apart
from dispatch_aten.shapes.meta import contiguous_strides, suggests_channels_last
from dispatch_core.frontends import become

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: A memory format, and that of images by their number of dimensions.
_PRESERVE: Final = 1
_CHANNELS_LAST: Final = {4: 2, 5: 3}


def _become(view: str) -> Callable[..., Array]:
    """Make the kernel that lets ``self`` hold a view of itself."""

    def kernel(self: Array, *args: Any) -> Array:
        return become(self, overload(view)(self, *args))

    return kernel


def _resize_as(self: Array, the_template: Array, *, memory_format: int | None = None) -> Array:
    shape = dc.shape(the_template)
    if memory_format == _PRESERVE:
        found = meta_of(the_template)
        memory_format = _CHANNELS_LAST[len(shape)] if suggests_channels_last(shape, found.strides) else 0
    return aten.resize_.default(self, shape, memory_format=memory_format)


def _set(self: Array, source: Array) -> Array:
    if dc.dtype(self) != dc.dtype(source):
        raise OperatorError(
            f"Could not set tensor of type {dc.dtype(source).name} to a tensor of type {dc.dtype(self).name}",
            operator="aten::set_",
            argument="source",
        )
    if dc.device(self).type != dc.device(source).type:
        raise OperatorError(
            f"Could not set tensor on {dc.device(self)} to storage on {dc.device(source)}",
            operator="aten::set_",
            argument="source",
        )
    if is_placed_apart(self, source):
        raise OperatorError(
            "Could not set a tensor to a storage that lies on other devices",
            operator="aten::set_",
            argument="source",
            hint="copy_ writes the numbers, and the tensor lies as it did",
        )
    return become(self, aten.alias.default(source))


def _is_set_to(self: Array, tensor: Array) -> bool:
    """Return whether two arrays are the same elements of the same memory."""
    layouts = [(dc.shape(each), dc.strides(each), dc.storage_offset(each)) for each in (self, tensor)]
    return layouts[0] == layouts[1] and bool(dc.storage_of(self) == dc.storage_of(tensor))


def _set_part(
    self: Array, source: Array, storage_offset: int, size: Sequence[int], stride: Sequence[int] = ()
) -> Array:
    steps = list(stride) or contiguous_strides(tuple(size))
    return _set(self, aten.as_strided.default(source, size, steps, storage_offset))


def _set_empty(self: Array) -> Array:
    return dc.rebind(self, aten.new_empty.default(self, (0,)))


def _swap(self: Array, *dims: int) -> Array:
    return aten.transpose_.default(self, *dims)
