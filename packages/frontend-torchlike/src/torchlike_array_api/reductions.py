"""The standard's functions that reduce or accumulate elements along axes."""

from __future__ import annotations

__name__ = "torchlike.array_api.reductions"  # see Note [Public paths]

from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from torchlike.functions.operator_functions import FUNCTIONS
from torchlike.tensors.tensor import Tensor

from .operands import promote, resolve_axes

__all__ = [
    "all",
    "any",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]

Axes = int | tuple[int, ...] | None
_EMPTY: Final = ()


def _reduce(name: str, x: Tensor, axis: Axes, keepdims: bool, **options: Any) -> Tensor:
    return FUNCTIONS[name](x, resolve_axes(axis, x.ndim), keepdim=keepdims, **options)


def _widen(x: Tensor, dtype: ScalarType | None) -> ScalarType:
    """Return the dtype of a sum or a product: that of the elements, or for small integers the default one of their kind."""
    if dtype is not None:
        return dtype
    if x.dtype is ScalarType.Bool or (x.dtype.is_integral and x.dtype.is_signed):
        return ScalarType.Long
    return ScalarType.UInt64 if x.dtype.is_integral else x.dtype


def all(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return whether all elements along axes are true."""
    x = x if x.dtype is ScalarType.Bool else FUNCTIONS["ne"](x, 0)
    return x.clone() if axis == _EMPTY else _reduce("all", x, axis, keepdims)


def any(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return whether any element along axes is true."""
    x = x if x.dtype is ScalarType.Bool else FUNCTIONS["ne"](x, 0)
    return x.clone() if axis == _EMPTY else _reduce("any", x, axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return how many elements along axes are not 0."""
    return sum(FUNCTIONS["ne"](x, 0), axis=axis, keepdims=keepdims)


def _accumulate(name: str, first: int, x: Tensor, axis: int | None, dtype: Any, include_initial: bool) -> Tensor:
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"cumulative_{name}: axis is required for a tensor of {x.ndim} dimensions")
        axis = 0
    if not x.ndim:
        x = x.reshape(1)
    (axis,) = resolve_axes(axis, x.ndim)
    found = FUNCTIONS[f"cum{name}"](x, axis, dtype=_widen(x, dtype))
    if not include_initial:
        return found
    shape = (*found.shape[:axis], 1, *found.shape[axis + 1 :])
    return FUNCTIONS["cat"]([found.new_full(shape, first), found], axis)


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: ScalarType | None = None, include_initial: bool = False
) -> Tensor:
    """Return the products of the elements up to each one along an axis, after a 1 with ``include_initial``.

    >>> import torchlike
    >>> cumulative_prod(torchlike.tensor([2, 3]), include_initial=True)
    tensor([1, 2, 6])
    """
    return _accumulate("prod", 1, x, axis, dtype, include_initial)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: ScalarType | None = None, include_initial: bool = False
) -> Tensor:
    """Return the sums of the elements up to each one along an axis, after a 0 with ``include_initial``.

    >>> import torchlike
    >>> cumulative_sum(torchlike.tensor([2, 3]))
    tensor([2, 5])
    """
    return _accumulate("sum", 0, x, axis, dtype, include_initial)


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Return the ``n``-th differences of neighbours along an axis, with other elements put before and after them."""
    given = [each for each in (prepend, x, append) if each is not None]
    joined = FUNCTIONS["cat"](list(promote(*given)), axis)
    return FUNCTIONS["diff"](joined, n, axis)


def max(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the greatest elements along axes."""
    return x.clone() if axis == _EMPTY else _reduce("amax", x, axis, keepdims)


def mean(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the means of the elements along axes."""
    return x.clone() if axis == _EMPTY else _reduce("mean", x, axis, keepdims)


def min(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the least elements along axes."""
    return x.clone() if axis == _EMPTY else _reduce("amin", x, axis, keepdims)


def prod(x: Tensor, /, *, axis: Axes = None, dtype: ScalarType | None = None, keepdims: bool = False) -> Tensor:
    """Return the products of the elements along axes.

    >>> import torchlike
    >>> prod(torchlike.tensor([[1, 2], [3, 4]]), axis=(0, 1))
    tensor(24)
    """
    x = x.to(_widen(x, dtype))
    for each in sorted(resolve_axes(axis, x.ndim), reverse=True):
        x = FUNCTIONS["prod"](x, each, keepdims, dtype=x.dtype)
    return x


def std(x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Return the standard deviations of the elements along axes; divisors are the counts less ``correction``."""
    return FUNCTIONS["zeros_like"](x) if axis == _EMPTY else _reduce("std", x, axis, keepdims, correction=correction)


def sum(x: Tensor, /, *, axis: Axes = None, dtype: ScalarType | None = None, keepdims: bool = False) -> Tensor:
    """Return the sums of the elements along axes; those of small integers are 64 bits wide.

    >>> import torchlike
    >>> sum(torchlike.tensor([200, 100], dtype=torchlike.uint8))
    tensor(300, dtype=torchlike.uint64)
    """
    wide = _widen(x, dtype)
    return x.to(wide, copy=True) if axis == _EMPTY else _reduce("sum", x, axis, keepdims, dtype=wide)


def var(x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Return the variances of the elements along axes; divisors are the counts less ``correction``."""
    return FUNCTIONS["zeros_like"](x) if axis == _EMPTY else _reduce("var", x, axis, keepdims, correction=correction)
