"""Deterministic algorithms for a part of a model, by torch's switch."""

from __future__ import annotations

import warnings
from typing import Any

import torchlike
from torchlike.autograd import Function

from ..refusals import refuse

__all__ = ["disable_deterministic_with_backward", "enable_deterministic_with_backward", "set_deterministic_level"]


class _Switch(Function):
    """Turns deterministic algorithms on or off where a tensor passes, and back where its gradient does."""

    @staticmethod
    def forward(ctx: Any, tensor: torchlike.Tensor, to: bool) -> torchlike.Tensor:
        ctx.to = to
        torchlike.use_deterministic_algorithms(to)
        return tensor

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        torchlike.use_deterministic_algorithms(not ctx.to)
        return grads[0], None


def enable_deterministic_with_backward(tensor: torchlike.Tensor) -> Any:
    """Return the tensor; from here on algorithms are deterministic, in backward up to here (source: ``torch_npu.npu``).

    >>> y = enable_deterministic_with_backward(torchlike.ones(1))
    >>> torchlike.are_deterministic_algorithms_enabled()
    True
    >>> y = disable_deterministic_with_backward(y)
    """
    return _Switch.apply(tensor, True)


def disable_deterministic_with_backward(tensor: torchlike.Tensor) -> Any:
    """Return the tensor; from here on algorithms may be others, in backward up to here (source: ``torch_npu.npu``).

    >>> y = disable_deterministic_with_backward(torchlike.ones(1))
    >>> torchlike.are_deterministic_algorithms_enabled()
    False
    """
    return _Switch.apply(tensor, False)


def set_deterministic_level(level: int) -> None:
    """Turn deterministic algorithms off (0) or on (1) by torch's switch, which it warns of (source: ``torch_npu.npu``).

    Raises ``NotServedError`` for higher levels, which are modes of the device's own.

    >>> set_deterministic_level(0)
    """
    if level not in (0, 1):
        refuse(
            f"set_deterministic_level({level})", "the device's modes beyond torch's switch are not set", "write 0 or 1"
        )
    if torchlike.are_deterministic_algorithms_enabled() is not bool(level):
        warnings.warn(
            f"set_deterministic_level({level}) calls torch.use_deterministic_algorithms({bool(level)})", stacklevel=2
        )
        torchlike.use_deterministic_algorithms(bool(level))
