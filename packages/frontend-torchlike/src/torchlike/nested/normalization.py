"""Softmax and the norms of layers, along the rows' other dimensions and, for softmax, the ragged one."""

from __future__ import annotations

from typing import Any

from .operators import Operator, inner_dim, refuse_gaps, strided_only
from .padding import pad, unpad
from .tensor import NestedTensor, wrap_values


def apply_softmax(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Apply softmax, or its logarithm, along a dimension."""
    given = operator.bind(values)
    record = given["self"]._dispatch_data
    dim = given["dim"]
    inner = inner_dim(operator, record, dim, ragged=True, batch=True)
    if inner < 0:
        operator.refuse("not supported when reducing across the batch dimension for NestedTensor")
    if inner != record.ragged - 1:
        given |= {"self": record.values, "dim": inner}
        return wrap_values(record, operator.call(given))
    if operator.packet.endswith("log_softmax"):
        operator.refuse("not supported when reducing along the ragged dimension for NestedTensor")
    refuse_gaps(operator, record)
    if (dtype := given.get("dtype")) is not None:
        record = given["self"].to(dtype)._dispatch_data
    if not record.values.is_floating_point():
        operator.call(given | {"self": record.values, "dim": inner})  # raises
    given |= {"self": pad(record, float("-inf"), record.find_longest()), "dim": record.ragged}
    return wrap_values(record, unpad(record, operator.call(given)))


def normalize_layer(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Apply a norm over the last dimensions, which lie behind the ragged one."""
    input, size, *others = values
    strided_only(operator, others)
    if not isinstance(input, NestedTensor):
        operator.refuse("the input is nested, its weights are not")
    record = input._dispatch_data
    rank = record.values.dim() + 1
    if rank <= 2:
        operator.refuse("not supported for NestedTensor objects with 2 or fewer dimensions")
    if len(size) >= rank:
        operator.refuse("not supported when normalizing over the batch dimension for NestedTensor")
    if record.ragged >= rank - len(size):
        raise ValueError(
            f"{operator.packet}(): Normalization over the ragged dim not supported for nested tensors, here over"
            f" {list(size)} of {record.shape}"
        )
    found = operator([record.values, size, *others])
    if isinstance(found, (list, tuple)):
        return (wrap_values(record, found[0]), *found[1:])
    return wrap_values(record, found)
