"""Views: arrays in the same block of memory, as the shape rules describe them. Nothing is called on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_aten.shapes import TensorMeta, cached_rule, check_storage

from ..arrays import AclArray

_new: Final = object.__new__


def _to_view(spec: TensorMeta, base: AclArray) -> AclArray:
    """Make the view that a rule describes; the rule counts its offset from the beginning of ``base``."""
    offset = spec.storage_offset
    array = _new(AclArray)
    array.block = base.block
    array.spec = spec.at_start() if offset else spec
    begin = base.storage_offset
    if begin and base.spec.dtype is not spec.dtype:
        # It counts elements of the base's dtype.
        begin = begin * base.spec.dtype.itemsize // spec.dtype.itemsize
    array.storage_offset = begin + offset
    return array


def _to_views(specs: Any, base: AclArray) -> Any:
    if specs.__class__ is TensorMeta:
        return _to_view(specs, base)
    return [_to_view(each, base) for each in specs]


_as_strided_rule: Final = cached_rule("as_strided")


def _as_strided(self: AclArray, size: Any, stride: Any, storage_offset: int | None = None) -> AclArray:
    """View the block itself: an explicit offset counts from the beginning of the block."""
    spec = _as_strided_rule(self, size, stride, storage_offset)
    array = _to_view(spec, self)
    if storage_offset is not None:
        array.storage_offset = storage_offset
    meta = TensorMeta(array.shape, array.strides, array.dtype, array.storage_offset)
    check_storage(meta, self.block.nbytes // array.dtype.itemsize)
    return array


_NAMES: Final = """
view expand squeeze squeeze.dim squeeze.dims unsqueeze split.Tensor split_with_sizes unbind.int diagonal alias detach t
transpose.int permute select.int slice.Tensor _unsafe_view view_as_real view_as_complex view.dtype
"""
KERNELS: Final[dict[str, Callable[..., Any]]] = {name: cached_rule(name, _to_views) for name in _NAMES.split()}
KERNELS["as_strided"] = _as_strided
