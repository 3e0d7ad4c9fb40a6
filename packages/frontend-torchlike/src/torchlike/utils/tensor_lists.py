"""Many tensors in one, as programs send them, and apart again (source: ``torch._utils``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor

__all__ = ["flatten_dense_tensors", "reorder_tensors_as", "take_tensors", "unflatten_dense_tensors"]


def flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """Return the elements of all tensors, of one dtype, in one dimension.

    >>> import torchlike
    >>> flatten_dense_tensors([torchlike.ones(2, 1), torchlike.zeros(1)])
    tensor([1., 1., 0.])
    """
    found: Tensor = FUNCTIONS["cat"]([tensor.contiguous().view(-1) for tensor in tensors])
    return found


def unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Return the parts of a flat tensor in the shapes of others, as views.

    Raises ``RuntimeError`` for a tensor that is too short.

    >>> import torchlike
    >>> flat = torchlike.arange(3.0)
    >>> unflatten_dense_tensors(flat, [torchlike.ones(2, 1), torchlike.zeros(1)])
    (tensor([[0.],
            [1.]]), tensor([2.]))
    """
    found, start = [], 0
    for tensor in tensors:
        size = tensor.numel()
        found.append(flat.narrow(0, start, size).view_as(tensor))
        start += size
    return tuple(found)


def take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Return an iterator over lists of tensors of one type with at most ``size_limit`` bytes, or one tensor, each.

    >>> import torchlike
    >>> parts = [torchlike.ones(2), torchlike.ones(3).double(), torchlike.ones(1), torchlike.ones(4)]
    >>> [[tensor.numel() for tensor in chunk] for chunk in take_tensors(parts, 12)]
    [[2, 1], [4], [3]]
    """
    each: Any
    open_lists: dict[str, tuple[list[Tensor], int]] = {}
    for each in tensors:
        tensor, kind = each, each.type()
        stored = (tensor._indices(), tensor._values()) if tensor.is_sparse else (tensor,)
        size = sum(part.numel() * part.element_size() for part in stored)
        chunk, total = open_lists.get(kind, ([], 0))
        if total and total + size > size_limit:
            yield chunk
            chunk, total = [], 0
        open_lists[kind] = ([*chunk, tensor], total + size)
    for chunk, _ in open_lists.values():
        yield chunk


def reorder_tensors_as(tensors: Iterable[Tensor], ordered_tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Return tensors, of which those of one type are in order, in the order that the types have in others.

    >>> import torchlike
    >>> a, b = torchlike.ones(1), torchlike.ones(1).double()
    >>> [each.dtype for each in reorder_tensors_as([b, b, a], [a, b, b])]
    [torchlike.float32, torchlike.float64, torchlike.float64]
    """
    by_kind: dict[str, list[Tensor]] = {}
    for tensor in tensors:
        by_kind.setdefault(tensor.type(), []).append(tensor)
    queues = {kind: iter(each) for kind, each in by_kind.items()}
    return tuple(next(queues[tensor.type()]) for tensor in ordered_tensors)
