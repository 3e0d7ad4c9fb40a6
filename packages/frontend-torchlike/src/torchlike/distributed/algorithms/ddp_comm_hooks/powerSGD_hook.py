# ruff: noqa: N802, N999  # torch's names
"""A hook that sends gradients as products of thin matrices (source: ``...ddp_comm_hooks.powerSGD_hook``).

Note [PowerSGD]
    A gradient M of n x m elements is sent as P and Q of n x r and m x r: P = M Q, summed and made orthonormal, and
    Q = M^T P, averaged; P Q^T stands for M. What it leaves out is added to the next gradient, and Q is where the next one
    begins. So all processes have the same P and Q, and a mean gradient of rank r is sent whole
    (Vogels, Karimireddy, Jaggi: PowerSGD, 2019).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import dispatch_core as dc

from ....creation.factories import FACTORIES
from ....history.grad_mode import no_grad
from ....names.lazy_names import call_late
from ....random import fork_rng, manual_seed
from ... import GradBucket, all_reduce, get_world_size
from ...process_groups import default_group
from .default_hooks import allreduce_hook

__all__ = ["PowerSGDState", "powerSGD_hook"]

_aten = dc.ops.aten
_make_future = call_late("torchlike.surface.futures", "Future")


class PowerSGDState:
    """The settings of `powerSGD_hook`, and what it keeps from step to step (source: ``PowerSGDState``).

    Until ``start_powerSGD_iter`` steps are over gradients are averaged as they are. A gradient is sent as a product where
    that has ``min_compression_rate`` times fewer elements, at least. Raises ``ValueError`` for a start below 2 with
    ``use_error_feedback`` or ``warm_start``. A pickle has no group: it gets the default one.
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, "
                "because PowerSGD can only be applied after the first two iterations in DDP."
            )
        self.process_group, self.matrix_approximation_rank = process_group, matrix_approximation_rank
        self.start_powerSGD_iter, self.min_compression_rate = start_powerSGD_iter, min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.rng = np.random.RandomState(random_seed)
        self.iter = self.total_numel_before_compression = self.total_numel_after_compression = 0
        #: The number of a bucket → what the last step left out, and the second factors that it ended with.
        self.error_dict: dict[int, Any] = {}
        self.q_memory_dict: dict[int, list[Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the group, which is of this process."""
        return {**self.__dict__, "process_group": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, process_group=default_group("PowerSGDState"))

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a step, where the bucket is its last one."""
        self.iter += bucket.is_last()

    def compression_stats(self) -> tuple[float, int, int]:
        """Return how many times fewer elements were sent, their number without products, and with."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0), before, after


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Any:
    """Return a future of a bucket's average by products of thin matrices, see Note [PowerSGD]."""
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    done = _make_future()
    with no_grad():
        _average(state, bucket)
    done.set_result(bucket.buffer())
    return done


def _average(state: PowerSGDState, bucket: GradBucket) -> None:
    flat, index, count = bucket.buffer(), bucket.index(), get_world_size(state.process_group)
    before = None
    if state.use_error_feedback:
        if index in state.error_dict:
            flat.add_(state.error_dict[index])
        before = flat.clone()
    batches, others = _choose(state, bucket.gradients())
    _sum(state, others, count)
    ranks = [min(*members[0].shape, state.matrix_approximation_rank) for members in batches]
    matrices = [_aten.stack(members, 0) for members in batches]
    known = state.q_memory_dict.get(index) if state.warm_start else None
    right = _draw(state, matrices, ranks) if known is None else known
    right = [_orthogonalize(each, state.orthogonalization_epsilon) for each in right]
    left = [matrix.bmm(each) for matrix, each in zip(matrices, right, strict=True)]
    _sum(state, left, 1)
    left = [_orthogonalize(each, state.orthogonalization_epsilon) for each in left]
    right = [matrix.transpose(1, 2).bmm(each) for matrix, each in zip(matrices, left, strict=True)]
    _sum(state, right, count)
    for members, one, other in zip(batches, left, right, strict=True):
        for member, product in zip(members, one.bmm(other.transpose(1, 2)), strict=True):
            member.copy_(product)
    if before is not None:
        state.error_dict[index] = before - flat
    if state.warm_start:
        state.q_memory_dict[index] = right
    state.maybe_increase_iter(bucket)


def _choose(state: PowerSGDState, gradients: list[Any]) -> tuple[list[list[Any]], list[Any]]:
    """Return the gradients that go as products, as matrices, in batches of one shape where that is wanted; and the rest."""
    batches: dict[Any, list[Any]] = {}
    others = []
    for number, each in enumerate(gradients):
        matrix = each.view(each.shape[0], -1) if each.ndim else each.view(1, 1)
        (rows, columns), whole = matrix.shape, matrix.numel()
        thin = (rows + columns) * min(rows, columns, state.matrix_approximation_rank)
        is_smaller = thin * state.min_compression_rate < whole
        state.total_numel_before_compression += whole
        state.total_numel_after_compression += thin if is_smaller else whole
        if is_smaller:
            key = matrix.shape if state.batch_tensors_with_same_shape else (matrix.shape, number)
            batches.setdefault(key, []).append(matrix)
        else:
            others.append(each)
    # Those of one shape stand together, where the first of them stands.
    shapes = [*dict.fromkeys(members[0].shape for members in batches.values())]
    return sorted(batches.values(), key=lambda members: shapes.index(members[0].shape)), others


def _sum(state: PowerSGDState, tensors: list[Any], divisor: int) -> None:
    """Write to tensors their sums over all processes, divided by a number, by one message."""
    if not tensors:
        return
    flat = _aten.cat([each.reshape(-1) for each in tensors], 0)
    all_reduce(flat, group=state.process_group)
    parts = flat.div_(divisor).split([each.numel() for each in tensors])
    for each, part in zip(tensors, parts, strict=True):
        each.copy_(part.view(each.shape))


def _draw(state: PowerSGDState, matrices: list[Any], ranks: list[int]) -> list[Any]:
    """Draw the first factors, which are the same in all processes."""
    with fork_rng(devices=[]):
        manual_seed(state.rng.randint(1_000_000_000))
        return [
            FACTORIES["randn"](len(each), each.shape[2], rank, dtype=each.dtype).to(each.device)
            for each, rank in zip(matrices, ranks, strict=True)
        ]


def _orthogonalize(matrices: Any, epsilon: float) -> Any:
    """Return a batch of matrices with orthonormal columns; ``epsilon`` is added to lengths, which may be zero."""
    if matrices.shape[2] > 2 and matrices.dtype.itemsize > 2:
        return _aten.linalg_qr(matrices)[0]
    columns: list[Any] = []
    for column in matrices.unbind(2):
        own = column
        for each in columns:
            own = own - (each * own).sum(1, keepdim=True) * each
        columns.append(own / (own.norm(dim=1, keepdim=True) + epsilon))
    return _aten.stack(columns, 2)
