"""Sizes that depend on the dynamic dimensions of a model's inputs.

Note [Sizes of three traces]
    A model is traced with three sizes of each dynamic dimension. A number among the arguments of its operators that is not
    the same in all three is a size, which is found as a multiple of a product of dynamic dimensions, or as a multiple of one
    plus a number; the third trace confirms what the first two have suggested. Another number is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from .errors import OnnxExporterError

__all__ = ["DynamicSize", "find_size"]


@dataclass(frozen=True)
class DynamicSize:
    """A number that depends on dynamic dimensions: ``factor`` times the product of ``names``, plus ``rest``."""

    factor: Fraction
    names: tuple[str, ...]
    rest: int = 0

    def __str__(self) -> str:
        product = "*".join(self.names)
        scaled = product if self.factor == 1 else f"{self.factor}*{product}"
        return f"{scaled}{self.rest:+}" if self.rest else scaled

    def value(self, sizes: Mapping[str, int]) -> Fraction:
        """Return the number for sizes of the dynamic dimensions."""
        product = self.factor
        for name in self.names:
            product *= sizes[name]
        return product + self.rest


def find_size(numbers: Sequence[int], sizes: Mapping[str, Sequence[int]]) -> DynamicSize:
    """Return the size that has these numbers in the traces; see Note [Sizes of three traces].

    Raises ``OnnxExporterError`` where there is none.

    >>> str(find_size([6, 15, 28], {"batch": [2, 3, 4], "words": [3, 5, 7]}))
    'batch*words'
    >>> str(find_size([5, 9, 13], {"batch": [2, 3, 4], "words": [3, 5, 7]}))
    '4*batch-3'
    """
    for each in _candidates(numbers, sizes):
        if all(each.value({name: own[trace] for name, own in sizes.items()}) == n for trace, n in enumerate(numbers)):
            return each
    known = ", ".join(f"{name}={', '.join(map(str, own))}" for name, own in sizes.items())
    raise OnnxExporterError(f"the number {', '.join(map(str, numbers))} follows no dynamic dimension ({known})")


def _candidates(numbers: Sequence[int], sizes: Mapping[str, Sequence[int]]) -> Iterator[DynamicSize]:
    for count in range(1, len(sizes) + 1):
        for names in combinations(sizes, count):
            product = Fraction(1)
            for name in names:
                product *= sizes[name][0]
            yield DynamicSize(Fraction(numbers[0]) / product, names)
    for name, (first, second, *_) in sizes.items():
        factor = Fraction(numbers[1] - numbers[0], second - first)
        rest = numbers[0] - factor * first
        if rest.denominator == 1:
            yield DynamicSize(factor, (name,), int(rest))
