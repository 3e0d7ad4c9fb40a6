"""The standard's functions that search, sort, and find distinct elements."""

from __future__ import annotations

__name__ = "torchlike.array_api.searching"  # see Note [Public paths]

from typing import Literal, NamedTuple

from dispatch_aten.dtypes import ScalarType
from torchlike.functions.operator_functions import FUNCTIONS
from torchlike.tensors.tensor import Tensor

from .operands import promote

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "isin",
    "nonzero",
    "searchsorted",
    "sort",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "where",
]


def _find_extreme(name: str, x: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    if axis is not None:
        return FUNCTIONS[name](x, axis, keepdims)
    found = FUNCTIONS[name](x.reshape(-1), 0)
    return found.reshape((1,) * x.ndim) if keepdims else found


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the positions of the first greatest elements along an axis, in the flattened tensor for None."""
    return _find_extreme("argmax", x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the positions of the first least elements along an axis, in the flattened tensor for None."""
    return _find_extreme("argmin", x, axis, keepdims)


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the positions of the elements in order along an axis.

    >>> import torchlike
    >>> argsort(torchlike.tensor([3, 1, 2]), descending=True)
    tensor([0, 2, 1])
    """
    return FUNCTIONS["argsort"](x, dim=axis, descending=descending, stable=stable)


def isin(x1: Tensor | complex, x2: Tensor | complex, /, *, invert: bool = False) -> Tensor:
    """Return whether each element of ``x1`` is among those of ``x2``; with ``invert``, whether it is not.

    >>> import torchlike
    >>> isin(torchlike.tensor([1, 2, 3]), torchlike.tensor([2, 5]))
    tensor([False,  True, False])
    """
    elements, among = promote(x1, x2)
    found = (elements.reshape(-1, 1) == among.reshape(1, -1)).any(1).reshape(tuple(elements.shape))
    return ~found if invert else found


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Return the positions of the elements that are not 0, one vector for each dimension.

    Raises ``ValueError`` for a tensor without dimensions.
    """
    if not x.ndim:
        raise ValueError("nonzero: a tensor without dimensions has no positions")
    return tuple(FUNCTIONS["nonzero"](x).unbind(1))


def searchsorted(
    x1: Tensor,
    x2: Tensor | complex,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Tensor | None = None,
) -> Tensor:
    """Return the positions in a sorted vector before which the elements of ``x2`` would keep it sorted.

    >>> import torchlike
    >>> searchsorted(torchlike.tensor([1., 3., 5.]), torchlike.tensor([3.]), side="right")
    tensor([2])
    """
    if sorter is not None:
        x1 = x1[sorter]
    sequence, values = promote(x1, x2)
    return FUNCTIONS["searchsorted"](sequence.contiguous(), values.contiguous(), side=side)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the elements in order along an axis.

    >>> import torchlike
    >>> sort(torchlike.tensor([3, 1, 2]))
    tensor([1, 2, 3])
    """
    return FUNCTIONS["sort"](x, dim=axis, descending=descending, stable=stable)[0]


class UniqueAllResult(NamedTuple):
    """The distinct elements, where each occurs first, where it is among them, and how often it occurs."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """The distinct elements and how often each occurs."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """The distinct elements and where each element is among them."""

    values: Tensor
    inverse_indices: Tensor


def _order(elements: Tensor) -> Tensor:
    """Return the positions that put a vector in order, complex numbers by their real parts first."""
    if not elements.is_complex():
        return argsort(elements)
    order = argsort(elements.imag)
    return order[argsort(elements.real[order])]


def unique_all(x: Tensor, /) -> UniqueAllResult:
    """Return the distinct elements in order, each NaN counting for itself, with their positions and counts.

    >>> import torchlike
    >>> found = unique_all(torchlike.tensor([3, 1, 3]))
    >>> found.values, found.indices, found.inverse_indices, found.counts
    (tensor([1, 3]), tensor([1, 0]), tensor([1, 0, 1]), tensor([1, 2]))
    """
    elements = x.reshape(-1)
    order = _order(elements)
    ordered = elements[order]
    is_first = FUNCTIONS["ones_like"](ordered, dtype=ScalarType.Bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    (places,) = nonzero(is_first)
    inverse = FUNCTIONS["empty_like"](order)
    inverse[order] = is_first.cumsum(0) - 1
    ends = FUNCTIONS["cat"]([places[1:], places.new_full((min(1, len(elements)),), len(elements))])
    return UniqueAllResult(ordered[places], order[places], inverse.reshape(tuple(x.shape)), ends - places)


def unique_counts(x: Tensor, /) -> UniqueCountsResult:
    """Return the distinct elements in order and how often each occurs."""
    found = unique_all(x)
    return UniqueCountsResult(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverseResult:
    """Return the distinct elements in order and where each element of ``x`` is among them."""
    found = unique_all(x)
    return UniqueInverseResult(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """Return the distinct elements in order."""
    return unique_all(x).values


def where(condition: Tensor, x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
    """Return the elements of ``x1`` where the condition holds, and those of ``x2`` elsewhere.

    >>> import torchlike
    >>> where(torchlike.tensor([True, False]), torchlike.tensor([1, 2]), 0)
    tensor([1, 0])
    """
    return FUNCTIONS["where"](condition, *promote(x1, x2))
