"""Communication between processes with gradients (source: ``torch.distributed.nn.functional``).

Each call is linear in its tensors, and its gradient is another call of the kind: every rank takes part in backward, too.
Ranks are those among all processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...autograd.function import Function
from .. import collectives, exchanges
from ..process_groups import default_group, find_group

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]


class _Exchange(Function):
    """A call, and the one that carries its gradients back."""

    @staticmethod
    def forward(ctx: Any, run: Callable[..., Any], back: Callable[..., Sequence[Any]], *tensors: Any) -> Any:
        ctx.back = back
        return run(*tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, None, *ctx.back(*(each.contiguous() for each in grads)))


def _position(name: str, group: Any) -> tuple[int, int]:
    """Return the rank among all processes, and the size of the group."""
    return default_group(name).rank, find_group(name, group).size


def _copy(tensor: Any) -> Any:
    return tensor.detach().clone().contiguous()


def _rooms(tensor: Any, count: int) -> list[Any]:
    return [tensor.detach().new_empty(tensor.shape) for _ in range(count)]


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """Return the tensor of one rank, to which the gradients of all are summed."""
    rank, _ = _position("broadcast", group)

    def run(given: Any) -> Any:
        made = _copy(given)
        collectives.broadcast(made, src, group)
        return made

    def back(grad: Any) -> Sequence[Any]:
        summed = reduce(grad, src, group=group)
        return [summed if rank == src else summed * 0]

    return _Exchange.apply(run, back, tensor)


def reduce(tensor: Any, dst: int, op: str = "sum", group: Any = None) -> Any:
    """Return the tensors of all ranks combined on one, whose gradient all get; on the others what they have given."""

    def run(given: Any) -> Any:
        made = _copy(given)
        collectives.reduce(made, dst, op, group)
        return made

    return _Exchange.apply(run, lambda grad: [broadcast(grad, dst, group)], tensor)


def all_reduce(tensor: Any, op: str = "sum", group: Any = None) -> Any:
    """Return the tensors of all ranks combined; their gradients are combined in the same way."""

    def run(given: Any) -> Any:
        made = _copy(given)
        collectives.all_reduce(made, op, group)
        return made

    return _Exchange.apply(run, lambda grad: [all_reduce(grad, op, group)], tensor)


def all_gather(tensor: Any, group: Any = None) -> tuple[Any, ...]:
    """Return the tensors of all ranks, which have one shape; a rank's gradient is the sum of those of its tensor.

    >>> import torchlike
    >>> from torchlike import distributed
    >>> distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> x = torchlike.tensor([1.0, 2.0], requires_grad=True)
    >>> (all_gather(x)[0] ** 2).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    >>> distributed.destroy_process_group()
    """
    _, size = _position("all_gather", group)

    def run(given: Any) -> tuple[Any, ...]:
        found = _rooms(given, size)
        collectives.all_gather(found, given.contiguous(), group)
        return tuple(found)

    def back(*grads: Any) -> Sequence[Any]:
        return [sum(all_to_all(_rooms(grads[0], size), grads, group))]

    return _Exchange.apply(run, back, tensor)


def reduce_scatter(output: Any, input_list: Sequence[Any], op: str = "sum", group: Any = None) -> Any:
    """Combine the lists of all ranks, and return what is this rank's; ``output`` gives its shape."""

    def run(*given: Any) -> Any:
        (made,) = _rooms(output, 1)
        collectives.reduce_scatter(made, [each.contiguous() for each in given], op, group)
        return made

    return _Exchange.apply(run, lambda grad: all_gather(grad, group), *input_list)


def gather(tensor: Any, dst: int = 0, group: Any = None) -> tuple[Any, ...]:
    """Return the tensors of all ranks on one, and zeros on the others."""
    rank, size = _position("gather", group)

    def run(given: Any) -> tuple[Any, ...]:
        found = [each.zero_() for each in _rooms(given, size)]
        exchanges.gather(given.contiguous(), found if rank == dst else None, dst, group)
        return tuple(found)

    return _Exchange.apply(run, lambda *grads: [scatter(grads, dst, group)], tensor)


def scatter(tensors: Sequence[Any], src: int = 0, group: Any = None) -> Any:
    """Return the tensor of this rank's number in the list of one rank; the other lists give its shape."""
    rank, _ = _position("scatter", group)

    def run(*given: Any) -> Any:
        (made,) = _rooms(given[0], 1)
        exchanges.scatter(made, [each.contiguous() for each in given] if rank == src else None, src, group)
        return made

    return _Exchange.apply(run, lambda grad: gather(grad, src, group), *tensors)


def all_to_all(output_tensor_list: Sequence[Any], input_tensor_list: Sequence[Any], group: Any = None) -> Any:
    """Send each tensor of a list to the rank of its number, and return theirs; the first list gives their shapes."""

    def run(*given: Any) -> tuple[Any, ...]:
        found = [room for each in output_tensor_list for room in _rooms(each, 1)]
        exchanges.all_to_all(found, [each.contiguous() for each in given], group)
        return tuple(found)

    def back(*grads: Any) -> Sequence[Any]:
        return all_to_all([room for each in input_tensor_list for room in _rooms(each, 1)], grads, group)

    return _Exchange.apply(run, back, *input_tensor_list)


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Any:
    """Send each part of a tensor's first dimension to the rank of its number, and return theirs."""

    def run(given: Any) -> Any:
        (made,) = _rooms(output, 1)
        exchanges.all_to_all_single(made, given.contiguous(), output_split_sizes, input_split_sizes, group)
        return made

    def back(grad: Any) -> Sequence[Any]:
        return [all_to_all_single(_rooms(input, 1)[0], grad, input_split_sizes, output_split_sizes, group)]

    return _Exchange.apply(run, back, input)
