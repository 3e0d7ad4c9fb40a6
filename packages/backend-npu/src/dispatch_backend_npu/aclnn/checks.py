"""Checks of arrays that are written to, and the way of arguments to the device."""

from __future__ import annotations

from typing import Any, Final

from dispatch_aten.errors import OperatorError
from dispatch_aten.shapes import HasSpec, TensorMeta, is_non_overlapping_and_dense, same_places, storage_extent

from .. import arrays

_CLONE: Final = "Please clone() the tensor before performing the operation."


def to_device(value: Any) -> Any:
    """Copy a cpu tensor without dimensions, which represents a number, to the device; return other arguments as they are."""
    if isinstance(value, (list, tuple)):
        return [to_device(item) for item in value]
    if isinstance(value, HasSpec) or not hasattr(value, "__array_interface__"):
        return value
    return arrays.from_numpy(value)


def check_overlap(written: arrays.AclArray, read: arrays.AclArray) -> None:
    """Raise ``OperatorError`` where two dense arrays of one block share some of their elements, but not all in order.

    Arrays that are the same view, or lie apart, pass (source: torch's iterator).
    """
    ours, theirs = written.spec, read.spec
    begins, ends = written.storage_offset, written.storage_offset + storage_extent(ours.shape, ours.strides)
    other = read.storage_offset
    if other >= ends or begins >= other + storage_extent(theirs.shape, theirs.strides):
        return
    if begins == other and (ours is theirs or same_places(ours.shape, ours.strides, theirs.shape, theirs.strides)):
        return
    if _is_dense(ours) and _is_dense(theirs):
        raise OperatorError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
            "location. " + _CLONE,
            argument="self",
        )


def _is_dense(spec: TensorMeta) -> bool:
    return is_non_overlapping_and_dense(spec.shape, spec.strides)
