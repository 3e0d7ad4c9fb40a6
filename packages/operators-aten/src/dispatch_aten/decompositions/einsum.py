"""``einsum``: every operand is brought to one order of all dimensions, and two at a time are multiplied and summed.

The order has the output's dimensions first; dimensions that an operand lacks have size 1 in it. A dimension is summed when
the last two operands that have it are multiplied.
"""

from __future__ import annotations

import string
from collections import Counter
from math import prod
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.errors import OperatorError

from ._shared import Array, aten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: A label: a letter of the equation, or the number of a dimension under an ellipsis, from the last.
_Label = str | int


def _fail(text: str, argument: str = "equation") -> OperatorError:
    return OperatorError(f"einsum(): {text}", argument=argument)


def _read_subscripts(text: str, place: str) -> list[str]:
    """Return the letters of one operand, with "..." for an ellipsis."""
    found, index = [], 0
    while index < len(text):
        if text[index] == ".":
            if "..." in found:
                raise _fail(f"found '.' for {place} for which an ellipsis was already found")
            if text[index : index + 3] != "...":
                raise _fail(f"found '.' for {place} that is not part of any ellipsis")
            found.append("...")
            index += 3
            continue
        if text[index] not in string.ascii_letters:
            raise _fail(
                f"invalid subscript given at index {index} in the equation string, subscripts must be in [a-zA-Z]"
            )
        found.append(text[index])
        index += 1
    return found


def _spread(subscripts: list[str], ndim: int, place: int) -> list[_Label]:
    """Return one label for each dimension."""
    have = len(subscripts) - ("..." in subscripts)
    if "..." not in subscripts:
        if have != ndim:
            raise _fail(
                f"the number of subscripts in the equation ({have}) does not match the number of dimensions ({ndim}) for "
                f"operand {place} and no ellipsis was given"
            )
        return list(subscripts)
    if have > ndim:
        raise _fail(
            f"the number of subscripts in the equation ({have}) is more than the number of dimensions ({ndim}) for operand "
            f"{place}"
        )
    at = subscripts.index("...")
    return [*subscripts[:at], *range(ndim - have, 0, -1), *subscripts[at + 1 :]]


def _read_output(text: str | None, inputs: Sequence[Sequence[_Label]]) -> list[_Label]:
    covered = max((label for labels in inputs for label in labels if isinstance(label, int)), default=0)
    hidden: list[_Label] = list(range(covered, 0, -1))
    if text is None:
        counts = Counter(label for labels in inputs for label in labels)
        return [*hidden, *sorted(label for label in counts if isinstance(label, str) and counts[label] == 1)]
    found: list[_Label] = []
    for label in _read_subscripts(text, "the output"):
        if label == "...":
            found += hidden
            continue
        if label in found:
            raise _fail(f"output subscript {label} appears more than once in the output")
        if not any(label in labels for labels in inputs):
            raise _fail(f"output subscript {label} does not appear in the equation for any input operand")
        found.append(label)
    return found


def _parse(equation: str, tensors: Sequence[Array]) -> tuple[list[list[_Label]], list[_Label]]:
    """Return the labels of each operand's dimensions, and of the output's."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(tensors):
        which = "more" if len(parts) < len(tensors) else "fewer"
        raise _fail(f"{which} operands were provided than specified in the equation", "tensors")
    read = [_read_subscripts(part, f"operand {place}") for place, part in enumerate(parts)]
    inputs = [
        _spread(subscripts, len(dc.shape(tensor)), place)
        for place, (subscripts, tensor) in enumerate(zip(read, tensors, strict=True))
    ]
    return inputs, _read_output(right if arrow else None, inputs)


def _align(tensor: Array, labels: list[_Label], order: Sequence[_Label], place: int) -> Array:
    """Return an operand with its dimensions in the common order; of repeated labels the diagonal is taken."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            sizes = dc.shape(tensor)
            if sizes[first] != sizes[second]:
                raise _fail(
                    f"subscript {label} is repeated for operand {place} but the sizes don't match, {sizes[second]} != "
                    f"{sizes[first]}"
                )
            tensor = aten.movedim.int(aten.diagonal.default(tensor, 0, first, second), -1, first)
            del labels[second]
    tensor = aten.permute.default(tensor, [labels.index(label) for label in order if label in labels])
    for at, label in enumerate(order):
        if label not in labels:
            tensor = aten.unsqueeze.default(tensor, at)
    return tensor


def _check_sizes(operands: Sequence[Array], order: Sequence[_Label]) -> None:
    seen: dict[int, int] = {}
    for place, operand in enumerate(operands):
        for dim, size in enumerate(dc.shape(operand)):
            if size != 1 and seen.setdefault(dim, size) != size:
                raise _fail(
                    f"subscript {order[dim]} has size {size} for operand {place} which does not broadcast with previously "
                    f"seen size {seen[dim]}",
                    "tensors",
                )


