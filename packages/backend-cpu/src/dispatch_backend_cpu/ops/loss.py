"""The softmax family and losses with their backward operators."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import DimensionError, OperatorError
from dispatch_aten.shapes import wrap_dim

from ..arrays import Array
from ..kernel_table import Kernel, KernelTable
from ..output_specs import OutputSpec, half_as_float
from .constants import number
from .reduce_ufuncs import MAX, SUM
from .rule_kernels import cast, make_kernel

KERNELS: Final = KernelTable()

_MEAN, _SUM = 1, 2


def _widen(a: Array, spec: OutputSpec) -> Array:
    """Return the input in the dtype to compute in, with at least one dimension."""
    return np.atleast_1d(cast(a, half_as_float(spec.array_dtype)))


def _softmax(spec: OutputSpec, self: Array, dim: int, half_to_float: bool) -> Any:
    a = _widen(self, spec)
    axis = wrap_dim(dim, self.ndim)
    if not a.size:
        return a
    powers = np.exp(a - MAX(a, axis, None, None, True))
    powers /= SUM(powers, axis, None, None, True)
    return powers


def _log_softmax(spec: OutputSpec, self: Array, dim: int, half_to_float: bool) -> Any:
    a = _widen(self, spec)
    axis = wrap_dim(dim, self.ndim)
    if not a.size:
        return a
    shifted = a - MAX(a, axis, None, None, True)
    shifted -= np.log(SUM(np.exp(shifted), axis, None, None, True))
    return shifted


def _softmax_backward(spec: OutputSpec, grad: Array, output: Array, dim: int, input_dtype: ScalarType) -> Any:
    axis = wrap_dim(dim, grad.ndim)
    output = _widen(output, spec)
    weighted = _widen(grad, spec) * output
    return weighted - output * SUM(weighted, axis, None, None, True)


def _log_softmax_backward(spec: OutputSpec, grad: Array, output: Array, dim: int, input_dtype: ScalarType) -> Any:
    axis = wrap_dim(dim, grad.ndim)
    grad = _widen(grad, spec)
    return grad - np.exp(_widen(output, spec)) * SUM(grad, axis, None, None, True)


def _select_targets(classes: int, target: Array, ignore_index: int) -> tuple[Array, Array]:
    """Return the targets and which of them count.

    Raises ``DimensionError`` for a target that is not a class.
    """
    counts = target != ignore_index
    wrong = counts & ((target < 0) | (target >= classes))
    if wrong.any():
        raise DimensionError(f"Target {target[wrong][0]} is out of bounds.", argument="target")
    return np.where(counts, target, 0), counts


def _nll_loss_forward(
    spec: Any, self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> Any:
    dtype = self.dtype
    rows = np.atleast_2d(cast(self, half_as_float(dtype)))
    chosen, counts = _select_targets(rows.shape[1], np.atleast_1d(target), ignore_index)
    each = np.ones((), rows.dtype) if weight is None else cast(weight, rows.dtype)[chosen]
    weights = np.where(counts, each, number(0, rows))
    losses = np.where(counts, -rows[np.arange(len(rows)), chosen], number(0, rows)) * weights
    if reduction not in (_MEAN, _SUM) and self.ndim == 2:
        return losses, np.zeros((), dtype)
    total = SUM(weights)
    loss = SUM(losses)
    return (loss / total if reduction == _MEAN else loss), total


def _nll_loss_backward(
    spec: OutputSpec,
    grad: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Any:
    dtype = half_as_float(self.dtype)
    rows = np.zeros(self.shape if self.ndim == 2 else (1, *self.shape), dtype)
    chosen, counts = _select_targets(rows.shape[1], np.atleast_1d(target), ignore_index)
    slope = -cast(grad, dtype)
    if reduction == _MEAN:
        slope = slope / cast(total_weight, dtype)
    if weight is not None:
        slope = slope * cast(weight, dtype)[chosen]
    rows[np.arange(len(rows)), chosen] = np.where(counts, slope, np.zeros((), dtype))
    return rows if self.ndim == 2 else rows[0]


def _reduce(losses: Array, reduction: int) -> Any:
    if reduction == _MEAN:
        return SUM(losses, None) / losses.dtype.type(losses.size)
    return SUM(losses, None) if reduction == _SUM else losses


def _mse_loss(spec: OutputSpec, self: Array, target: Array, reduction: int = _MEAN) -> Any:
    dtype = half_as_float(spec.array_dtype)
    difference = cast(self, dtype) - cast(target, dtype)
    return _reduce(difference * difference, reduction)


def _mse_loss_backward(spec: OutputSpec, grad: Array, self: Array, target: Array, reduction: int) -> Any:
    dtype = half_as_float(spec.array_dtype)
    difference = cast(self, dtype) - cast(target, dtype)
    factor = number(2.0 / max(difference.size, 1) if reduction == _MEAN else 2.0, difference)
    return factor * difference * cast(grad, dtype)


def _binary_cross_entropy(
    spec: OutputSpec, self: Array, target: Array, weight: Array | None = None, reduction: int = _MEAN
) -> Any:
    dtype = half_as_float(self.dtype)
    chance, target = cast(self, dtype), cast(target, dtype)
    if not ((chance >= 0) & (chance <= 1)).all():
        raise OperatorError("all elements of input should be between 0 and 1", argument="self")
    one, bound = dtype.type(1), dtype.type(-100)
    hit, miss = np.maximum(np.log(chance), bound), np.maximum(np.log1p(-chance), bound)
    losses = (target - one) * miss - target * hit
    return _reduce(losses if weight is None else losses * cast(weight, dtype), reduction)


_COMPUTE: Final[dict[str, Kernel]] = {
    "_softmax": _softmax,
    "_log_softmax": _log_softmax,
    "_softmax_backward_data": _softmax_backward,
    "_log_softmax_backward_data": _log_softmax_backward,
    "nll_loss_forward": _nll_loss_forward,
    "nll_loss_backward": _nll_loss_backward,
    "binary_cross_entropy": _binary_cross_entropy,
    "mse_loss": _mse_loss,
    "mse_loss_backward": _mse_loss_backward,
}
KERNELS.update({name: make_kernel(name, compute) for name, compute in _COMPUTE.items()})
