"""Batches without a row, for operators that refuse tensors without elements in some dimension."""

from __future__ import annotations

from typing import Any

from .calls import Batch, BatchedCall, Rule, aten, map_results


def run_on_a_row(rule: Rule) -> Rule:
    """Return a rule that computes one row of zeros where the batch has none, and gives back no row of the results."""

    def run(call: BatchedCall) -> Any:
        if call.size:
            return rule(call)
        given = [_make_row(value) if type(value) is Batch else value for value in call.given]
        results = rule(BatchedCall(call.op, 1, given))
        return map_results(results, lambda each: aten.slice.Tensor(each, 0, 0, 0))

    return run


def _make_row(value: Batch) -> Batch:
    return Batch(aten.new_zeros.default(value.tensor, [1, *value.tensor.shape[1:]]))