def _find_path(
    inputs: Sequence[Sequence[_Label]], output: Sequence[_Label], tensors: Sequence[Array]
) -> list[tuple[int, ...]]:
    """Return opt_einsum's order of contractions, and from left to right where it is missing or not needed."""
    if len(inputs) > 2:
        try:
            from opt_einsum import contract_path  # type: ignore[import-untyped,unused-ignore]  # few programs multiply more than two operands
        except ImportError:
            pass
        else:
            letters = {
                label: chr(192 + at)
                for at, label in enumerate(dict.fromkeys(label for labels in inputs for label in labels))
            }
            parts = ["".join(letters[label] for label in labels) for labels in inputs]
            equation = ",".join(parts) + "->" + "".join(letters[label] for label in output)
            shapes = [tuple(dc.shape(tensor)) for tensor in tensors]
            return list(contract_path(equation, *shapes, shapes=True)[0])
    return [(0, 1)] * (len(inputs) - 1)


def _multiply(left: Array, right: Array, sums: Sequence[int]) -> Array:
    """Return the product summed over ``sums``, these dimensions kept with size 1: one product of stacks of matrices."""
    if not sums:
        return aten.mul.Tensor(left, right)
    both: list[int] = []
    only_left: list[int] = []
    only_right: list[int] = []
    inner: list[int] = []
    for dim in range(len(dc.shape(left))):
        in_left, in_right = dc.shape(left)[dim] != 1, dc.shape(right)[dim] != 1
        if dim in sums:
            if in_left and in_right:
                inner.append(dim)
            elif in_left:
                left = aten.sum.dim_IntList(left, [dim], True)
            elif in_right:
                right = aten.sum.dim_IntList(right, [dim], True)
        if dim not in inner:
            (
                both
                if in_left and in_right and dim not in sums
                else only_left
                if in_left and dim not in sums
                else only_right
            ).append(dim)
    if only_left and only_right and only_right[-1] < only_left[0]:
        # The operand with the earlier dimensions comes first, so that the result is row-major.
        left, right, only_left, only_right = right, left, only_right, only_left
    a, b = dc.shape(left), dc.shape(right)
    count, rows, columns, along = (
        prod(sizes[dim] for dim in dims) for sizes, dims in ((a, both), (a, only_left), (b, only_right), (a, inner))
    )
    first = aten.reshape.default(
        aten.permute.default(left, [*both, *only_left, *inner, *only_right]), (count, rows, along)
    )
    second = aten.reshape.default(
        aten.permute.default(right, [*both, *inner, *only_right, *only_left]), (count, along, columns)
    )
    product = aten.bmm.default(first, second)
    order = [*both, *only_left, *inner, *only_right]
    sizes = [
        *(a[dim] for dim in both),
        *(a[dim] for dim in only_left),
        *(1 for _ in inner),
        *(b[dim] for dim in only_right),
    ]
    return aten.permute.default(aten.reshape.default(product, sizes), [order.index(dim) for dim in range(len(a))])


def _einsum(equation: str, tensors: Sequence[Array], *, path: Sequence[int] | None = None) -> Array:
    if not tensors:
        raise _fail("must provide at least one operand", "tensors")
    inputs, output = _parse(equation, tensors)
    rest = sorted({label for labels in inputs for label in labels} - set(output), key=str)
    order = [*output, *rest]
    operands = [_align(*each, order, place) for place, each in enumerate(zip(tensors, inputs, strict=True))]
    _check_sizes(operands, order)
    steps = _find_path(inputs, output, tensors) if path is None else list(zip(path[::2], path[1::2], strict=True))
    counts = [sum(label in labels for labels in inputs) for label in order]
    for first, second in ((min(step), max(step)) for step in steps if len(step) > 1):
        right, left = operands.pop(second), operands.pop(first)
        sums = []
        for dim in range(len(output), len(order)):
            if dc.shape(left)[dim] != 1 and dc.shape(right)[dim] != 1:
                counts[dim] -= 1
            if counts[dim] == 1 and (dc.shape(left)[dim] != 1 or dc.shape(right)[dim] != 1):
                counts[dim] = 0
                sums.append(dim)
        operands.append(_multiply(left, right, sums))
    return _finish(operands[0], len(output))


def _finish(found: Array, kept: int) -> Array:
    """Sum the dimensions that are left over and leave them out."""
    others = list(range(kept, len(dc.shape(found))))
    if any(dc.shape(found)[dim] != 1 for dim in others):
        return aten.sum.dim_IntList(found, others)
    return aten.squeeze.dims(found, others) if others else found


IMPLICIT: Final[dict[str, Callable[..., Any]]] = {"einsum": _einsum}

EXPLICIT: Final[dict[str, Callable[..., Any]]] = {}
