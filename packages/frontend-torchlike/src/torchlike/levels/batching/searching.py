"""Searches in sorted or other sequences."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from dispatch_aten.dtypes import int32

from .calls import Batch, BatchedCall, Rule, align, aten, rank_of, with_batch


def _search(call: BatchedCall) -> Any:
    sequence, sorter = call["sorted_sequence"], call.values.get("sorter")
    own = call["self"]
    if type(sequence) is not Batch and type(sorter) is not Batch and rank_of(sequence) == 1:
        return call.run(self=own.tensor)
    size = call.size
    changed = {"sorter": None if sorter is None else with_batch(sorter, size)}
    if rank_of(sequence) > 1:
        return call.run(sorted_sequence=with_batch(sequence, size), self=with_batch(own, size), **changed)
    values = with_batch(own, size)
    rows = aten.reshape.default(values, (size, prod(values.shape[1:])))
    return aten.view.default(call.run(sorted_sequence=with_batch(sequence, size), self=rows, **changed), values.shape)


def _search_number(call: BatchedCall) -> Any:
    # The place of a number in a sorted sequence is how many of its elements are smaller, in whatever order they are given.
    is_bucketize = call.op.name == "aten::bucketize.Scalar"
    sequence = call["boundaries" if is_bucketize else "sorted_sequence"]
    is_right = call["right"] or (not is_bucketize and call["side"] == "right")
    is_before = aten.le.Scalar if is_right else aten.lt.Scalar
    found = aten.sum.dim_IntList(is_before(sequence.tensor, call["self"]), [1])
    return aten._to_copy.default(found, dtype=int32) if call["out_int32"] else found


def _bucketize(call: BatchedCall) -> Any:
    boundaries, own = call["boundaries"], call["self"]
    if type(boundaries) is not Batch:
        return call.run(self=own.tensor)
    values = with_batch(own, call.size)
    rows = aten.reshape.default(values, (call.size, prod(values.shape[1:])))
    found = aten.searchsorted.Tensor(boundaries.tensor, rows, out_int32=call["out_int32"], right=call["right"])
    return aten.view.default(found, values.shape)


def _is_in(call: BatchedCall) -> Any:
    tests = call.values.get("test_elements")
    if type(tests) is not Batch:
        return call.run(elements=call["elements"].tensor)
    elements = call.values.get("elements", call.values.get("element"))
    rows = aten.reshape.default(tests.tensor, (call.size, prod(tests.tensor.shape[1:])))
    if isinstance(elements, (bool, int, float, complex)):
        found = aten.any.dim(aten.eq.Scalar(rows, elements), 1)
    else:
        rank = rank_of(elements)
        rows = aten.view.default(rows, (call.size, *[1] * rank, rows.shape[1]))
        found = aten.any.dim(aten.eq.Tensor(aten.unsqueeze.default(align(elements, rank), -1), rows), -1)
    return aten.logical_not.default(found) if call["invert"] else found


RULES: Final[dict[str, Rule]] = {
    "searchsorted.Tensor": _search,
    "searchsorted.Scalar": _search_number,
    "bucketize.Tensor": _bucketize,
    "bucketize.Scalar": _search_number,
    "isin.Tensor_Tensor": _is_in,
    "isin.Tensor_Scalar": _is_in,
    "isin.Scalar_Tensor": _is_in,
}
