"""Weights of interpolation for images of uint8: integers, of which a pass sums products and shifts the sum right.

A weight is computed in double precision and multiplied by the power of two that brings the largest weight of the pass
closest to 2**15, as torch and Pillow do. So each pass rounds to whole numbers from 0 to 255, and the next one reads these.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["IntegerTaps", "integer_taps"]

_BITS: Final = 15
"""The largest weight has at most so many bits."""

_MOST_SHIFT: Final = 22

#: The weights of one element of the result: the first place in the input, those from there on, and the largest.
_Line = tuple[int, list[float], float]


class IntegerTaps(NamedTuple):
    """A pass: for each element that is summed, a place in the input and a weight for every element of the result."""

    places: list[list[int]]
    weights: list[list[int]]
    shift: int


def _triangle(x: float) -> float:
    return max(1.0 - abs(x), 0.0)


def _cubic(a: float, x: float) -> float:
    x = abs(x)
    if x < 1.0:
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a if x < 2.0 else 0.0


def _sinc(x: float) -> float:
    turned = x * math.pi
    return math.sin(turned) / turned if turned else 1.0


def _lanczos(x: float) -> float:
    return _sinc(x) * _sinc(x / 3.0) if -3.0 <= x < 3.0 else 0.0


#: Kind of interpolation → elements under the kernel where it is not widened, and the kernel.
_KERNELS: Final[dict[str, tuple[int, Callable[[float], float]]]] = {
    "linear": (2, _triangle),
    "cubic": (4, partial(_cubic, -0.75)),
    "smooth linear": (2, _triangle),
    "smooth cubic": (4, partial(_cubic, -0.5)),
    "smooth lanczos": (6, _lanczos),
}


def _smooth_line(kind: str, number: int, size: int, ratio: float) -> _Line:
    """Return the weights of a kernel as wide as a step of the result, which sum to 1."""
    count, kernel = _KERNELS[kind]
    support = count * 0.5 * max(ratio, 1.0)
    narrowed = 1.0 / ratio if ratio >= 1.0 else 1.0
    center = ratio * (number + 0.5)
    first = max(int(center - support + 0.5), 0)
    found = min(int(center + support + 0.5), size) - first
    found = min(max(found, 0), math.ceil(support) * 2 + 1)
    weights = [kernel((step + first - center + 0.5) * narrowed) for step in range(found)]
    total = 0.0
    for weight in weights:  # sum() is compensated on newer Pythons, and rounds otherwise
        total += weight
    if not total:
        return first, weights, 0.0
    weights = [weight / total for weight in weights]
    return first, weights, max(0.0, *weights)


def _plain_line(kind: str, number: int, size: int, ratio: float, align: bool) -> _Line:
    """Return the weights around one point; those of places outside of the image are added to the outermost one's.

    The largest is taken while they are added: so the sum's first part counts, where a negative weight follows.
    """
    count, kernel = _KERNELS[kind]
    center = ratio * number if align else ratio * (number + 0.5) - 0.5
    if kind == "linear":
        center = max(center, 0.0)
    middle = min(math.floor(center), size - 1)
    share = min(max(center - middle, 0.0), 1.0)
    lowest = middle - count // 2 + 1
    first = max(lowest, 0)
    found = min(max(min(lowest + count, size) - first, 0), count)
    weights, most = [0.0] * found, 0.0
    for step in range(count):
        place = min(max(lowest + step - first, 0), found - 1)
        weights[place] += kernel(step + 1 - count // 2 - share)
        most = max(most, weights[place])
    return first, weights, most


def _choose_shift(most: float) -> int:
    for shift in range(_MOST_SHIFT):
        if int(0.5 + most * (2 << shift)) >= 1 << _BITS:
            return shift
    return _MOST_SHIFT


def _round_away(value: float) -> int:
    return int(value - 0.5) if value < 0 else int(value + 0.5)


@lru_cache(maxsize=128)
def integer_taps(kind: str, size: int, wanted: int, ratio: float, align: bool) -> IntegerTaps:
    """Return the places and weights of a pass along a dimension of ``size`` whose result has ``wanted`` elements.

    ``ratio`` says how far one step in the result goes in the input.

    >>> places, weights, shift = integer_taps("linear", 2, 4, 0.5, False)
    >>> weights, shift
    ([[16384, 12288, 4096, 16384], [0, 4096, 12288, 0]], 14)
    """
    if kind.startswith("smooth"):
        lines = [_smooth_line(kind, number, size, ratio) for number in range(wanted)]
    else:
        lines = [_plain_line(kind, number, size, ratio, align) for number in range(wanted)]
    shift = _choose_shift(max(line[2] for line in lines))
    places, weights = [], []
    for step in range(max(len(line[1]) for line in lines)):
        places.append([min(first + step, size - 1) for first, _, _ in lines])
        weights.append([_round_away(line[step] * (1 << shift)) if step < len(line) else 0 for _, line, _ in lines])
    return IntegerTaps(places, weights, shift)
