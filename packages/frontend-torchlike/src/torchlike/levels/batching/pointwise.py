"""Element-wise operators: tensors broadcast by their logical ranks, and dtypes are promoted by them."""

from __future__ import annotations

from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import ShapeError
from dispatch_aten.promotion import Category, Operand, result_type

from .calls import Batch, BatchedCall, Rule, align, aten, dtype_of, rank_of

#: Tensors that say where, and whose dtype promotes nothing.
_MASKS: Final = frozenset({"condition", "mask"})


def broadcast(call: BatchedCall) -> Any:
    """Call an operator whose tensors broadcast, at the largest logical rank.

    A batch of tensors without dimensions has one below, and would count for more in promotion than it may: it gets the
    dtype of the result beforehand.
    """
    names = call.tensors()
    if len(names) == 1:
        return call.run(**{names[0]: align(call[names[0]], 0)})
    rank = max([call.rank(name) for name in names])
    promoted = _promote(call, names)
    return call.run(**{name: align(promoted.get(name, call[name]), rank) for name in names})


def _promote(call: BatchedCall, names: list[str]) -> dict[str, Batch]:
    """Return the operands that get the dtype of the result beforehand, in it."""
    operands = [name for name in names if name not in _MASKS]
    promoted: dict[str, Batch] = {}
    if len({dtype_of(call[name]) for name in operands}) == 1:
        return promoted
    common: ScalarType | None = None
    for name in operands:
        value = call[name]
        if type(value) is not Batch or rank_of(value):
            continue
        if common is None:
            common = result_type(*(_operand(call[each]) for each in operands))
        if value.tensor.dtype != common and not _is_written(call, name):
            promoted[name] = Batch(aten._to_copy.default(value.tensor, dtype=common))
    return promoted


def _operand(value: Any) -> Operand:
    return Operand(dtype_of(value), Category.DIMENSIONED if rank_of(value) else Category.ZERO_DIM)


def _is_written(call: BatchedCall, name: str) -> bool:
    return any(each.name == name and each.is_write for each in call.op.schema.arguments)


def same_shapes(call: BatchedCall) -> Any:
    """Call an operator whose tensors have one shape and none of which decides the results' alone."""
    return call.run(**{name: call.with_batch(name) for name in call.tensors()})


def _copy(call: BatchedCall) -> Any:
    rank = call.rank("self")
    if call.rank("src") > rank:
        shapes = f"shape {list(call.shape('self'))} doesn't match the broadcast shape {list(call.shape('src'))}"
        raise ShapeError(f"output with {shapes}", argument="src")
    return call.run(self=call.with_batch("self"), src=align(call["src"], rank))


def _fill(call: BatchedCall) -> Any:
    value = call.values.get("value")
    if type(value) is not Batch:
        return call.run(self=call.with_batch("self"))
    if rank_of(value):
        call.run(self=call.with_batch("self"), value=value.tensor[0])  # refused, in torch's words
    op = aten.copy_.default if call.op.name.startswith("aten::fill_") else aten.copy.default
    return op(call.with_batch("self"), align(value, call.rank("self")))


def fill_where(call: BatchedCall) -> Any:
    """Fill with a tensor without dimensions where a mask is true, in the dtype of the first tensor."""
    rank = max(call.rank("self"), call.rank("mask"))
    if not call.is_batched("value"):
        return call.run(self=align(call["self"], rank), mask=align(call["mask"], rank))
    value = aten._to_copy.default(call["value"].tensor, dtype=dtype_of(call["self"]))
    return aten.where.self(align(call["mask"], rank), align(Batch(value), rank), align(call["self"], rank))


FAMILIES: Final[dict[str, Rule]] = {
    "copy": _copy,
    "fill": _fill,
    "zero": _fill,
}
"""Rules of all overloads of an operator, in-place ones included, by its name without underscore and overload.

Those of operators whose rows say that they broadcast are not listed; see `dispatch_aten.families.broadcasts`.
"""

RULES: Final[dict[str, Rule]] = {
    "_prelu_kernel_backward": same_shapes,
    "rrelu_with_noise_backward": same_shapes,
    "where.self": broadcast,
    "masked_fill.Scalar": broadcast,
    "masked_fill.Tensor": fill_where,
}
