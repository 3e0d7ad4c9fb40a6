"""Products: linear maps of the values, products of matrices, and attention of each row's positions to one another."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc

from ..creation.factories import FACTORIES
from ..tensors.tensor import Tensor
from .operators import Operator, refuse_gaps, strided_only
from .padding import is_filled, pad, unpad
from .pointwise import fits
from .tensor import Jagged, NestedTensor, wrap_values


def apply_linear(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Apply a linear map to the last dimension."""
    input, *others = values
    strided_only(operator, others)
    if not isinstance(input, NestedTensor):
        operator.refuse("the input of a linear map is nested, its weights are not")
    record = input._dispatch_data
    if record.ragged == record.values.dim():
        operator.refuse("not supported for NestedTensor on ragged dim")
    return wrap_values(record, operator([record.values, *others]))


def embed(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Return the rows of a matrix that a nested tensor names."""
    weight, indices, *options = values
    strided_only(operator, [weight])
    record = indices._dispatch_data
    return wrap_values(record, operator([weight, record.values, *options]))


def multiply_matrices(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Multiply matrices, of which rows, columns, or the batch may be ragged."""
    one, other = values
    name = operator.packet
    for each, which in ((one, "input"), (other, "mat2")):
        if name == "bmm" and each.dim() != 3:
            raise ValueError(f"bmm(): {which} must be 3D")
    found = None
    if isinstance(one, NestedTensor) and isinstance(other, NestedTensor):
        found = _multiply_two(one._dispatch_data, other._dispatch_data)
    elif isinstance(one, NestedTensor):
        found = _multiply_rows(one._dispatch_data, other)
    elif isinstance(other, NestedTensor):
        found = _multiply_columns(one, other._dispatch_data)
    if found is None:
        raise RuntimeError(
            f"matmul(): not supported between inputs of shapes {tuple(dc.shape(one))} and {tuple(dc.shape(other))}"
        )
    return found


def _multiply_rows(record: Jagged, other: Tensor) -> Tensor | None:
    """Multiply (B, j1, D) by (D, E), or by (B, D, E)."""
    rank = record.values.dim() + 1
    if record.ragged >= rank - 1:
        return None
    if rank >= 3 and other.dim() == rank:
        padded = pad(record, 0, record.find_longest())
        return wrap_values(record, unpad(record, padded @ other))
    return wrap_values(record, record.values @ other) if other.dim() == 2 and rank > 2 else None


def _multiply_columns(one: Tensor, record: Jagged) -> Tensor | None:
    """Multiply (D, E), or (B, D, E), by (B, E, j1)."""
    rank = record.values.dim() + 1
    if record.ragged < 2:
        return None
    if rank >= 3 and one.dim() == rank:
        if record.ragged != rank - 1:
            return None
        padded = pad(record, 0, record.find_longest())
        return wrap_values(record, unpad(record, one @ padded))
    if one.dim() != 2 or rank <= 2 or record.ragged == rank - 2:
        return None
    return wrap_values(record, one @ record.values)


def _multiply_two(one: Jagged, other: Jagged) -> Tensor | None:
    """Multiply (B, j1, D, E) by (B, j1, E, F), or (B, D, j1) by (B, j1, E) to a strided tensor."""
    ranks = one.values.dim() + 1, other.values.dim() + 1
    if min(ranks) > 3 and fits(one, other.shape) and max(one.ragged, other.ragged) < min(ranks) - 2:
        return wrap_values(one, one.values @ other.values)
    if ranks != (3, 3) or (one.ragged, other.ragged) != (2, 1) or one.shape[2] != other.shape[1]:
        return None
    longest = one.find_longest()
    return pad(one, 0, longest) @ pad(other, 0, longest)


def attend(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Compute the attention within each row of (B, H, j1, D), of padded rows whose padding is masked."""
    given = operator.bind(values)
    tensors = [given[name] for name in ("query", "key", "value")]
    if not all(isinstance(each, NestedTensor) for each in tensors):
        operator.refuse("query, key and value must all be nested tensors")
    query, key, value = records = [each._dispatch_data for each in tensors]
    if given["attn_mask"] is not None:
        raise ValueError("scaled_dot_product_attention(): Masks are not yet supported!")
    if any(record.values.dim() != 3 or record.ragged != 2 for record in records):
        operator.refuse(
            f"query, key and value must be of sizes (B, heads, j, D), and query is of {query.shape}",
            "x.unflatten(-1, [heads, D]).transpose(1, 2) brings (B, j, heads * D) into this form",
        )
    if len({record.shape[0] for record in records}) > 1 or key.shape[2] != value.shape[2]:
        operator.refuse("key and value must have the same rows, and query as many")
    for record in records:
        refuse_gaps(operator, record)
    longest = query.find_longest(), key.find_longest()
    mask = is_filled(key, longest[1]).unsqueeze(1).unsqueeze(1)
    if given["is_causal"]:
        places = [FACTORIES["arange"](each, device=query.values.device) for each in longest]
        mask = mask & (places[0].unsqueeze(1) >= places[1])
    given |= {"query": pad(query, 0, longest[0]), "key": pad(key, 0, longest[1]), "value": pad(value, 0, longest[1])}
    given |= {"attn_mask": mask, "is_causal": False}
    return wrap_values(query, unpad(query, operator.call(given)))
