"""Where the arguments of a call go, and where its results lie, by what the operator does to dimensions.

Note [Choice]
    Each dimension of a mesh is looked at for itself. The calls that are right there are: cut at a label that an argument is
    cut at, numbers that are to be summed where the operator is linear, and all whole. The one whose arguments cost least to
    move, by the number of elements that go between processes, is taken; of equal ones the first. Numbers that are to be
    summed are summed at some time: where they stay so, and another argument is gathered for that, the sum of the result is
    part of the price.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any, Final, TypeAlias

from .dims import Dims
from .types import Partial, Placement, Replicate, Shard

__all__ = ["Choice", "choose", "cost"]

Placements: TypeAlias = "tuple[Placement, ...]"

_WHOLE: Final = Replicate()
#: What a move costs that sends nothing, and what one costs at least that does, in elements.
_SLICE, _LATENCY = 0.5, 1.0


@dataclass(frozen=True)
class Choice:
    """The placements of the arguments and of the results of a call."""

    inputs: tuple[Placements, ...]
    outputs: tuple[Placements, ...]


def cost(source: Placement, target: Placement, elements: int, count: int, *, is_addend: bool = False) -> float:
    """Return what it costs to move a tensor along a dimension of a mesh with so many processes; infinite if it cannot be."""
    if source == target:
        return 0
    if isinstance(target, Partial):
        return _SLICE if is_addend and isinstance(source, Replicate) and target.reduce_op == "sum" else inf
    if isinstance(source, Replicate):
        return _SLICE
    sent = elements * (count - 1) / count
    if isinstance(source, Partial) and isinstance(target, Replicate):
        sent *= 2
    elif isinstance(source, Shard) and isinstance(target, Shard):
        sent /= count
    return _LATENCY + sent


def choose(
    dims: Dims,
    shapes: Sequence[tuple[int, ...]],
    placements: Sequence[Placements],
    mesh_shape: Sequence[int],
    *,
    target: Placements | None = None,
) -> Choice | None:
    """Return where arguments of these shapes and placements go; None where no choice is right: see Note [Choice].

    With ``target`` the first argument stays, and the first result lies as it does.
    """
    inputs: list[list[Placement]] = [[] for _ in shapes]
    outputs: list[list[Placement]] = [[] for _ in dims.outputs]
    elements = [prod(shape) for shape in shapes]
    parts: dict[Any, int] = {}
    for dim, count in enumerate(mesh_shape):
        now = [each[dim] for each in placements]
        best, found = inf, None
        for label, wanted, made in _candidates(dims, now, parts, count):
            if target is not None and (wanted[0] != now[0] or made[0] != target[dim]):
                continue
            price = sum(
                0
                if rank in dims.unread and isinstance(one, Partial)
                else cost(one, other, size, count, is_addend=rank in dims.addends)
                for rank, (one, other, size) in enumerate(zip(now, wanted, elements, strict=True))
            )
            if label is None and _LATENCY <= price < best:
                price += sum(
                    cost(each, _WHOLE, size, count) for each, size in zip(made, _sizes(dims, shapes), strict=True)
                )
            if price < best:
                best, found = price, (label, wanted, made)
        if found is None:
            return None
        label, wanted, made = found
        if label is not None:
            parts[label] = parts.get(label, 1) * count
        for given, each in zip((*inputs, *outputs), (*wanted, *made), strict=True):
            given.append(each)
    return Choice(tuple(map(tuple, inputs)), tuple(map(tuple, outputs)))


def _sizes(dims: Dims, shapes: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the numbers of elements of the results, as far as the labels tell them."""
    known: dict[Any, int] = {}
    for labels, shape in zip(dims.inputs, shapes, strict=True):
        known.update(zip(labels, shape, strict=False))
    known |= {None: 1, **dims.sizes}
    return [prod(known.get(label, 1) for label in labels) for labels in dims.outputs]


def _candidates(
    dims: Dims, now: Sequence[Placement], parts: dict[Any, int], count: int
) -> Iterator[tuple[Any, list[Placement], list[Placement]]]:
    """Yield the calls that are right along a dimension of a mesh: the label, and the placements of arguments and results."""
    seen = set()
    for labels, placement in zip(dims.inputs, now, strict=True):
        if not isinstance(placement, Shard) or placement.dim >= len(labels):
            continue
        label = labels[placement.dim]
        if label is None or label in dims.whole or label in seen:
            continue
        seen.add(label)
        if label in dims.even and dims.even[label] % (parts.get(label, 1) * count):
            continue
        summed = Partial(dims.combine)
        made = [_cut(each, label, summed) for each in dims.outputs]
        added = summed if dims.outputs and label not in dims.outputs[0] else _WHOLE
        yield (
            label,
            [_cut(each, label, added if rank in dims.addends else _WHOLE) for rank, each in enumerate(dims.inputs)],
            made,
        )
    for ranks in dims.linear:
        ways = {each for rank, each in enumerate(now) if rank in ranks - dims.addends and isinstance(each, Partial)}
        if len(ways) == 1:
            (way,) = ways
            if dims.any_way or way.reduce_op in ("sum", "avg"):
                yield (
                    None,
                    [way if rank in ranks else _WHOLE for rank in range(len(now))],
                    [way for _ in dims.outputs],
                )
    yield None, [_WHOLE for _ in now], [_WHOLE for _ in dims.outputs]


def _cut(labels: Sequence[Any], label: Any, otherwise: Placement) -> Placement:
    return Shard(labels.index(label)) if label in labels else otherwise
