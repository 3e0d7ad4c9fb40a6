"""Softmax and loss functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, meta_of, ndim, numel, subtract
from dispatch_aten.dtypes import ScalarType, int64
from dispatch_aten.errors import ArgumentValueError, DtypeError, OperatorError, ShapeError
from dispatch_aten.shapes import RULES

if TYPE_CHECKING:
    from collections.abc import Callable

_NONE, _MEAN, _SUM = 0, 1, 2


def _with_dtype(name: str) -> Callable[..., Array]:
    def kernel(self: Array, dim: int, dtype: ScalarType | None = None) -> Array:
        found = self if dtype is None else cast(self, dtype)
        return getattr(aten, name).default(found, dim, False)

    return kernel


def _softmax(self: Array, dim: int, half_to_float: bool) -> Array:
    RULES["_softmax"](meta_of(self), dim, half_to_float)
    if not numel(self):
        return aten.clone.default(self, memory_format=0)
    shifted = aten.exp.default(aten.sub.Tensor(self, aten.amax.default(self, [dim], True)))
    return aten.contiguous.default(aten.div.Tensor(shifted, aten.sum.dim_IntList(shifted, [dim], True)))


def _log_softmax(self: Array, dim: int, half_to_float: bool) -> Array:
    RULES["_log_softmax"](meta_of(self), dim, half_to_float)
    if not numel(self):
        return aten.clone.default(self, memory_format=0)
    shifted = aten.sub.Tensor(self, aten.amax.default(self, [dim], True))
    total = aten.log.default(aten.sum.dim_IntList(aten.exp.default(shifted), [dim], True))
    return aten.contiguous.default(aten.sub.Tensor(shifted, total))


def _softmax_backward(grad_output: Array, output: Array, dim: int, input_dtype: ScalarType) -> Array:
    weighted = aten.mul.Tensor(grad_output, output)
    total = aten.sum.dim_IntList(weighted, [dim], True)
    return cast(aten.sub.Tensor(weighted, aten.mul.Tensor(output, total)), input_dtype)


def _log_softmax_backward(grad_output: Array, output: Array, dim: int, input_dtype: ScalarType) -> Array:
    total = aten.sum.dim_IntList(grad_output, [dim], True)
    return cast(aten.sub.Tensor(grad_output, aten.mul.Tensor(aten.exp.default(output), total)), input_dtype)


def _select_targets(
    self: Array, target: Array, weight: Array | None, ignore_index: int
) -> tuple[Array, Array, Array, Array]:
    """Return input rows, safe targets, the weight of each row, zero where its target is to be ignored, and where it is."""
    rows = self if ndim(self) == 2 else aten.unsqueeze.default(self, 0)
    target = cast(aten.reshape.default(target, (-1,)), int64)
    ignored = aten.eq.Scalar(target, ignore_index)
    safe = aten.masked_fill.Scalar(target, ignored, 0)
    each = aten.new_ones.default(rows, dc.shape(safe)) if weight is None else aten.index_select.default(weight, 0, safe)
    return rows, safe, aten.masked_fill.Scalar(each, ignored, 0), ignored


def _nll_loss_forward(
    self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    RULES["nll_loss_forward"](
        meta_of(self), meta_of(target), None if weight is None else meta_of(weight), reduction, ignore_index
    )
    rows, safe, each, ignored = _select_targets(self, target, weight, ignore_index)
    chosen = aten.squeeze.dim(aten.gather.default(rows, 1, aten.unsqueeze.default(safe, 1)), 1)
    loss = aten.where.ScalarSelf(ignored, 0, aten.neg.default(aten.mul.Tensor(chosen, each)))
    if reduction == _NONE and ndim(self) == 2:
        return loss, aten.new_zeros.default(self, ())
    total = aten.sum.default(each)
    if reduction == _NONE:
        return aten.squeeze.dim(loss, 0), total
    summed = aten.sum.default(loss)
    return (aten.div.Tensor(summed, total) if reduction == _MEAN else summed), total


def _nll_loss_backward(
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Array:
    rows, safe, each, ignored = _select_targets(self, target, weight, ignore_index)
    scale = aten.neg.default(each)
    grad = aten.div.Tensor(grad_output, total_weight) if reduction == _MEAN else grad_output
    scale = aten.mul.Tensor(scale, aten.reshape.default(grad, (-1,)) if reduction == _NONE else grad)
    scale = aten.where.ScalarSelf(ignored, 0, scale)
    index = aten.unsqueeze.default(safe, 1)
    zeros = aten.new_zeros.default(self, dc.shape(rows))
    result = aten.scatter.src(zeros, 1, index, aten.unsqueeze.default(scale, 1))
    return aten.reshape.default(result, dc.shape(self))


def _nll_loss_nd(
    self: Array, target: Array, weight: Array | None = None, reduction: int = _MEAN, ignore_index: int = -100
) -> Array:
    shape, wanted = dc.shape(self), dc.shape(target)
    if not shape:
        raise ShapeError("Expected 1 or more dimensions (got 0)", operator="aten::nll_loss_nd", argument="self")
    batch = wanted[0] if wanted else 1
    if len(shape) != 1 and shape[0] != batch:
        raise ArgumentValueError(
            f"Expected input batch_size ({shape[0]}) to match target batch_size ({batch}).",
            operator="aten::nll_loss_nd",
            argument="target",
        )
    if len(shape) <= 2:
        return aten.nll_loss.default(self, target, weight, reduction, ignore_index)
    if wanted != (shape[0], *shape[2:]):
        raise ShapeError(
            f"Expected target size {[shape[0], *shape[2:]]}, got {list(wanted)}",
            operator="aten::nll_loss_nd",
            argument="target",
        )
    if dc.dtype(target) != int64:
        raise OperatorError(
            f"expected scalar type Long but found {dc.dtype(target).name}",
            operator="aten::nll_loss_nd",
            argument="target",
        )
    # Classes last and all other dimensions in one: the loss of a picture is that of its pixels.
    rows = aten.reshape.default(aten.movedim.int(self, 1, -1), (-1, shape[1]))
    loss = aten.nll_loss.default(rows, aten.reshape.default(target, (-1,)), weight, reduction, ignore_index)
    return aten._unsafe_view.default(loss, wanted) if reduction == _NONE else loss


def _cross_entropy_loss(
    self: Array,
    target: Array,
    weight: Array | None = None,
    reduction: int = _MEAN,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Array:
    if not 0.0 <= label_smoothing <= 1.0:
        raise OperatorError(
            f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}",
            operator="aten::cross_entropy_loss",
            argument="label_smoothing",
        )
    class_dim = 0 if ndim(self) == 1 else 1
    if dc.shape(self) == dc.shape(target):
        if not dc.dtype(target).is_floating_point:
            raise DtypeError(
                f"Expected floating point type for target with class probabilities, got {dc.dtype(target).name}",
                operator="aten::cross_entropy_loss",
                argument="target",
                hint=f"argmax({class_dim}) turns one-hot rows into class indices",
            )
        if ignore_index >= 0:
            raise OperatorError(
                "ignore_index is not supported for floating point target",
                operator="aten::cross_entropy_loss",
                argument="ignore_index",
            )
        return _cross_entropy_of_probabilities(self, target, weight, reduction, label_smoothing, class_dim)
    logs = aten.log_softmax.int(self, class_dim, None)
    loss = aten.nll_loss_nd.default(logs, target, weight, reduction, ignore_index)
    if label_smoothing == 0.0:
        return loss
    smooth = _smooth_loss(logs, target, weight, reduction, ignore_index, class_dim)
    share = label_smoothing / dc.shape(self)[class_dim]
    return aten.add.Tensor(aten.mul.Scalar(loss, 1 - label_smoothing), aten.mul.Scalar(smooth, share))


def _by_class(weight: Array, count: int, class_dim: int) -> Array:
    shape = [1] * count
    shape[class_dim] = -1
    return aten.view.default(weight, shape)


def _smooth_loss(
    logs: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int, class_dim: int
) -> Array:
    """Return the loss against a target that spreads evenly over the classes."""
    weighted = logs if weight is None else aten.mul.Tensor(logs, _by_class(weight, ndim(logs), class_dim))
    each = aten.neg.default(aten.sum.dim_IntList(weighted, [class_dim], False))
    ignored = aten.reshape.default(aten.eq.Scalar(target, ignore_index), dc.shape(each))
    each = aten.masked_fill.Scalar(each, ignored, 0)
    if reduction == _NONE:
        return each
    total = aten.sum.default(each)
    if reduction == _SUM:
        return total
    kept = aten.logical_not.default(ignored)
    if weight is None:
        return aten.div.Tensor(total, aten.sum.default(kept))
    safe = aten.masked_fill.Scalar(target, aten.eq.Scalar(target, ignore_index), 0)
    chosen = aten.reshape.default(
        aten.index_select.default(weight, 0, aten.reshape.default(safe, (-1,))), dc.shape(each)
    )
    return aten.div.Tensor(total, aten.sum.default(aten.mul.Tensor(chosen, kept)))


def _cross_entropy_of_probabilities(
    self: Array, target: Array, weight: Array | None, reduction: int, label_smoothing: float, class_dim: int
) -> Array:
    classes = dc.shape(self)[class_dim]
    if label_smoothing > 0.0 and classes:
        target = aten.add.Scalar(aten.mul.Scalar(target, 1 - label_smoothing), label_smoothing / classes)
    product = aten.mul.Tensor(aten.log_softmax.int(self, class_dim, None), target)
    if weight is not None:
        product = aten.mul.Tensor(product, _by_class(weight, ndim(self), class_dim))
    if reduction == _NONE:
        return aten.neg.default(aten.sum.dim_IntList(product, [class_dim], False))
    total = aten.neg.default(aten.sum.default(product))
    rows = numel(self) // classes if classes else 0
    return total if reduction == _SUM else aten.div.Scalar(total, rows)


def reduce(loss: Array, reduction: int) -> Array:
    """Return the losses themselves, their mean or their sum."""
    if reduction == _MEAN:
        return aten.mean.default(loss)
    return aten.sum.default(loss) if reduction == _SUM else loss


def _mse_loss(self: Array, target: Array, reduction: int = _MEAN) -> Array:
    RULES["mse_loss"](meta_of(self), meta_of(target), reduction)
    away = subtract(self, target)
    return reduce(aten.mul.Tensor(away, away), reduction)


def _mse_loss_backward(grad_output: Array, self: Array, target: Array, reduction: int) -> Array:
    RULES["mse_loss_backward"](meta_of(grad_output), meta_of(self), meta_of(target), reduction)
    away = subtract(self, target)
    factor = 2.0 / max(numel(away), 1) if reduction == _MEAN else 2.0
    return aten.mul.Tensor(aten.mul.Scalar(away, factor), grad_output)


def _binary_cross_entropy(self: Array, target: Array, weight: Array | None = None, reduction: int = _MEAN) -> Array:
    RULES["binary_cross_entropy"](
        meta_of(self), meta_of(target), None if weight is None else meta_of(weight), reduction
    )
    # Logarithms are bounded, so that a sure answer that is wrong has a finite loss.
    hit = aten.clamp_min.default(aten.log.default(self), -100)
    miss = aten.clamp_min.default(aten.log1p.default(aten.neg.default(self)), -100)
    loss = aten.sub.Tensor(aten.mul.Tensor(aten.sub.Scalar(target, 1), miss), aten.mul.Tensor(target, hit))
    return reduce(loss if weight is None else aten.mul.Tensor(loss, weight), reduction)


def _smooth_l1_loss(self: Array, target: Array, reduction: int = _MEAN, beta: float = 1.0) -> Array:
    RULES["smooth_l1_loss"](meta_of(self), meta_of(target), reduction, beta)
    size = aten.abs.default(subtract(self, target))
    if beta:
        curved = aten.mul.Scalar(aten.mul.Tensor(size, size), 0.5 / beta)
        size = aten.where.self(aten.lt.Scalar(size, beta), curved, aten.sub.Scalar(size, 0.5 * beta))
    return reduce(size, reduction)


def _smooth_l1_loss_backward(grad_output: Array, self: Array, target: Array, reduction: int, beta: float) -> Array:
    found = RULES["smooth_l1_loss_backward"](meta_of(grad_output), meta_of(self), meta_of(target), reduction, beta)
    # Truth values cannot be subtracted, and count here.
    away = aten.sub.Tensor(cast(self, found.dtype), cast(target, found.dtype))
    if reduction == _MEAN:
        grad_output = aten.div.Scalar(grad_output, max(numel(away), 1))
    steep = aten.mul.Tensor(aten.sign.default(away), grad_output)
    if beta > 0:
        near = aten.lt.Scalar(aten.abs.default(away), beta)
        steep = aten.where.self(near, aten.div.Scalar(aten.mul.Tensor(away, grad_output), beta), steep)
    return aten.contiguous.default(cast(steep, found.dtype))


def _huber_loss(self: Array, target: Array, reduction: int = _MEAN, delta: float = 1.0) -> Array:
    RULES["huber_loss"](meta_of(self), meta_of(target), reduction, delta)
    size = aten.abs.default(subtract(self, target))
    curved = aten.mul.Scalar(aten.mul.Tensor(size, size), 0.5)
    straight = aten.mul.Scalar(aten.sub.Scalar(size, 0.5 * delta), delta)
    loss = aten.where.self(aten.le.Scalar(size, delta), curved, straight)
    return reduce(cast(loss, dc.dtype(self)), reduction)


def _soft_margin_loss(self: Array, target: Array, reduction: int = _MEAN) -> Array:
    RULES["soft_margin_loss"](meta_of(self), meta_of(target), reduction)
    powers = aten.exp.default(aten.mul.Tensor(aten.neg.default(target), self))
    return reduce(cast(aten.log1p.default(powers), dc.dtype(self)), reduction)


def _kl_div(self: Array, target: Array, reduction: int = _MEAN, *, log_target: bool = False) -> Array:
    for name, each in (("input", self), ("target", target)):
        kind = dc.dtype(each)
        if kind.is_complex:
            raise OperatorError("kl_div: Complex inputs not supported.", operator="aten::kl_div", argument=name)
        if not kind.is_floating_point:
            raise OperatorError("kl_div: Integral inputs not supported.", operator="aten::kl_div", argument=name)
    if log_target:
        return reduce(aten.mul.Tensor(aten.exp.default(target), aten.sub.Tensor(target, self)), reduction)
    # The logarithm of a probability of 0 does not count.
    safe = aten.masked_fill.Scalar(target, aten.eq.Scalar(target, 0), 1)
    own = aten.mul.Tensor(target, aten.log.default(safe))
    return reduce(aten.sub.Tensor(own, aten.mul.Tensor(target, self)), reduction)


def _poisson_nll_loss(input: Array, target: Array, log_input: bool, full: bool, eps: float, reduction: int) -> Array:
    if log_input:
        loss = aten.sub.Tensor(aten.exp.default(input), aten.mul.Tensor(target, input))
    else:
        loss = aten.sub.Tensor(input, aten.mul.Tensor(target, aten.log.default(aten.add.Scalar(input, eps))))
    if full:
        # Stirling's approximation of the factorial, for targets above 1.
        grown = aten.sub.Tensor(aten.mul.Tensor(target, aten.log.default(target)), target)
        grown = aten.add.Tensor(grown, aten.mul.Scalar(aten.log.default(aten.mul.Scalar(target, 2 * math.pi)), 0.5))
        loss = aten.add.Tensor(loss, aten.masked_fill.Scalar(grown, aten.le.Scalar(target, 1), 0))
    return reduce(loss, reduction)


def _nll_loss2d(
    self: Array, target: Array, weight: Array | None = None, reduction: int = _MEAN, ignore_index: int = -100
) -> Array:
    shape, wanted = dc.shape(self), dc.shape(target)
    if len(wanted) != 3:
        raise ShapeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {len(wanted)}",
            operator="aten::nll_loss2d",
            argument="target",
        )
    if len(shape) != 4:
        raise ShapeError(
            f"only batches of spatial inputs supported (4D tensors), but got input of dimension: {len(shape)}",
            operator="aten::nll_loss2d",
            argument="self",
        )
    if (shape[0], *shape[2:]) != wanted:
        raise ShapeError(
            f"size mismatch (got input: {list(shape)} , target: {list(wanted)}",
            operator="aten::nll_loss2d",
            argument="target",
        )
    return _nll_loss_nd(self, target, weight, reduction, ignore_index)


def _bce_with_logits(
    self: Array,
    target: Array,
    weight: Array | None = None,
    pos_weight: Array | None = None,
    reduction: int = _MEAN,
) -> Array:
    RULES["binary_cross_entropy_with_logits"](
        *(None if each is None else meta_of(each) for each in (self, target, weight, pos_weight)), reduction
    )
    # log(1 + exp(-x)) without overflow on either side.
    below = aten.clamp_min.default(aten.neg.default(self), 0)
    soft = aten.add.Tensor(aten.log1p.default(aten.exp.default(aten.neg.default(aten.abs.default(self)))), below)
    if pos_weight is not None:
        factor = aten.add.Scalar(aten.mul.Tensor(aten.sub.Scalar(pos_weight, 1), target), 1)
        soft = aten.mul.Tensor(soft, factor)
    loss = aten.add.Tensor(aten.mul.Tensor(aten.rsub.Scalar(target, 1), self), soft)
    if weight is not None:
        loss = aten.mul.Tensor(loss, weight)
    return reduce(loss, reduction)
