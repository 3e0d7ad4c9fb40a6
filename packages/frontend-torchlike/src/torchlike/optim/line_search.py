"""A search along a line for a step that fulfils Wolfe's conditions, as minFunc makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..tensors.tensor import Tensor


@dataclass(slots=True)
class _Point:
    """A step's size, with the loss, the gradient and the slope there."""

    size: Any
    loss: Any
    gradient: Tensor
    slope: Any


def _interpolate(a: _Point, b: _Point, low: Any, high: Any) -> Any:
    """Return the minimum between two bounds of the cubic polynomial through two points."""
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.size - b.size)
    square = d1**2 - a.slope * b.slope
    if square < 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    if a.size <= b.size:
        best = b.size - (b.size - a.size) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    else:
        best = a.size - (a.size - b.size) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2))
    return min(max(best, low), high)


def search_strong_wolfe(
    evaluate: Callable[[Any], tuple[Any, Tensor]],
    size: Any,
    direction: Tensor,
    loss: Any,
    gradient: Tensor,
    slope: Any,
    *,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance: float = 1e-9,
    max_calls: int = 25,
) -> tuple[Any, Tensor, Any, int]:
    """Return the loss and the gradient at the step that was found, its size, and the number of evaluations."""
    length = direction.abs().max()

    def visit(at: Any) -> _Point:
        new_loss, new_gradient = evaluate(at)
        return _Point(at, new_loss, new_gradient.clone(), new_gradient.dot(direction))

    def is_too_high(point: _Point, other: Any) -> bool:
        return bool(point.loss > loss + c1 * point.size * slope or point.loss >= other)

    start = _Point(0, loss, gradient.clone(), slope)
    last, now = start, visit(size)
    calls, rounds, is_done = 1, 0, False
    bracket = None
    while rounds < max_calls:
        if is_too_high(now, last.loss if rounds > 1 else float("inf")):
            bracket = [last, now]
            break
        if abs(now.slope) <= -c2 * slope:
            bracket, is_done = [now], True
            break
        if now.slope >= 0:
            bracket = [last, now]
            break
        ahead = _interpolate(last, now, now.size + 0.01 * (now.size - last.size), now.size * 10)
        last, now = now, visit(ahead)
        calls += 1
        rounds += 1
    if bracket is None:
        bracket = [start, now]
    low, high = (0, 1) if bracket[0].loss <= bracket[-1].loss else (1, 0)
    is_stuck = False
    while not is_done and rounds < max_calls:
        least, most = sorted(point.size for point in bracket)
        if (most - least) * length < tolerance:
            break
        first, second = bracket
        bounds = (first.size, second.size) if first.size <= second.size else (second.size, first.size)
        at = _interpolate(first, second, *bounds)
        margin = 0.1 * (most - least)
        if min(most - at, at - least) < margin:
            if is_stuck or at >= most or at <= least:
                at = most - margin if abs(at - most) < abs(at - least) else least + margin
                is_stuck = False
            else:
                is_stuck = True
        else:
            is_stuck = False
        now = visit(at)
        calls += 1
        rounds += 1
        if is_too_high(now, bracket[low].loss):
            bracket[high] = now
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
            continue
        if abs(now.slope) <= -c2 * slope:
            is_done = True
        elif now.slope * (bracket[high].size - bracket[low].size) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = now
    found = bracket[low]
    return found.loss, found.gradient, found.size, calls
