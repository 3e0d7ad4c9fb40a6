"""Numbers of replayed programs, which live on the program's devices and change there.

Note [Numbers]
    Numbers are arguments of compiled functions: a new learning rate compiles nothing. Where a program is replayed those that
    are the same each time are its constants. The others are computed in it, in float64, of *roots*: the numbers that the
    replay reads, such as a setting or a count of steps, and such as XLA would compute in another way than Python. Roots stay
    on the devices. A root that the replay changes by adding and subtracting, which are exact, changes there as well; so a
    replay puts a root only where its number is not the one that the last replay has left. Roots that change in the same way
    and have the same number, such as the counts of steps of several parameters, are one.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import jax

from dispatch_core.planning import evaluate, in_order, is_expression

#: What XLA computes as Python does, of floats; and what it computes to the last bit.
_COMPUTED: Final = frozenset(
    (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.neg, operator.pos, operator.abs)
)
_EXACT: Final = frozenset((operator.add, operator.sub, operator.neg, operator.pos))


class HeldRoots(NamedTuple):
    """Roots on the devices."""

    #: Those that the next replay is to begin with, and whether one of them is 0, which has a sign.
    expected: tuple[Any, ...]
    has_zero: bool
    #: For each root the first one that it is one with.
    first: tuple[int, ...]
    #: Their arrays, one for all that are one.
    arrays: list[Any]


class Numbers:
    """The numbers of a part of a program: the roots, and how each number is computed."""

    def __init__(self, sources: dict[int, Any]) -> None:
        #: Index of a value → its expression.
        self._sources = sources
        self.roots = tuple(_find_roots([*sources.values()]))
        self._ways = [_way_of(root) for root in self.roots]

    def compute(self, first: tuple[int, ...], given: Sequence[Any]) -> tuple[dict[int, Any], list[Any]]:
        """Return the numbers by the indices of their values, and the roots afterwards; ``given`` are arrays of the roots."""
        places = list(dict.fromkeys(first))
        of = dict(zip(places, given, strict=True))
        known = {id(root): of[place] for root, place in zip(self.roots, first, strict=True)}
        changing = [self.roots[place].after for place in places if self._ways[place] is not None]
        for each in in_order([*self._sources.values(), *changing]):
            if id(each) in known or each.function not in _COMPUTED:
                continue
            operands = [known.get(id(operand)) if is_expression(operand) else operand for operand in each.operands]
            if all(operand is not None for operand in operands):
                known[id(each)] = each.function(*operands)
        return {index: known[id(source)] for index, source in self._sources.items()}, [
            known[id(each)] for each in changing
        ]

    def put(self, held: HeldRoots | None, now: tuple[Any, ...], where: Any) -> HeldRoots:
        """Return the roots on the devices, with those of ``now``: those that have changed are put there together."""
        first: list[int] = []
        seen: dict[Any, int] = {}
        for place, (number, way) in enumerate(zip(now, self._ways, strict=True)):
            first.append(place if way is None else seen.setdefault((repr(number), way), place))
        known: dict[str, Any] = {}
        if held is not None:
            places = list(dict.fromkeys(held.first))
            known = {repr(held.expected[place]): each for place, each in zip(places, held.arrays, strict=True)}
        wanted = {repr(now[place]): now[place] for place in dict.fromkeys(first)}
        missing = {key: number for key, number in wanted.items() if key not in known}
        if missing:
            known |= jax.device_put(missing, where)
        return HeldRoots(
            now, 0 in now, tuple(first), [known[key] for key in map(repr, map(now.__getitem__, dict.fromkeys(first)))]
        )

    def follow(self, held: HeldRoots, after: tuple[Any, ...], changed: Sequence[Any]) -> HeldRoots:
        """Return the roots as a replay has left them; ``changed`` are arrays of those that the program has changed."""
        rest, arrays, expected = iter(changed), [], list(held.expected)
        for place, array in zip(dict.fromkeys(held.first), held.arrays, strict=True):
            arrays.append(array if self._ways[place] is None else next(rest))
        for place, way in enumerate(self._ways):
            if way is not None:
                expected[place] = after[place]
        return HeldRoots(tuple(expected), 0 in expected, held.first, arrays)


def fits(held: HeldRoots, now: tuple[Any, ...]) -> bool:
    """Return whether a replay begins with the roots that the last one has left."""
    return held.expected == now and not (held.has_zero and list(map(repr, now)) != list(map(repr, held.expected)))


def _find_roots(expressions: Sequence[Any]) -> list[Any]:
    """Return the expressions that a program is given: the others are computed of them."""
    found, seen = [], set()
    waiting = [*reversed(expressions)]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if _can_compute(each, _COMPUTED):
            waiting += [operand for operand in reversed(each.operands) if is_expression(operand)]
        else:
            found.append(each)
    return found


def _can_compute(expression: Any, functions: frozenset[Any]) -> bool:
    """Return whether an expression is computed of floats alone, and constants, by one of some functions."""
    return expression.function in functions and all(
        _is_float(operand) if is_expression(operand) else type(operand) in (int, float)
        for operand in expression.operands
    )


def _is_float(expression: Any) -> bool:
    try:
        return type(evaluate(expression)) is float
    except Exception:  # noqa: BLE001  # the program's own function
        return False


def _way_of(root: Any) -> Any:
    """Return how a program changes a root, as what two of them that do it alike share; None for one that it does not."""
    if root.after is None or root.after is root:
        return None

    def walk(each: Any) -> Iterator[Any]:
        if each is root:
            yield None
        elif not is_expression(each):
            yield each
        elif not _can_compute(each, _EXACT):
            raise ValueError
        else:
            yield each.function
            for operand in each.operands:
                yield from walk(operand)

    try:
        return tuple(walk(root.after))
    except (ValueError, RecursionError):
        return None
