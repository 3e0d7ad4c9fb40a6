"""Connectionist temporal classification (Graves et al., 2006): all ways to spread labels over the steps, in log space.

The labels of a target have blanks between and around them: ``2 * S + 1`` places. A step goes on at its place or to the next,
or past a blank between two labels that differ. All sequences of a batch are computed together, one step after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, arange_like, aten, cast, meta_of, ndim
from dispatch_aten.dtypes import bool_, int64
from dispatch_aten.errors import OperatorError
from dispatch_aten.families.recurrent.packed import read_sizes
from dispatch_aten.shapes import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

_LOWEST: Final = float("-inf")
#: Represents minus infinity where one is subtracted from another.
_LOW: Final = -1e30
_MEAN, _SUM = 1, 2


class _Lattice(NamedTuple):
    """The places of a batch of targets."""

    #: ``(N, L)``: the label of each place.
    labels: Array
    #: ``(N, L)``: zero where a step may come from the place before the last, minus infinity elsewhere.
    skips: Array
    #: ``(N, L)``: zero at the first places, and at the last ones, where a sequence may begin and end.
    first: Array
    last: Array
    #: ``(T, N, L)``: the logarithm of each place's probability at each step.
    emitted: Array
    #: ``(N, 1)``: the number of steps of each sequence.
    steps: Array


def _column(values: Sequence[int], like: Array) -> Array:
    """Return integers as a column."""
    made = [aten.new_full.default(like, (1,), value, dtype=int64) for value in values]
    return aten.stack.default(made, 0)


def _where_allowed(allowed: Array, like: Array) -> Array:
    zeros = aten.new_zeros.default(like, dc.shape(allowed))
    return aten.masked_fill.Scalar(zeros, aten.logical_not.default(allowed), _LOWEST)


def _pad_targets(targets: Array, lengths: Sequence[int], width: int) -> Array:
    """Return targets that stand one after the other as rows."""
    starts = [sum(lengths[:place]) for place in range(len(lengths))]
    places = aten.add.Tensor(_column(starts, targets), aten.unsqueeze.default(arange_like(targets, width), 0))
    return aten.take.default(targets, aten.clamp_max.default(places, max(sum(lengths) - 1, 0)))


def _build(
    log_probs: Array, targets: Array, input_lengths: Sequence[int], target_lengths: Sequence[int], blank: int
) -> _Lattice:
    steps, batch, _ = dc.shape(log_probs)
    width = max(target_lengths)
    places = 2 * width + 1
    targets = cast(targets, int64)
    if ndim(targets) == 1 and width:
        targets = _pad_targets(targets, target_lengths, width)
    elif width:
        targets = aten.slice.Tensor(targets, 1, 0, width)
    column = arange_like(log_probs, places)
    counts = _column(target_lengths, log_probs)
    ends = aten.mul.Scalar(counts, 2)
    blanks = aten.new_full.default(log_probs, (batch, places), blank, dtype=int64)
    labels, skips = blanks, _where_allowed(aten.new_zeros.default(blanks, (batch, places), dtype=bool_), log_probs)
    if width:
        # Labels beyond a target's end may be anything; blanks stand there instead.
        beyond = aten.ge.Tensor(aten.slice.Tensor(column, 0, 0, width), counts)
        targets = aten.masked_fill.Scalar(targets, beyond, blank)
        pairs = aten.stack.default([aten.slice.Tensor(blanks, 1, 0, width), targets], 2)
        flat = aten.reshape.default(pairs, (batch, 2 * width))
        labels = aten.cat.default([flat, aten.slice.Tensor(blanks, 1, 0, 1)], 1)
        before = aten.cat.default([aten.slice.Tensor(blanks, 1, 0, 2), aten.slice.Tensor(labels, 1, 0, places - 2)], 1)
        differs = aten.logical_and.default(aten.ne.Scalar(labels, blank), aten.ne.Tensor(labels, before))
        skips = _where_allowed(differs, log_probs)
    first = aten.logical_and.default(aten.le.Scalar(column, 1), aten.le.Tensor(column, ends))
    last = aten.logical_and.default(aten.le.Tensor(column, ends), aten.ge.Tensor(column, aten.sub.Scalar(ends, 1)))
    wide = aten.expand.default(aten.unsqueeze.default(labels, 0), (steps, batch, places))
    return _Lattice(
        labels,
        skips,
        _where_allowed(first, log_probs),
        _where_allowed(last, log_probs),
        aten.gather.default(log_probs, 2, wide),
        _column(input_lengths, log_probs),
    )


def _add_ways(ways: list[Array]) -> Array:
    """Return the logarithm of the sum of probabilities, which are given by their logarithms."""
    stacked = aten.stack.default(ways, 0)
    highest = aten.clamp_min.default(aten.amax.default(stacked, [0], False), _LOW)
    total = aten.sum.dim_IntList(aten.exp.default(aten.sub.Tensor(stacked, highest)), [0], False)
    return aten.add.Tensor(aten.log.default(total), highest)


def _shift(values: Array, by: int) -> Array:
    """Return the columns ``by`` places further right, or left, with minus infinity where there was none."""
    count = dc.shape(values)[1]
    gap = aten.new_full.default(values, (dc.shape(values)[0], min(abs(by), count)), _LOWEST)
    if by > 0:
        return aten.cat.default([gap, aten.slice.Tensor(values, 1, 0, max(count - by, 0))], 1)
    return aten.cat.default([aten.slice.Tensor(values, 1, min(-by, count), count), gap], 1)


def _run_forward(lattice: _Lattice) -> list[Array]:
    """Return for each step the logarithm of the probability of all ways to each place."""
    emitted = aten.unbind.int(lattice.emitted, 0)
    found = [aten.add.Tensor(lattice.first, emitted[0])]
    for each in emitted[1:]:
        at = found[-1]
        ways = [at, _shift(at, 1), aten.add.Tensor(_shift(at, 2), lattice.skips)]
        found.append(aten.add.Tensor(_add_ways(ways), each))
    return found


def _run_backward(lattice: _Lattice) -> list[Array]:
    """Return for each step the logarithm of the probability of all ways on from each place."""
    emitted = aten.unbind.int(lattice.emitted, 0)
    skips = _shift(lattice.skips, -2)
    found: list[Array] = []
    after = aten.new_full.default(lattice.skips, dc.shape(lattice.skips), _LOWEST)
    for step in reversed(range(len(emitted))):
        ways = [after, _shift(after, -1), aten.add.Tensor(_shift(after, -2), skips)]
        is_last = aten.eq.Scalar(lattice.steps, step + 1)
        after = aten.add.Tensor(aten.where.self(is_last, lattice.last, _add_ways(ways)), emitted[step])
        found.append(after)
    return found[::-1]


def ctc_loss_forward(
    log_probs: Array,
    targets: Array,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Array, Array]:
    """Return the losses, and the logarithms of the probabilities of the ways to every place."""
    RULES["_ctc_loss"](meta_of(log_probs), meta_of(targets), input_lengths, target_lengths, blank)
    steps, batch, _ = dc.shape(log_probs)
    lattice = _build(log_probs, targets, input_lengths, target_lengths, blank)
    if not steps:
        alphas = aten.new_empty.default(log_probs, (batch, 0, dc.shape(lattice.labels)[1]))
        ends = aten.new_full.default(log_probs, (batch,), _LOWEST)
    else:
        alphas = aten.stack.default(_run_forward(lattice), 1)
        at = aten.clamp_min.default(aten.sub.Scalar(lattice.steps, 1), 0)
        at = aten.expand.default(aten.unsqueeze.default(at, 2), (batch, 1, dc.shape(alphas)[2]))
        final = aten.add.Tensor(aten.squeeze.dim(aten.gather.default(alphas, 1, at), 1), lattice.last)
        ends = _add_ways(aten.unbind.int(final, 1))
    # No step is a way for no label only.
    none = aten.squeeze.dim(aten.eq.Scalar(lattice.steps, 0), 1)
    empty = aten.squeeze.dim(_where_allowed(aten.eq.Scalar(_column(target_lengths, log_probs), 0), log_probs), 1)
    return aten.neg.default(aten.where.self(none, empty, ends)), alphas


def ctc_loss_backward(
    grad: Array,
    log_probs: Array,
    targets: Array,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    neg_log_likelihood: Array,
    log_alpha: Array,
    blank: int,
    zero_infinity: bool = False,
) -> Array:
    """Return the gradient for the inputs of the softmax before, as torch does, not for its results."""
    lattice = _build(log_probs, targets, input_lengths, target_lengths, blank)
    steps, batch, _ = dc.shape(log_probs)
    if not steps:
        return aten.zeros_like.default(log_probs, memory_format=0)
    betas = aten.stack.default(_run_backward(lattice), 0)
    alphas = aten.transpose.int(log_alpha, 0, 1)
    losses = aten.reshape.default(neg_log_likelihood, (1, batch, 1))
    ways = aten.sub.Tensor(aten.add.Tensor(alphas, betas), lattice.emitted)
    # A place that nothing leads to has no share, also where its probability is zero.
    lost = aten.eq.Scalar(aten.maximum.default(aten.neg.default(alphas), aten.neg.default(betas)), float("inf"))
    chances = aten.masked_fill.Scalar(aten.exp.default(aten.add.Tensor(ways, losses)), lost, 0)
    wide = aten.expand.default(aten.unsqueeze.default(lattice.labels, 0), dc.shape(betas))
    zeros = aten.new_zeros.default(log_probs, dc.shape(log_probs))
    found = aten.sub.Tensor(aten.exp.default(log_probs), aten.scatter_add.default(zeros, 2, wide, chances))
    infinite = aten.eq.Scalar(losses, float("inf"))
    if zero_infinity:
        found = aten.masked_fill.Scalar(found, infinite, 0)
    else:
        found = aten.masked_fill.Scalar(found, infinite, float("nan"))
    found = aten.mul.Tensor(found, aten.reshape.default(grad, (1, batch, 1)))
    step = aten.reshape.default(arange_like(log_probs, steps), (steps, 1, 1))
    beyond = aten.ge.Tensor(step, aten.unsqueeze.default(lattice.steps, 0))
    if zero_infinity:
        beyond = aten.logical_or.default(beyond, infinite)
    return aten.contiguous.default(aten.masked_fill.Scalar(found, beyond, 0))


def ctc_loss(
    log_probs: Array,
    targets: Array,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int = 0,
    reduction: int = _MEAN,
    zero_infinity: bool = False,
) -> Array:
    """Return the losses of a batch, or their sum, or the mean of each divided by the number of its labels."""
    is_batched = ndim(log_probs) == 3
    if not is_batched:
        log_probs = aten.unsqueeze.default(log_probs, 1)
    found = aten._ctc_loss.default(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)[0]
    if zero_infinity:
        found = aten.masked_fill.Scalar(found, aten.eq.Scalar(found, float("inf")), 0)
    if reduction == _MEAN:
        counts = aten.squeeze.dim(_column([max(length, 1) for length in target_lengths], found), 1)
        return aten.mean.default(aten.div.Tensor(found, cast(counts, dc.dtype(found))))
    if reduction == _SUM:
        return aten.sum.default(found)
    return found if is_batched else aten.squeeze.dim(found, 0)


def ctc_loss_of_tensors(
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int = 0,
    reduction: int = _MEAN,
    zero_infinity: bool = False,
) -> Array:
    """Return the loss for lengths in tensors."""
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if not dc.dtype(lengths).is_integral:
            raise OperatorError(f"{name} must be integral", operator="aten::ctc_loss", argument=name)
    if dc.device(input_lengths).type == "meta":
        dims = [0, 2] if ndim(log_probs) == 3 else [0, 1]
        found = aten.sum.dim_IntList(log_probs, dims, False)  # of the losses' shape, whatever the lengths are
        return found if reduction not in (_MEAN, _SUM) else aten.sum.default(found)
    known, wanted = (read_sizes(aten.reshape.default(lengths, (-1,))) for lengths in (input_lengths, target_lengths))
    return aten.ctc_loss.IntList(log_probs, targets, known, wanted, blank, reduction, zero_infinity)
