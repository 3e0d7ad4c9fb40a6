"""Copies and conversions, between dtypes and between devices."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten import host
from dispatch_aten.decompositions._shared import Array, aten, cast, copy_into, meta_of, missing_functional, numel
from dispatch_aten.decompositions._writes import scatter_into
from dispatch_aten.errors import MetaDataError, OperatorError
from dispatch_aten.families.factory.shapes import with_memory_format
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.meta import is_channels_last, is_contiguous, suggests_channels_last
from dispatch_core.frontends import PLACING, materialize_value, recording, to_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch_aten.dtypes import ScalarType
    from dispatch_aten.shapes.meta import TensorMeta

_PRESERVE: Final = 1
prims: Final[Any] = dc.ops.prims


def _clone(self: Array, *, memory_format: int | None = None) -> Array:
    fresh = aten.empty_like.default(self, memory_format=_PRESERVE if memory_format is None else memory_format)
    return copy_into(fresh, self)


def _contiguous(self: Array, *, memory_format: int = 0) -> Array:
    layout = dc.shape(self), dc.strides(self)
    if is_channels_last(*layout) if memory_format in (2, 3) else is_contiguous(*layout):
        return self
    if memory_format == _PRESERVE:
        raise OperatorError(
            "preserve memory format is unsupported by the contiguous operator",
            operator="aten::contiguous",
            argument="memory_format",
        )
    return aten.clone.default(self, memory_format=memory_format)


def _copy(self: Array, src: Array, non_blocking: bool = False) -> Array:
    RULES["copy"](meta_of(self), meta_of(src))
    if not dc.is_mutable(self):
        raise missing_functional("copy", self)
    if dc.device(src) != dc.device(self):
        src = aten._to_copy.default(src, device=dc.device(self))
    return copy_into(aten.empty_like.default(self), src)


def _resize(self: Array, size: Sequence[int], *, memory_format: int | None = None) -> Array:
    """Resize ``self``: to a view where its storage has elements enough, else to one of a larger copy of the storage."""
    meta = RULES["resize_"](meta_of(self), size, memory_format=memory_format)
    if meta.shape == dc.shape(self) and memory_format is None:
        return self
    if not dc.is_mutable(self):
        return dc.rebind(self, _resize_copy(self, meta))
    offset = dc.storage_offset(self)
    view = _view_storage(self, meta.shape, meta.strides, offset)
    if view is None:
        needed = offset + meta.numel
        larger = aten.new_empty_strided.default(self, (needed,), (1,))
        held = bisect_left(range(needed), True, key=lambda count: _view_storage(self, (count + 1,), (1,), 0) is None)
        if held:
            aten.copy_.default(aten.slice.Tensor(larger, 0, 0, held), aten.as_strided.default(self, (held,), (1,), 0))
        view = aten.as_strided.default(larger, meta.shape, meta.strides, offset)
    return dc.rebind(self, view)


def _view_storage(self: Array, *layout: Any) -> Array | None:
    """Return a view of the storage, or None where it would reach beyond it."""
    try:
        return aten.as_strided.default(self, *layout)
    except OperatorError:
        return None


def _resize_copy(self: Array, meta: TensorMeta) -> Array:
    """Return an array of another size with the elements of one without a storage."""
    flat = aten.reshape.default(self, (-1,))
    if meta.numel <= numel(self) and (meta.is_contiguous or not dc.has_strides(self)):
        return aten.reshape.default(aten.slice.Tensor(flat, 0, 0, meta.numel), meta.shape)
    fresh = aten.new_empty_strided.default(self, meta.shape, meta.strides)
    kept = min(numel(self), meta.numel)
    if kept:
        in_order: tuple[Any, tuple[Any, ...]] = (aten.as_strided.default, ((numel(fresh),), (1,), 0))
        in_order = in_order if dc.has_strides(self) else (aten.view.default, ((-1,),))
        fresh = scatter_into(
            fresh, [in_order, (aten.slice.Tensor, (0, 0, kept, 1))], aten.slice.Tensor(flat, 0, 0, kept)
        )
    return fresh


def _to_copy(
    self: Array,
    *,
    dtype: ScalarType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = None,
    non_blocking: bool = False,
    memory_format: int | None = None,
) -> Array:
    target = None if device is None else dc.Device.parse(device)
    source = dc.device(self)
    if target is not None and not _same_device(source, target):
        return _to_device(self, source, target, dtype, memory_format)
    if dtype is None or dtype == dc.dtype(self):
        return aten.clone.default(self, memory_format=memory_format)
    fresh = aten.empty_like.default(self, dtype=dtype, memory_format=memory_format)
    return copy_into(fresh, self)


def _same_device(have: dc.Device, wanted: dc.Device) -> bool:
    if have.type != wanted.type or wanted.index in (None, have.index):
        return have.type == wanted.type
    # Without an index an array lies on the first device, or on several where that can be.
    several = have.index is None and PLACING[0] & dc.device_key(have.type).value
    return not several and (have.index or 0) == wanted.index


def _to_device(
    self: Array, source: dc.Device, target: dc.Device, dtype: ScalarType | None, memory_format: int | None
) -> Array:
    """Copy to another device through the host, or by a kernel that copies between devices of the type.

    A tensor without data goes nowhere but to meta.
    """
    if target.type == "meta":
        meta = with_memory_format(meta_of(self), dtype, memory_format)
        fresh = aten.empty_strided.default(meta.shape, meta.strides, dtype=meta.dtype, device=target)
        return dc.wrap_like(self, fresh)
    if source.type == "meta":
        raise MetaDataError("Cannot copy out of meta tensor; no data!", operator="aten::_to_copy", argument="self")
    if source.type == target.type and _crosses(target):
        meta = with_memory_format(meta_of(self), None, memory_format)
        made = aten.empty_strided.default(meta.shape, meta.strides, dtype=meta.dtype, device=target)
        copy = aten.copy_.default(dc.wrap_like(self, made), self)
        return copy if dtype is None else cast(copy, dtype)
    if source.type == target.type and PLACING[0] & dc.device_key(target.type).value and recording() is None:
        moved = prims.device_put.default(materialize_value(to_data(self)), device=target)
        made = dc.wrap_like(self, moved)
        return made if dtype is None else cast(made, dtype)
    array = host.get(self)
    if target.type == "cpu" and not array.flags.writeable:
        array = array.copy("K")  # it may show memory of the other device, and a tensor of the cpu can be written to
    if dc.has_strides(self):
        array = host.lay_out(array, with_memory_format(meta_of(self), None, memory_format).strides)
    moved = prims.device_put.default(array, device=target)
    result = dc.wrap_like(self, moved)
    return result if dtype is None else cast(result, dtype)


def _crosses(device: dc.Device) -> bool:
    """Return whether a device's kernel copies between the devices of its type; captured functions do not use it."""
    if recording() is not None:
        return False
    registrations = aten.copy_.default.registrations(dc.device_key(device.type))
    return bool(registrations) and registrations[0].traits.crosses_devices


