"""Checking and wrapping of sizes, dimensions and indices, with torch's errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dispatch_aten.errors import DimensionError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence


#: Below it lie the numbers by which frontends represent sizes that are symbols, those of ragged dimensions.
_RAGGED: Final = -(1 << 39)


def refuse_ragged(size: Sequence[int], argument: str = "size") -> None:
    """Refuse the size of a ragged dimension, which no ordinary tensor has."""
    if any(length < _RAGGED for length in size):
        shown = ", ".join("ragged" if length < _RAGGED else str(length) for length in size)
        raise ShapeError(
            f"expected the size to contain only concrete integers, but got [{shown}], as a nested tensor's",
            argument=argument,
            hint="operators of the nested tensor itself broadcast to its rows",
        )


def check_size(size: Sequence[int], argument: str = "size") -> tuple[int, ...]:
    """Return a shape as a tuple; refuse negative lengths."""
    for length in size:
        if length < 0:
            refuse_ragged(size, argument)
            raise ShapeError(
                f"Trying to create tensor with negative dimension {length}: {list(size)}", argument=argument
            )
    return tuple(size)


def wrap_dim(dim: int, ndim: int, *, argument: str = "dim", scalar: bool = True) -> int:
    """Turn a negative dimension into its positive number.

    A tensor without dimensions counts as having one where ``scalar`` is true. Raises ``DimensionError``.

    >>> wrap_dim(-1, 3)
    2
    """
    size = ndim
    if ndim == 0:
        if not scalar:
            raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions", argument=argument)
        size = 1
    if -size <= dim < size:
        return dim + size if dim < 0 else dim
    raise DimensionError(
        f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})", argument=argument
    )


def wrap_dims(
    dims: int | Sequence[int] | None, ndim: int, *, argument: str = "dim", all_if_empty: bool = True
) -> tuple[int, ...]:
    """Wrap a list of dimensions; None, and an empty list where ``all_if_empty``, mean every dimension.

    Raises ``DimensionError``, and ``ShapeError`` where one appears twice.

    >>> wrap_dims([-1, 0], 3), wrap_dims(None, 2)
    ((2, 0), (0, 1))
    """
    if dims is None:
        return tuple(range(ndim))
    if isinstance(dims, int):
        dims = (dims,)
    if not dims:
        return tuple(range(ndim)) if all_if_empty else ()
    wrapped = tuple(wrap_dim(dim, ndim, argument=argument) for dim in dims)
    for place, dim in enumerate(wrapped):
        if dim in wrapped[:place]:
            raise ShapeError(f"dim {dim} appears multiple times in the list of dims", argument=argument)
    return wrapped


def reduced_shape(shape: tuple[int, ...], dims: Sequence[int], keepdim: bool) -> tuple[int, ...]:
    """Return the shape that is left when wrapped ``dims`` are reduced.

    >>> reduced_shape((2, 3, 4), (1,), keepdim=False), reduced_shape((2, 3, 4), (1,), keepdim=True)
    ((2, 4), (2, 1, 4))
    """
    if keepdim:
        return tuple(1 if dim in dims else size for dim, size in enumerate(shape))
    return tuple(size for dim, size in enumerate(shape) if dim not in dims)
