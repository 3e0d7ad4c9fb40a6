"""Element-wise operators: on the values, with other operands brought to the same places.

Note [Operands]
    A nested operand has the same ragged size. A strided one with fewer dimensions broadcasts along the batch and the rows.
    One with as many has a row, or one element of it, for each of the batch: its elements are gathered for the places of
    the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dispatch_core as dc
from dispatch_core.keys import LAYOUTS

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from .operators import Operator, find_nested
from .padding import locate, unpad
from .tensor import Jagged, NestedTensor, replace_values, wrap_values


def apply_pointwise(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Apply an element-wise operator; see Note [Operands]."""
    first = find_widest(values)
    record = first._dispatch_data
    found = operator([align(operator, first, each) if isinstance(each, Tensor) else each for each in values])
    return wrap_all(record, found)


def apply_loss(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Apply an element-wise loss, and reduce over all elements unless the call asks for each."""
    first = find_widest(values)
    found = operator([align(operator, first, each) if isinstance(each, Tensor) else each for each in values])
    return found if operator.bind(values)["reduction"] else wrap_all(first._dispatch_data, found)


def broadcast(operator: Operator, values: tuple[Any, ...]) -> list[NestedTensor]:
    """Return nested tensors of the elements that operands have for the places of the widest one."""
    (tensors,) = values
    first = find_widest(tensors)
    record = first._dispatch_data
    return [wrap_values(record, align(operator, first, each).expand_as(record.values)) for each in tensors]


def have_same_sizes(operator: Operator, values: tuple[Any, ...]) -> bool:
    """Return whether two tensors have the same sizes, the ragged one included."""
    first, second = values
    return bool(first.shape == second.shape)


def find_widest(values: tuple[Any, ...]) -> NestedTensor:
    """Return the nested tensor among arguments with the most dimensions, the first of several."""
    found = None
    for each in values:
        if isinstance(each, NestedTensor) and (found is None or each.dim() > found.dim()):
            found = each
    assert found is not None
    return found


def write_pointwise(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Apply an element-wise operator that writes to its first argument."""
    target = values[0]
    if not isinstance(target, NestedTensor):
        operator.refuse("a strided tensor cannot take the values of a nested one", "write to x.values()")
    operator([align(operator, target, each) if isinstance(each, Tensor) else each for each in values])
    return target


def apply_to_values(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Apply an operator that treats each row of the values alone, such as a dtype's conversion or a draw."""
    first = find_nested(values)
    found = operator([each._dispatch_data.values if isinstance(each, NestedTensor) else each for each in values])
    if isinstance(found, Tensor) and found.device != first.device:
        return replace_values(first, found)
    return wrap_all(first._dispatch_data, found)


def wrap_all(record: Jagged, found: Any) -> Any:
    """Return results with the values' places as nested tensors."""
    if isinstance(found, (list, tuple)):
        return type(found)([wrap_all(record, each) for each in found])
    return wrap_values(record, found) if isinstance(found, Tensor) else found


def align(operator: Operator, first: NestedTensor, other: Tensor) -> Tensor:
    """Return the elements of an operand for the places of a nested tensor's values; see Note [Operands]."""
    record = first._dispatch_data
    if other is first:
        return record.values
    if isinstance(other, NestedTensor):
        theirs = other._dispatch_data
        has_same_rows = record.ragged == theirs.ragged == 1 and record.offsets is theirs.offsets
        if not (has_same_rows and record.lengths is theirs.lengths) and not fits(record, dc.shape(other)):
            refuse_shapes(operator, first, other)
        return theirs.values
    if other._dispatch_mask & LAYOUTS:
        operator.refuse(f"not supported between a nested tensor and one of layout {other.layout}")
    rank = first.dim()
    if other.dim() > rank:
        raise NotImplementedError(
            f"{operator.packet}(): broadcasting a nested tensor of {rank} dimensions with a tensor of {other.dim()}"
        )
    squeezed = other
    while squeezed.dim() and dc.shape(squeezed)[0] == 1:
        squeezed = squeezed.squeeze(0)
    if rank >= squeezed.dim() + 2:
        # The packed dimension, counted from the back.
        behind = rank - record.ragged
        if squeezed.dim() >= behind and dc.shape(squeezed)[-behind] != 1:
            refuse_shapes(operator, first, other)
        return squeezed
    sizes = dc.shape(other)
    if len(sizes) != rank or sizes[0] != dc.shape(first)[0]:
        refuse_shapes(operator, first, other)
    if sizes[record.ragged] == 1:
        rows, _ = locate(record)
        gathered = FUNCTIONS["index_select"](other.squeeze(record.ragged), 0, rows)
        return gathered.movedim(0, record.ragged - 1)
    if sizes[record.ragged] != record.find_longest():
        refuse_shapes(operator, first, other)
    return unpad(record, other)


def fits(record: Jagged, sizes: Sequence[int]) -> bool:
    """Return whether sizes have the same batch and the same ragged dimension as a nested tensor."""
    end = record.ragged + 1
    own = record.shape[:end]
    return len(sizes) >= end and all(size in (one, -1) for one, size in zip(own, sizes, strict=False))


def refuse_shapes(operator: Operator, one: Tensor, other: Tensor) -> None:
    """Raise ``RuntimeError`` for operands that do not fit, as torch words it."""
    raise RuntimeError(
        f"cannot call binary pointwise function {operator.name} with inputs of shapes {_show(one)} and {_show(other)}\n"
        "Hint: nested tensors fit where they have the same offsets, as one object: nested_tensor_from_jagged(values,"
        " x.offsets()) makes one that fits x"
    )


def _show(tensor: Tensor) -> tuple[int, ...]:
    return tuple(dc.shape(tensor))
