"""The standard's functions that arrange and pick elements."""

from __future__ import annotations

__name__ = "torchlike.array_api.manipulation"  # see Note [Public paths]

from typing import Any

from dispatch_aten.dtypes import ScalarType
from torchlike.functions.arrangements import broadcast_shapes as find_broadcast
from torchlike.functions.operator_functions import FUNCTIONS
from torchlike.tensors.tensor import Tensor

from .operands import promote, resolve_axes

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "take",
    "take_along_axis",
    "tile",
    "unstack",
]

Axes = int | tuple[int, ...]


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """Return views of tensors in the shape that all of them broadcast to."""
    return tuple(FUNCTIONS["broadcast_tensors"](list(arrays))) if arrays else ()


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to; ``ValueError`` where they do not.

    >>> broadcast_shapes((3, 1), (2,))
    (3, 2)
    """
    try:
        return tuple(find_broadcast(*shapes))
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """Return a view of a tensor in a shape that it broadcasts to."""
    return FUNCTIONS["broadcast_to"](x, shape)


def concat(arrays: tuple[Tensor, ...] | list[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Return tensors joined along an axis, or flattened one after the other for None.

    >>> import torchlike
    >>> concat([torchlike.ones(1, 2), torchlike.zeros(1, 2)])
    tensor([[1., 1.],
            [0., 0.]])
    """
    joined = promote(*arrays)
    if axis is None:
        joined, axis = tuple(each.reshape(-1) for each in joined), 0
    return FUNCTIONS["cat"](list(joined), axis)


def expand_dims(x: Tensor, /, axis: Axes) -> Tensor:
    """Return a view with dimensions of size 1 put in at ``axis``, positions in the result.

    Raises ``IndexError`` for one that is out of range.
    """
    many = axis if isinstance(axis, (tuple, list)) else (axis,)
    for each in sorted(resolve_axes(tuple(many), x.ndim + len(many))):
        x = FUNCTIONS["unsqueeze"](x, each)
    return x


def flip(x: Tensor, /, *, axis: Axes | None = None) -> Tensor:
    """Return the elements in the reverse order along axes, all of them for None."""
    return FUNCTIONS["flip"](x, resolve_axes(axis, x.ndim))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Return a view with the last two dimensions exchanged; ``ValueError`` where there are fewer."""
    if x.ndim < 2:
        raise ValueError(f"matrices have at least 2 dimensions, not {x.ndim}")
    return x.mT


def moveaxis(x: Tensor, source: Axes, destination: Axes, /) -> Tensor:
    """Return a view with dimensions moved to other positions."""
    return FUNCTIONS["moveaxis"](x, source, destination)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """Return a view with the dimensions in another order."""
    return FUNCTIONS["permute"](x, axes)


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return each element along an axis repeated, of the flattened tensor for None.

    >>> import torchlike
    >>> repeat(torchlike.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if isinstance(repeats, Tensor):
        repeats = repeats.to(ScalarType.Long) if repeats.ndim else int(repeats)
    return FUNCTIONS["repeat_interleave"](x, repeats, dim=axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """Return the elements in another shape: a view where possible, a copy if ``copy`` is True.

    Raises ``ValueError`` where ``copy`` is False and no view has that shape.
    """
    if copy:
        x = x.clone()
    if copy is not False:
        return FUNCTIONS["reshape"](x, shape)
    try:
        return x.view(shape)
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def roll(x: Tensor, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """Return the elements moved along axes, those that leave one end coming in at the other."""
    if axis is None:
        return FUNCTIONS["roll"](x, shift)
    if isinstance(axis, (tuple, list)) and isinstance(shift, int):
        shift = (shift,) * len(axis)
    return FUNCTIONS["roll"](x, shift, axis)


def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
    """Return a view without dimensions of size 1; ``ValueError`` for one of another size."""
    axes = resolve_axes(axis, x.ndim)
    for each in axes:
        if x.shape[each] != 1:
            raise ValueError(f"squeeze: axis {each} has size {x.shape[each]}, not 1")
    return FUNCTIONS["squeeze"](x, axes)


def stack(arrays: tuple[Tensor, ...] | list[Tensor], /, *, axis: int = 0) -> Tensor:
    """Return tensors of one shape joined along a new axis."""
    return FUNCTIONS["stack"](list(promote(*arrays)), axis)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return the elements at indices along an axis, which a vector has only one of.

    >>> import torchlike
    >>> take(torchlike.tensor([5, 6, 7]), torchlike.tensor([2, -1, 0]))
    tensor([7, 7, 5])
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: axis is required for a tensor of {x.ndim} dimensions")
        axis = 0
    (axis,) = resolve_axes(axis, x.ndim)
    places: Any = (*(slice(None),) * axis, indices)
    return x[places]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the elements whose positions along an axis are given for each of the other positions.

    >>> import torchlike
    >>> take_along_axis(torchlike.tensor([[1, 2], [3, 4]]), torchlike.tensor([[1], [0]]))
    tensor([[2],
            [3]])
    """
    (axis,) = resolve_axes(axis, x.ndim)
    places = indices.to(ScalarType.Long)
    places = FUNCTIONS["where"](places < 0, places + x.shape[axis], places)
    return FUNCTIONS["take_along_dim"](x, places, axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """Return copies of a tensor side by side, as often along each axis as ``repetitions`` say."""
    return FUNCTIONS["tile"](x, repetitions)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the views of a tensor at each position of an axis."""
    return tuple(FUNCTIONS["unbind"](x, axis))
