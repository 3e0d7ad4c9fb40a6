"""The range of elements, followed by moving averages, and the scale and zero point of a range (source: ``torch.ao``)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatch_aten.dtypes import float32

from ..history.grad_mode import no_grad
from ..tensors.arrays import from_numpy
from ..tensors.tensor import Tensor
from .operator_functions import FUNCTIONS

__all__ = ["choose_parameters", "fused_moving_avg_obs_fake_quant"]

#: The smallest scale, which keeps one over the scale finite in 16 bits.
_SMALLEST = float(np.float32(6.1e-05))


def fused_moving_avg_obs_fake_quant(
    self: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor,
    running_max: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Tensor:
    """Follow the range of the elements, set scale and zero point by it, and round to the numbers that integers represent.

    The range, ``scale`` and ``zero_point`` are changed in place: one of each, or with ``per_row_fake_quant`` one for each
    channel, dimension 0. ``observer_on`` and ``fake_quant_on`` have one element, 0 for off. The gradient of an element is 1
    within the range. Raises ``RuntimeError`` for a dtype other than ``float32``, and for another ``ch_axis``.
    (source: ``torch.fused_moving_avg_obs_fake_quant``)

    >>> import torchlike
    >>> low, high, scale = torchlike.tensor([0.0]), torchlike.tensor([3.0]), torchlike.tensor([1.0])
    >>> zero_point, on = torchlike.tensor([0], dtype=torchlike.int32), torchlike.tensor([1])
    >>> x = torchlike.tensor([0.2, 1.6, 3.0])
    >>> torchlike.fused_moving_avg_obs_fake_quant(x, on, on, low, high, scale, zero_point, 0.1, 0, 3, -1)
    tensor([0., 2., 3.])
    """
    if not self.numel():
        return self.clone()
    if per_row_fake_quant and ch_axis != 0:
        raise RuntimeError("fused_moving_avg_obs_fake_quant: channels are followed along axis 0 alone")
    if self.dtype != float32:
        raise RuntimeError(f"expected scalar type Float but found {self.dtype.name}")
    with no_grad():
        if per_row_fake_quant and not running_min.numel():
            size = self.shape[:1]
            for each, start in (running_min, math.inf), (running_max, -math.inf):
                each.resize_(size).fill_(start)
            for each in scale, zero_point:
                each.resize_(size)
        if observer_on.item():
            _average(self.detach(), running_min, running_max, averaging_const, per_row_fake_quant)
        if not fake_quant_on.item():
            return self.clone()
        low, high = (each.detach().cpu().numpy().reshape(-1) for each in (running_min, running_max))
        with np.errstate(all="ignore"):
            found = choose_parameters(low, high, quant_min, quant_max, symmetric_quant)
        for each, new in zip((scale, zero_point), found, strict=True):
            each.copy_(from_numpy(new.reshape(tuple(each.shape))))
    limits = quant_min, quant_max
    if per_row_fake_quant:
        return FUNCTIONS["fake_quantize_per_channel_affine"](self, scale, zero_point, 0, *limits)
    return FUNCTIONS["fake_quantize_per_tensor_affine"](self, scale, zero_point, *limits)


def _average(self: Tensor, running_min: Tensor, running_max: Tensor, weight: float, per_row: bool) -> None:
    """Move the range towards that of the elements, or take theirs where there is none yet."""
    rows: Any = self.reshape(len(self), -1) if per_row else self.reshape(1, -1)
    for running, found in (running_min, rows.amin(1)), (running_max, rows.amax(1)):
        new = found.reshape(running.shape)
        running.copy_(_choose(running.isinf(), new, running + (new - running) * weight))


def choose_parameters(low: Any, high: Any, quant_min: int, quant_max: int, symmetric: bool) -> tuple[Any, Any]:
    """Return the scale (``float32``) and the zero point (``int32``) of the ranges from ``low`` to ``high``.

    All are arrays of one dimension, on the host: there are as few elements as channels. The zero point is rounded so that an
    integer represents 0 exactly; of a symmetric range it is in the middle.

    >>> choose_parameters(np.float32([-1.0]), np.float32([3.0]), 0, 255, False)
    (array([0.01568628], dtype=float32), array([64], dtype=int32))
    """
    steps, small = quant_max - quant_min, np.float32(_SMALLEST)
    if symmetric:
        least, most = -(steps // 2 + 1), steps // 2
        greatest = np.maximum(np.abs(low / least), np.abs(high / most))
        has_both = (low < 0) & (high > 0)
        low, high = np.where(has_both, greatest * least, low), np.where(has_both, greatest * most, high)
    low, high = np.minimum(low, 0), np.maximum(high, 0)
    exact = (high.astype(np.float64) - low) / steps
    exact = np.where((exact.astype(np.float32) == 0) | np.isinf(1 / exact.astype(np.float32)), 0.1, exact)
    is_small, factor = exact < _SMALLEST, small / exact.astype(np.float32)
    low, high = (
        np.where(is_small, np.where(other == 0, sign * small * steps, end * factor), end).astype(np.float64)
        for end, other, sign in ((low, high, -1), (high, low, 1))
    )
    exact = np.where(is_small, _SMALLEST, exact)
    low_is_nearer = abs(quant_min) - np.abs(low / exact) < abs(quant_max) - np.abs(high / exact)
    zero = np.where(low_is_nearer, quant_min - low / exact, quant_max - high / exact)
    if symmetric:
        zero = np.where((low < 0) & (high > 0), (quant_min + quant_max) / 2, zero)
    return exact.astype(np.float32), np.clip(np.rint(zero), quant_min, quant_max).astype(np.int32)


def _choose(condition: Any, one: Any, other: Any) -> Any:
    return FUNCTIONS["where"](condition, one, other)
