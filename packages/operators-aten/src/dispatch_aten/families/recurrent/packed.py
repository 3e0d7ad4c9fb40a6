"""Sequences of several lengths: padded to one length, or packed, the first elements of all before the second ones."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import dispatch_core as dc
from dispatch_aten import host
from dispatch_aten.decompositions._shared import Array, arange_like, aten
from dispatch_aten.dtypes import int64
from dispatch_aten.errors import OperatorError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch_aten.promotion import Number


def read_sizes(sizes: Array) -> list[int]:
    """Return the elements of a tensor of sizes."""
    return [int(size) for size in host.get(sizes)]


def _to_device_of(mask: Array, like: Array) -> Array:
    return mask if dc.device(mask) == dc.device(like) else aten._to_copy.default(mask, device=dc.device(like))


def pack_padded_sequence(input: Array, lengths: Array, batch_first: bool) -> tuple[Array, Array]:
    """Return the elements before each sequence's end, step by step, and how many each step has."""
    if batch_first:
        input = aten.transpose.int(input, 0, 1)
    known = read_sizes(lengths)
    operator = "aten::_pack_padded_sequence"
    if len(known) != dc.shape(input)[1]:
        raise OperatorError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(known)} (batch_size={dc.shape(input)[1]})",
            operator=operator,
            argument="lengths",
        )
    if any(after > before for before, after in itertools.pairwise(known)):
        raise OperatorError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not "
            "need ONNX exportability.",
            operator=operator,
            argument="lengths",
        )
    if not known or known[-1] <= 0:
        raise OperatorError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0",
            operator=operator,
            argument="lengths",
        )
    if known[0] > dc.shape(input)[0]:
        raise OperatorError(
            f"Expected a sequence of at least {known[0]} steps, but got {dc.shape(input)[0]}",
            operator=operator,
            argument="lengths",
        )
    steps = aten.unsqueeze.default(arange_like(lengths, known[0]), 1)
    inside = aten.lt.Tensor(steps, aten.unsqueeze.default(lengths, 0))
    sizes = aten.sum.dim_IntList(inside, [1], False)
    rows = aten.slice.Tensor(input, 0, 0, known[0])
    return aten.index.Tensor(rows, [_to_device_of(inside, input)]), sizes


def pad_packed_sequence(
    data: Array, batch_sizes: Array, batch_first: bool, padding_value: Number, total_length: int
) -> tuple[Array, Array]:
    """Return the padded sequences and their lengths."""
    known = read_sizes(batch_sizes)
    length = max(len(known), total_length)
    if 0 < total_length < len(known):
        raise OperatorError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(known)}",
            operator="aten::_pad_packed_sequence",
            argument="total_length",
        )
    lanes = aten.unsqueeze.default(arange_like(batch_sizes, known[0]), 0)
    inside = aten.gt.Tensor(aten.unsqueeze.default(batch_sizes, 1), lanes)
    lengths = aten._to_copy.default(aten.sum.dim_IntList(inside, [0], False), dtype=int64)
    if length > len(known):
        missing = aten.new_zeros.default(inside, (length - len(known), known[0]))
        inside = aten.cat.default([inside, missing], 0)
    padded = aten.new_full.default(data, (length, known[0], *dc.shape(data)[1:]), padding_value)
    padded = aten.index_put.default(padded, [_to_device_of(inside, data)], data, False)
    return (aten.transpose.int(padded, 0, 1) if batch_first else padded), lengths


def pad_sequence(
    sequences: Sequence[Array], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Array:
    """Return sequences beside each other, filled up to one length."""
    if not sequences:
        raise OperatorError("received an empty list of sequences", operator="aten::pad_sequence", argument="sequences")
    if padding_side not in ("left", "right"):
        raise OperatorError(
            f"Expected padding_side to be one of left or right, but got {padding_side}.",
            operator="aten::pad_sequence",
            argument="padding_side",
        )
    length = max(dc.shape(each)[0] for each in sequences)
    padded = []
    for each in sequences:
        size, *rest = dc.shape(each)
        if size < length:
            filling = aten.new_full.default(each, (length - size, *rest), padding_value)
            each = aten.cat.default([each, filling] if padding_side == "right" else [filling, each], 0)  # noqa: PLW2901
        padded.append(each)
    return aten.stack.default(padded, 0 if batch_first else 1)
