"""Connectionist temporal classification: all sequences of a batch at once, step by step, in log space.

``dispatch_aten.families.recurrent.ctc`` tells of the places of labels and of the ways between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ...arrays import Array
from ...kernel_table import KernelTable
from ..support.constants import number
from ..support.places import apply_at, check_along, locate
from ..support.reduce_ufuncs import MAX, SUM
from ..support.rule_kernels import make_kernel

KERNELS: Final = KernelTable()

#: Represents minus infinity where one is subtracted from another.
_LOW: Final = -1e30


class _Trellis(NamedTuple):
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
    #: ``(N, 1)``: the number of steps of each sequence, and of labels of each target.
    steps: Array
    counts: Array


def _build(
    log_probs: Array, targets: Array, input_lengths: Sequence[int], target_lengths: Sequence[int], blank: int
) -> _Trellis:
    _, batch, classes = log_probs.shape
    width, lowest, zero = max(target_lengths), np.array(-np.inf, log_probs.dtype), number(0, log_probs)
    counts, column = np.array(target_lengths, np.int64)[:, None], np.arange(2 * width + 1)
    labels = np.full((batch, column.size), blank, np.int64)
    if width:
        targets = targets.astype(np.int64)
        if targets.ndim == 1:
            starts = np.cumsum([0, *target_lengths[:-1]])[:, None]
            targets = targets.take(np.minimum(starts + np.arange(width), sum(target_lengths) - 1))
        # Labels beyond a target's end may be anything; blanks stand there instead.
        labels[:, 1::2] = np.where(np.arange(width) < counts, targets[:, :width], blank)
        check_along(labels, 2, classes)
    skips = np.full(labels.shape, lowest)
    skips[:, 2:][(labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])] = 0
    ends = 2 * counts
    first = np.where((column <= 1) & (column <= ends), zero, lowest)
    last = np.where((column <= ends) & (column >= ends - 1), zero, lowest)
    emitted = log_probs[:, np.arange(batch)[:, None], labels]
    return _Trellis(labels, skips, first, last, emitted, np.array(input_lengths, np.int64)[:, None], counts)


def _add_ways(ways: Array) -> Any:
    """Return the logarithm of the sum of probabilities, which are given by their logarithms."""
    highest = np.maximum(MAX(ways, 0), number(_LOW, ways))
    return np.log(SUM(np.exp(ways - highest), 0)) + highest


def _forward(
    spec: Any,
    log_probs: Array,
    targets: Array,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Array, Array]:
    lattice = _build(log_probs, targets, input_lengths, target_lengths, blank)
    alphas: Array = np.empty(spec[1].shape, log_probs.dtype)
    steps, batch, _ = log_probs.shape
    lowest = np.array(-np.inf, log_probs.dtype)
    ends: Any = lowest
    if steps:
        ways = np.full((3, *lattice.labels.shape), lowest)
        at: Any = lattice.first + lattice.emitted[0]
        alphas[:, 0] = at
        for step in range(1, steps):
            ways[0], ways[1, :, 1:] = at, at[:, :-1]
            np.add(at[:, :-2], lattice.skips[:, 2:], ways[2, :, 2:])
            at = _add_ways(ways) + lattice.emitted[step]
            alphas[:, step] = at
        final = alphas[np.arange(batch), np.maximum(lattice.steps[:, 0] - 1, 0)] + lattice.last
        ends = _add_ways(np.ascontiguousarray(final.T))
    # No step is a way for no label only.
    empty = np.where(lattice.counts[:, 0] == 0, number(0, log_probs), lowest)
    return np.negative(np.where(lattice.steps[:, 0] == 0, empty, ends)), alphas


def _run_backward(lattice: _Trellis) -> Array:
    """Return for each step the logarithm of the probability of all ways on from each place."""
    found = np.empty_like(lattice.emitted)
    ways = np.full((3, *lattice.labels.shape), -np.inf, found.dtype)
    after: Any = ways[0].copy()
    for step in reversed(range(len(found))):
        ways[0], ways[1, :, :-1] = after, after[:, 1:]
        np.add(after[:, 2:], lattice.skips[:, 2:], ways[2, :, :-2])
        after = np.where(lattice.steps == step + 1, lattice.last, _add_ways(ways)) + lattice.emitted[step]
        found[step] = after
    return found


def _backward(
    spec: Any,
    grad: Array,
    log_probs: Array,
    targets: Array,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    neg_log_likelihood: Array,
    log_alpha: Array,
    blank: int,
    zero_infinity: bool = False,
) -> Any:
    found: Any = np.zeros(log_probs.shape, log_probs.dtype)
    if not len(found):
        return found
    lattice = _build(log_probs, targets, input_lengths, target_lengths, blank)
    betas, alphas = _run_backward(lattice), log_alpha.swapaxes(0, 1)
    losses, zero = neg_log_likelihood.reshape(1, -1, 1), number(0, log_probs)
    ways = (alphas + betas) - lattice.emitted
    # A place that nothing leads to has no share, also where its probability is zero.
    lost = np.maximum(-alphas, -betas) == np.inf
    chances = np.where(lost, zero, np.exp(ways + losses))
    apply_at(np.add, *locate(found, np.broadcast_to(lattice.labels, chances.shape), 2, chances.shape), chances)
    found = np.exp(log_probs) - found
    infinite = losses == np.inf
    found = np.where(infinite, zero if zero_infinity else np.array(np.nan, found.dtype), found) * grad.reshape(1, -1, 1)
    beyond = np.arange(len(found)).reshape(-1, 1, 1) >= lattice.steps
    return np.where(beyond | infinite if zero_infinity else beyond, zero, found)


KERNELS["_ctc_loss"] = make_kernel("_ctc_loss", _forward)
KERNELS["_ctc_loss_backward"] = make_kernel("_ctc_loss_backward", _backward)
