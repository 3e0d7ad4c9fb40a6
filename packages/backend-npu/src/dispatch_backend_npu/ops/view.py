"""Views: the same block of memory, shown as the shape rules say. Nothing is called on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_aten.errors import OperatorError
from dispatch_aten.operators import ATEN
from dispatch_aten.shapes import TensorMeta, cached_rule

from ..arrays import AclArray, extent

__all__ = ["KERNELS"]

_new: Final = object.__new__


def _shown(found: TensorMeta, base: AclArray) -> AclArray:
    """Make the view that a rule describes; the rule counts its offset from where ``base`` begins."""
    offset = found.storage_offset
    array = _new(AclArray)
    array.block = base.block
    array.spec = found.at_start() if offset else found
    array.storage_offset = base.storage_offset + offset
    return array


def _view(found: Any, base: AclArray) -> Any:
    if found.__class__ is TensorMeta:
        return _shown(found, base)
    return [_shown(each, base) for each in found]


_strided: Final = cached_rule("as_strided")


def _as_strided(self: AclArray, size: Any, stride: Any, storage_offset: int | None = None) -> AclArray:
    """View the block itself: an offset that is given is counted from its start."""
    found = _strided(self, size, stride, storage_offset)
    array = _shown(found, self)
    if storage_offset is not None:
        array.storage_offset = storage_offset
    needed = (array.storage_offset + extent(array.spec)) * array.spec.dtype.itemsize
    if array.spec.numel and needed > self.block.nbytes:
        raise OperatorError(
            f"setStorage: sizes {list(array.shape)}, strides {list(array.strides)}, storage offset "
            f"{array.storage_offset}, and itemsize {array.dtype.itemsize} requiring a storage size of {needed} are out of "
            f"bounds for storage of size {self.block.nbytes}",
            argument="size",
        )
    return array


_NAMES: Final = """
view expand squeeze squeeze.dim squeeze.dims unsqueeze split.Tensor split_with_sizes unbind.int diagonal alias detach t
transpose.int permute select.int slice.Tensor _unsafe_view
"""
KERNELS: Final[dict[str, Callable[..., Any]]] = {name: cached_rule(name, _view) for name in _NAMES.split()}
KERNELS["as_strided"] = _as_strided
assert {operator.name for operator in ATEN} >= KERNELS.keys()
