"""Losses: each row's elements first, then each row's reduction; the sequences of all rows as one batch."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from dispatch_aten.errors import ShapeError

from .calls import Batch, BatchedCall, Rule, align, aten, shape_of
from .empty_batches import run_on_a_row

_NONE, _MEAN, _SUM = range(3)


def _reduce(tensor: Any, reduction: int) -> Any:
    """Return the mean or the sum of each row, or the elements."""
    if reduction == _NONE:
        return tensor
    rows = aten.reshape.default(tensor, (tensor.shape[0], prod(tensor.shape[1:])))
    return (aten.mean.dim if reduction == _MEAN else aten.sum.dim_IntList)(rows, [1])


def _elementwise_loss(call: BatchedCall) -> Any:
    rank = max(call.rank(name) for name in call.tensors())
    tensors = {name: align(Batch(call.with_batch(name)), rank) for name in call.tensors()}
    return _reduce(call.run(**tensors, reduction=_NONE), call["reduction"])


def _elementwise_backward(call: BatchedCall) -> Any:
    rank = max(call.rank(name) for name in call.tensors())
    found = call.run(**{name: align(call[name], rank) for name in call.tensors()}, reduction=_NONE)
    return aten.div.Scalar(found, prod(found.shape[1:])) if call["reduction"] == _MEAN else found


def _has_samples(call: BatchedCall) -> bool:
    return call.rank("self") > 1


def _join_samples(call: BatchedCall) -> tuple[Any, Any]:
    """Return the scores and the targets of all rows as those of one batch of samples."""
    own, target = call.with_batch("self"), call.with_batch("target")
    if not _has_samples(call):
        return own, target
    size, samples, classes = own.shape
    return aten.reshape.default(own, (size * samples, classes)), aten.reshape.default(target, (size * samples,))


def _weights(call: BatchedCall, dtype: Any) -> Any:
    """Return the weight of each target, 0 where it is ignored, by sample or, without samples, by row."""
    target = call.with_batch("target")
    kept = aten.ne.Scalar(target, call["ignore_index"])
    weight = call["weight"]
    if weight is None:
        return aten._to_copy.default(kept, dtype=dtype)
    classes = call.shape("self")[-1:]
    if shape_of(weight) != classes:
        raise ShapeError(
            f"weight tensor should be defined either for all {prod(classes)} classes or no classes but got weight tensor of "
            f"shape: {list(shape_of(weight))}",
            argument="weight",
        )
    places = aten.where.ScalarOther(kept, target, 0)
    if type(weight) is Batch:
        rows = places if _has_samples(call) else aten.unsqueeze.default(places, 1)
        found = aten.view.default(aten.gather.default(weight.tensor, 1, rows), target.shape)
    else:
        flat = aten.reshape.default(places, (prod(target.shape),))
        found = aten.view.default(aten.index_select.default(weight, 0, flat), target.shape)
    return aten.where.ScalarOther(kept, found, 0)


def _nll(call: BatchedCall) -> Any:
    own, target = _join_samples(call)
    shape = call.with_batch("target").shape
    weights = _weights(call, own.dtype)
    plain = call.run(self=own, target=target, weight=None, reduction=_NONE)[0]
    each = aten.mul.Tensor(aten.view.default(plain, shape), weights)
    # Where a class is ignored, a weight or a score that is not finite does not count either.
    kept = aten.ne.Scalar(call.with_batch("target"), call["ignore_index"])
    each = aten.where.ScalarOther(kept, each, 0)
    if call["reduction"] == _NONE:
        return each, aten.new_zeros.default(own, [call.size]) if _has_samples(call) else weights
    total = _reduce(weights, _SUM)
    summed = _reduce(each, _SUM)
    return (aten.div.Tensor(summed, total) if call["reduction"] == _MEAN else summed), total


def _nll_backward(call: BatchedCall) -> Any:
    own, target = _join_samples(call)
    shape = call.with_batch("target").shape
    grad = call.with_batch("grad_output")
    if call["reduction"] == _MEAN:
        grad = aten.div.Tensor(grad, call.with_batch("total_weight"))
    grad = aten.view.default(grad, (*grad.shape, *[1] * (len(shape) - len(grad.shape))))
    grad = aten.mul.Tensor(grad, _weights(call, own.dtype))
    grad = aten.where.ScalarOther(aten.ne.Scalar(call.with_batch("target"), call["ignore_index"]), grad, 0)
    found = call.run(
        grad_output=aten.reshape.default(grad, (own.shape[0],)),
        self=own,
        target=target,
        weight=None,
        reduction=_NONE,
        total_weight=aten.new_zeros.default(own, []),
    )
    return aten.view.default(found, (call.size, *call.shape("self")))


def _join_sequences(call: BatchedCall) -> dict[str, Any]:
    """Return the sequences of all rows as those of one batch: time first, then the rows' sequences one after another."""
    scores, targets = call.with_batch("log_probs"), call.with_batch("targets")
    size, steps, count, classes = scores.shape
    joined = aten.reshape.default(aten.transpose.int(scores, 0, 1), (steps, size * count, classes))
    # Targets of several lengths may lie one after another, in a vector.
    rest = [size * targets.shape[1], *targets.shape[2:]]
    return {
        "log_probs": joined,
        "targets": aten.reshape.default(targets, rest),
        "input_lengths": [*call["input_lengths"]] * size,
        "target_lengths": [*call["target_lengths"]] * size,
    }


def _split_rows(tensor: Any, size: int) -> Any:
    return aten.view.default(tensor, (size, tensor.shape[0] // size, *tensor.shape[1:]))


def _ctc(call: BatchedCall) -> Any:
    return tuple(_split_rows(each, call.size) for each in call.run(**_join_sequences(call)))


def _ctc_backward(call: BatchedCall) -> Any:
    names = ("grad", "neg_log_likelihood", "log_alpha")
    parts = {name: call.with_batch(name) for name in names}
    joined = {name: aten.reshape.default(each, (-1, *each.shape[2:])) for name, each in parts.items()}
    found = call.run(**_join_sequences(call), **joined)
    steps, every, classes = found.shape
    split = aten.view.default(found, (steps, call.size, every // call.size, classes))
    return aten.transpose.int(split, 0, 1)


_ELEMENTWISE: Final = """
    mse_loss smooth_l1_loss huber_loss soft_margin_loss binary_cross_entropy binary_cross_entropy_with_logits
"""

RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(_ELEMENTWISE.split(), _elementwise_loss),
    "mse_loss_backward": _elementwise_backward,
    "smooth_l1_loss_backward": _elementwise_backward,
    "_ctc_loss": run_on_a_row(_ctc),
    "_ctc_loss_backward": run_on_a_row(_ctc_backward),
    "nll_loss_forward": _nll,
    "nll_loss_backward": _nll_backward,
}
