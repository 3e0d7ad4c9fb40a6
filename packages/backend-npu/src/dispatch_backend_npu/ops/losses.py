"""The negative log likelihood loss, whose weights aclnn requires."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_aten.shapes import cached_rule, contiguous

from ..aclnn.launch import allocate_result, launch
from ..arrays import AclArray

_forward_rule: Final = cached_rule("nll_loss_forward")
_backward_rule: Final = cached_rule("nll_loss_backward")


def _weights(self: AclArray, weight: AclArray | None) -> AclArray:
    """Return a weight for each class, ones by default."""
    if weight is not None:
        return weight
    classes = self.spec.shape[-1] if len(self.spec.shape) == 1 else self.spec.shape[1]
    ones = allocate_result(contiguous((classes,), self.spec.dtype))
    launch("aclnnInplaceOne", ones)
    return ones


def _forward(
    self: AclArray, target: AclArray, weight: AclArray | None, reduction: int, ignore_index: int
) -> tuple[AclArray, AclArray]:
    output, total = map(allocate_result, _forward_rule(self, target, weight, reduction, ignore_index))
    launch("aclnnNLLLoss", self, target, _weights(self, weight), reduction, ignore_index, output, total)
    if not reduction and len(self.spec.shape) > 1:
        # It is not used, and torch returns 0.
        launch("aclnnInplaceZero", total)
    return output, total


def _backward(
    grad_output: AclArray,
    self: AclArray,
    target: AclArray,
    weight: AclArray | None,
    reduction: int,
    ignore_index: int,
    total_weight: AclArray,
) -> AclArray:
    grad = allocate_result(_backward_rule(grad_output, self, target, weight, reduction, ignore_index, total_weight))
    weights = _weights(self, weight)
    launch("aclnnNLLLossBackward", grad_output, self, target, weights, reduction, ignore_index, total_weight, grad)
    return grad


KERNELS: Final[dict[str, Callable[..., Any]]] = {"nll_loss_forward": _forward, "nll_loss_backward": _backward}
