"""Operators that join a list of tensors."""

from __future__ import annotations

from typing import Any, Final

from .calls import BatchedCall, Rule, aten, rank_of, shape_of, shift, with_batch


def _cat(call: BatchedCall) -> Any:
    # An empty vector joins with tensors of every rank, which its batch does not.
    tensors = [each for each in call["tensors"] if shape_of(each) != (0,)] or call["tensors"]
    rank = rank_of(tensors[0])
    joined = [with_batch(each, call.size) for each in tensors]
    if not rank:
        return aten.cat.default([each[0] for each in joined])  # refused, in torch's words
    return aten.cat.default(joined, shift(call["dim"], rank))


def _stack(call: BatchedCall) -> Any:
    tensors = call["tensors"]
    return aten.stack.default(
        [with_batch(each, call.size) for each in tensors], shift(call["dim"], rank_of(tensors[0]) + 1)
    )


RULES: Final[dict[str, Rule]] = {"cat": _cat, "stack": _stack}
