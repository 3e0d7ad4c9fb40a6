"""Pointwise operators whose optional arguments decide which function is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_aten.shapes import cached_rule

from ..aclnn.checks import to_device
from ..aclnn.launch import allocate_result, launch
from ..arrays import AclArray

_clamp_rule: Final = cached_rule("clamp")
_clamp_tensor_rule: Final = cached_rule("clamp.Tensor")


def _clamp(self: AclArray, min: Any = None, max: Any = None) -> AclArray:  # torch's names
    array = allocate_result(_clamp_rule(self, min, max))
    if max is None:
        launch("aclnnClampMin", self, min, array)
    elif min is None:
        launch("aclnnClampMax", self, max, array)
    else:
        launch("aclnnClamp", self, min, max, array)
    return array


def _clamp_tensor(self: AclArray, min: Any = None, max: Any = None) -> AclArray:  # torch's names
    self, min, max = map(to_device, (self, min, max))  # torch's names
    array = allocate_result(_clamp_tensor_rule(self, min, max))
    if max is None:
        launch("aclnnClampMinTensor", self, min, array)
    elif min is None:
        launch("aclnnClampMaxTensor", self, max, array)
    else:
        launch("aclnnClampTensor", self, min, max, array)
    return array


KERNELS: Final[dict[str, Callable[..., Any]]] = {"clamp": _clamp, "clamp.Tensor": _clamp_tensor}