def _to(
    self: Array,
    dtype: ScalarType | None,
    device: Any,
    non_blocking: bool,
    copy: bool,
    memory_format: int | None,
    **options: Any,
) -> Array:
    stays = (
        (dtype is None or dtype == dc.dtype(self))
        and (device is None or _same_device(dc.device(self), dc.Device.parse(device)))
        and (memory_format is None or memory_format in (_PRESERVE, _suggest_format(self)))
    )
    if stays and not copy:
        return self
    return aten._to_copy.default(
        self, dtype=dtype, device=device, non_blocking=non_blocking, memory_format=memory_format
    )


def _suggest_format(self: Array) -> int:
    """Return torch's memory format of an array, dense or not: 0 for rows, 2 and 3 for channels last."""
    meta = meta_of(self)
    return len(meta.shape) - 2 if suggests_channels_last(meta.shape, meta.strides) else 0


def _item(self: Array) -> Any:
    count = numel(self)
    if count != 1:
        raise OperatorError(
            f"a Tensor with {count} elements cannot be converted to Scalar", operator="aten::item", argument="self"
        )
    return aten._local_scalar_dense.default(self)


def _local_scalar_dense(self: Array) -> Any:
    if dc.device(self).type == "meta":
        raise MetaDataError(
            "Tensor.item() cannot be called on meta tensors", operator="aten::_local_scalar_dense", argument="self"
        )
    return host.get(self).flat[0].item()


def _is_nonzero(self: Array) -> bool:
    count = numel(self)
    if count != 1:
        which = "no values" if count == 0 else "more than one value"
        raise OperatorError(
            f"Boolean value of Tensor with {which} is ambiguous", operator="aten::is_nonzero", argument="self"
        )
    return bool(aten.item.default(self))
