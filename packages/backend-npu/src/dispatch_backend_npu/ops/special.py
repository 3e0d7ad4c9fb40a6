"""Pointwise operators with an argument that decides which function is called, or that is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_aten.shapes import cached_rule

from ..aclnn.checks import to_device
from ..aclnn.launch import allocate_result, launch
from ..arrays import AclArray

__all__ = ["KERNELS"]

_clamped: Final = cached_rule("clamp")
_clamped_by: Final = cached_rule("clamp.Tensor")


def _clamp(self: AclArray, min: Any = None, max: Any = None) -> AclArray:  # torch's names
    array = allocate_result(_clamped(self, min, max))
    if max is None:
        launch("aclnnClampMin", self, min, array)
    elif min is None:
        launch("aclnnClampMax", self, max, array)
    else:
        launch("aclnnClamp", self, min, max, array)
    return array


def _clamp_by(self: AclArray, min: Any = None, max: Any = None) -> AclArray:  # torch's names
    self, min, max = map(to_device, (self, min, max))  # torch's names
    array = allocate_result(_clamped_by(self, min, max))
    if max is None:
        launch("aclnnClampMinTensor", self, min, array)
    elif min is None:
        launch("aclnnClampMaxTensor", self, max, array)
    else:
        launch("aclnnClampTensor", self, min, max, array)
    return array


KERNELS: Final[dict[str, Callable[..., Any]]] = {"clamp": _clamp, "clamp.Tensor": _clamp_by}
