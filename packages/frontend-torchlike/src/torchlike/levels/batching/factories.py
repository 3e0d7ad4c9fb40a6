"""Operators that make tensors like a batched one."""

from __future__ import annotations

from typing import Any, Final

from .calls import BatchedCall, Rule


def _of_size(call: BatchedCall) -> Any:
    return call.run(self=call.with_batch("self"), size=[call.size, *call["size"]])


def _with_strides(call: BatchedCall) -> Any:
    size, stride = call["size"], call["stride"]
    length = 0 if 0 in size else sum((count - 1) * step for count, step in zip(size, stride, strict=True)) + 1
    return call.run(self=call.with_batch("self"), size=[call.size, *size], stride=[length, *stride])


def _like(call: BatchedCall) -> Any:
    # Other memory formats are of four or five dimensions, and the batch adds one.
    return call.run(self=call.with_batch("self"), memory_format=None)


RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys("new_empty new_full new_zeros new_ones".split(), _of_size),
    "new_empty_strided": _with_strides,
    **dict.fromkeys("empty_like zeros_like ones_like full_like".split(), _like),
}
