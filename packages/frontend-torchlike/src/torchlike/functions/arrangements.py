"""Functions of shapes and of distinct elements that are no operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dispatch_core as dc

from ..creation.factories import tensor
from ..tensors.arguments import check_tensor
from ..tensors.tensor import Tensor
from ..values.size import Size
from .adapted_functions import select_results

__all__ = [
    "broadcast_shapes",
    "detach_",
    "is_distributed",
    "is_storage",
    "typename",
    "unique",
    "unravel_index",
]


def unique(
    input: Tensor,
    sorted: bool = True,  # torch's name
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the distinct elements in order, or the distinct slices along ``dim`` (source: ``torch.unique``).

    With ``return_inverse`` the place of each element among them follows, with ``return_counts`` how often each occurs.

    >>> import torchlike
    >>> unique(torchlike.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    check_tensor(input, "unique")
    aten: Any = dc.ops.aten
    if dim is None:
        found = aten._unique2(input, sorted, return_inverse, return_counts)
    else:
        found = aten.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return select_results(found, return_inverse, return_counts)


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """Return the shape that tensors of these shapes broadcast to (source: ``torch.broadcast_shapes``).

    Raises ``RuntimeError`` where they do not.

    >>> broadcast_shapes((2, 1), 3)
    torchlike.Size([2, 3])
    """
    read = [(each,) if isinstance(each, int) else tuple(each) for each in shapes]
    common: list[int] = [1] * max(map(len, read), default=0)
    for place, shape in enumerate(read):
        if any(size < 0 for size in shape):
            raise ValueError("Attempting to broadcast a dimension with negative length!")
        for back in range(-1, -len(shape) - 1, -1):
            if common[back] == 1:
                common[back] = shape[back]
            elif shape[back] not in (1, common[back]):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[back]} at {back}! Mismatching argument at index "
                    f"{place} had {shape}; but expected shape should be broadcastable to {common}"
                )
    return Size(common)


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Return the coordinates of places in a flattened tensor of this shape (source: ``torch.unravel_index``).

    Raises ``ValueError`` for shapes that are none, and for places that are not in it.

    >>> import torchlike
    >>> unravel_index(torchlike.tensor([5]), (2, 3))
    (tensor([1]), tensor([2]))
    """
    check_tensor(indices, "unravel_index", "indices")
    if not indices.dtype.is_integral:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, list, tuple)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape).__name__}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if not all(isinstance(size, int) for size in sizes):
        wrong = next(size for size in sizes if not isinstance(size, int))
        raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(wrong).__name__}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    aten: Any = dc.ops.aten
    steps = tensor([math.prod(sizes[place + 1 :]) for place in range(len(sizes))], device=indices.device)
    lengths = tensor(list(sizes), device=indices.device)
    turned = aten.floor_divide.default(aten.unsqueeze.default(indices, -1), aten.type_as.default(steps, indices))
    return tuple(aten.unbind.int(aten.remainder.Tensor(turned, aten.type_as.default(lengths, indices)), -1))


def typename(obj: Any, /) -> str:
    """Return the name of a tensor's type, or of an object's class with its module (source: ``torch.typename``).

    >>> import torchlike
    >>> typename(torchlike.ones(2)), typename([])
    ('torchlike.FloatTensor', 'list')
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", "") or ""
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"


def detach_(input: Tensor) -> Tensor:
    """Cut a tensor off its history, in place (source: ``torch.detach_``)."""
    check_tensor(input, "detach_")
    return input.detach_()


def is_distributed(input: Tensor) -> bool:
    """Return False: tensors lie on one device (source: ``torch.is_distributed``)."""
    check_tensor(input, "is_distributed")
    return False


def is_storage(obj: object, /) -> bool:
    """Return whether an object is a tensor's memory (source: ``torch.is_storage``)."""
    from ..tensors.storages import UntypedStorage

    return isinstance(obj, UntypedStorage)
