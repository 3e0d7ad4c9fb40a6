"""``einsum``: every operand is brought to one order of all dimensions, and two at a time are multiplied and summed.

The order has the output's dimensions first; dimensions that an operand lacks have size 1 in it. A dimension is summed when
the last two operands that have it are multiplied.
"""

from __future__ import annotations

import string
from collections import Counter
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten
from dispatch_aten.errors import OperatorError

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def _parse(equation: str, counts: Sequence[int]) -> tuple[list[list[_Label]], list[_Label]]:
    """Return the labels of the dimensions of each operand, which has so many, and of the output."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(counts):
        which = "more" if len(parts) < len(counts) else "fewer"
        raise _fail(f"{which} operands were provided than specified in the equation", "tensors")
    read = [_read_subscripts(part, f"operand {place}") for place, part in enumerate(parts)]
    inputs = [
        _spread(subscripts, count, place) for place, (subscripts, count) in enumerate(zip(read, counts, strict=True))
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


class _Sides(NamedTuple):
    """The dimensions of the common order by where they are longer than 1: a product of stacks of matrices."""

    both: list[int]
    left: list[int]
    right: list[int]
    inner: list[int]
    #: Whether the right operand comes first, so that the result is row-major.
    turned: bool


def _find_sides(left: Sequence[int], right: Sequence[int], sums: Sequence[int]) -> _Sides:
    both, only_left, only_right, inner = [], [], [], []
    for dim, (a, b) in enumerate(zip(left, right, strict=True)):
        if dim in sums and a != 1 and b != 1:
            inner.append(dim)
        elif dim not in sums and a != 1 and b != 1:
            both.append(dim)
        elif dim not in sums and a != 1:
            only_left.append(dim)
        else:
            only_right.append(dim)
    turned = bool(only_left and only_right and only_right[-1] < only_left[0])
    return _Sides(both, *((only_right, only_left) if turned else (only_left, only_right)), inner, turned)


def _multiply(left: Array, right: Array, sums: Sequence[int]) -> Array:
    """Return the product summed over ``sums``, these dimensions kept with size 1."""
    if not sums:
        return aten.mul.Tensor(left, right)
    for dim in sums:
        has_left, has_right = dc.shape(left)[dim] != 1, dc.shape(right)[dim] != 1
        if has_left and not has_right:
            left = aten.sum.dim_IntList(left, [dim], True)
        elif has_right and not has_left:
            right = aten.sum.dim_IntList(right, [dim], True)
    sides = _find_sides(dc.shape(left), dc.shape(right), sums)
    if sides.turned:
        left, right = right, left
    a, b = dc.shape(left), dc.shape(right)
    stacks, rows, along = ([a[dim] for dim in dims] for dims in (sides.both, sides.left, sides.inner))
    columns = [b[dim] for dim in sides.right]
    count = prod(stacks)
    first = aten.permute.default(left, [*sides.both, *sides.left, *sides.inner, *sides.right])
    second = aten.permute.default(right, [*sides.both, *sides.inner, *sides.right, *sides.left])
    product = aten.bmm.default(
        aten.reshape.default(first, (count, prod(rows), prod(along))),
        aten.reshape.default(second, (count, prod(along), prod(columns))),
    )
    order = [*sides.both, *sides.left, *sides.inner, *sides.right]
    sizes = [*stacks, *rows, *(1 for _ in along), *columns]
    return aten.permute.default(aten.reshape.default(product, sizes), [order.index(dim) for dim in range(len(a))])


class _Step(NamedTuple):
    """An operand of a product of matrices: the permutation and the shape that it takes, None where it has them."""

    permutation: tuple[int, ...] | None
    shape: tuple[int, ...] | None

    def of(self, operand: Array) -> Array:
        """Return the operand in this form."""
        if self.permutation is not None:
            operand = aten.permute.default(operand, self.permutation)
        return operand if self.shape is None else aten.reshape.default(operand, self.shape)


class _Plan(NamedTuple):
    """The plan of ``_multiply`` for two operands of known shapes."""

    turned: bool
    first: _Step
    second: _Step
    is_stack: bool
    sizes: tuple[int, ...] | None
    permutation: tuple[int, ...] | None

    def multiply(self, left: Array, right: Array) -> Array:
        """Return the product of matrices, or of stacks of them, as the output has it."""
        if self.turned:
            left, right = right, left
        product = (aten.bmm if self.is_stack else aten.mm).default(self.first.of(left), self.second.of(right))
        if self.sizes is not None:
            product = aten.reshape.default(product, self.sizes)
        return product if self.permutation is None else aten.permute.default(product, self.permutation)


class _Broadcast(NamedTuple):
    """The plan where no dimension is summed but those of size 1, which ``sizes`` leaves out."""

    first: _Step
    second: _Step
    sizes: tuple[int, ...] | None

    def multiply(self, left: Array, right: Array) -> Array:
        """Return the product element by element."""
        product = aten.mul.Tensor(self.first.of(left), self.second.of(right))
        return product if self.sizes is None else aten.reshape.default(product, self.sizes)


def _make_step(labels: Sequence[_Label], shape: tuple[int, ...], order: Sequence[_Label], wanted: list[int]) -> _Step:
    permutation = tuple(labels.index(label) for label in order)
    plain = permutation == tuple(range(len(shape)))
    have = tuple(shape[dim] for dim in permutation)
    return _Step(None if plain else permutation, None if have == tuple(wanted) else tuple(wanted))


_Sizes = dict[_Label, int]


@lru_cache(maxsize=1024)
def _plan(equation: str, left: tuple[int, ...], right: tuple[int, ...]) -> _Plan | _Broadcast | None:
    """Plan the product of two operands; None where it is more than one product of matrices or of elements."""
    inputs, output = _parse(equation, [len(left), len(right)])
    a, b = (dict(zip(labels, shape, strict=True)) for labels, shape in zip(inputs, (left, right), strict=True))
    rest = sorted({*a, *b} - set(output), key=str)
    fit = all(a[label] == b[label] or 1 in (a[label], b[label]) for label in a.keys() & b.keys())
    if len(a) < len(left) or len(b) < len(right) or not fit:
        return None
    order = [*output, *rest]
    sizes_left, sizes_right = ([shape.get(label, 1) for label in order] for shape in (a, b))
    if all(a.get(label, 1) == b.get(label, 1) == 1 for label in rest):
        joined = tuple(other if one == 1 else one for one, other in zip(sizes_left, sizes_right, strict=True))
        return _Broadcast(
            _make_step(inputs[0], left, [label for label in order if label in a], sizes_left),
            _make_step(inputs[1], right, [label for label in order if label in b], sizes_right),
            joined[: len(output)] if rest else None,
        )
    if any(a.get(label) != b.get(label) or a[label] == 1 for label in rest):
        return None
    sides = _find_sides(sizes_left, sizes_right, range(len(output), len(order)))
    operands = [(inputs[0], left, a), (inputs[1], right, b)]
    (labels, shape, mine), (others, other_shape, theirs) = operands[::-1] if sides.turned else operands
    both, rows, columns, inner = (
        [order[dim] for dim in dims] for dims in (sides.both, sides.left, sides.right, sides.inner)
    )
    count = [prod(mine[label] for label in both)] if both else []
    along = prod(mine[label] for label in inner)
    height, width = prod(mine.get(label, 1) for label in rows), prod(theirs.get(label, 1) for label in columns)
    # Dimensions that one side lacks, or has with size 1, stand at the end of the other side's dimensions.
    first = [label for label in (*both, *rows, *inner, *columns) if label in mine]
    second = [label for label in (*both, *inner, *columns, *rows) if label in theirs]
    made = [*both, *rows, *columns]
    sizes = [*(mine[label] for label in both), *(mine.get(label, 1) for label in rows)]
    sizes += [theirs.get(label, 1) for label in columns]
    permutation = tuple(made.index(label) for label in output)
    return _Plan(
        sides.turned,
        _make_step(labels, shape, first, [*count, height, along]),
        _make_step(others, other_shape, second, [*count, along, width]),
        bool(both),
        None if sizes == [*count, height, width] else tuple(sizes),
        None if permutation == tuple(range(len(made))) else permutation,
    )


def _einsum(equation: str, tensors: Sequence[Array], *, path: Sequence[int] | None = None) -> Array:
    if not tensors:
        raise _fail("must provide at least one operand", "tensors")
    if len(tensors) == 2:
        plan = _plan(equation, *map(dc.shape, tensors))
        if plan is not None:
            return plan.multiply(*tensors)
    inputs, output = _parse(equation, [len(dc.shape(tensor)) for tensor in tensors])
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
