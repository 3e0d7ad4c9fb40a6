"""The graph of recorded calls: nodes, edges, and hooks on them (source: ``torch.autograd.graph``)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Self

from ..history.hooks import RemovableHandle
from ..history.node import Node
from .gradients import GradientEdge
from .saved_hooks import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from .saved_mutation import allow_mutation_on_saved_tensors

if TYPE_CHECKING:
    from ..tensors import Tensor

__all__ = [
    "GradientEdge",
    "Node",
    "RemovableHandle",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return where the tensor's gradient goes; ``RuntimeError`` for one that does not require grad."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    edge = tensor._state.edge
    return GradientEdge(edge.node.take_apart(), edge.output_nr)


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Count a change that the dispatcher has not seen (source: ``torch.autograd.graph.increment_version``)."""
    for each in tensor if isinstance(tensor, (list, tuple)) else (tensor,):
        each._dispatch_mutated()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: Literal["all", "any"] = "all"
) -> Handles:
    """Call ``fn`` when the gradients of all tensors are there, or that of the first (source: ``torch.autograd.graph``).

    With ``mode="all"`` it gets the list of the gradients; with ``"any"`` one gradient, once.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        first = _First(fn)
        return Handles([each.register_hook(first.make_hook(number)) for number, each in enumerate(tensors)])
    gathered = _Gathered(list(tensors), fn)
    return Handles([each.register_hook(gathered.make_hook(number)) for number, each in enumerate(tensors)])


class _First:
    """Calls a function with the first gradient of a backward; another backward begins where a tensor has its second."""

    def __init__(self, fn: Callable[..., None]) -> None:
        self.fn = fn
        self.seen: set[int] = set()

    def make_hook(self, number: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            is_first = not self.seen or number in self.seen
            self.seen = {number} if is_first else {*self.seen, number}
            if is_first:
                self.fn(gradient)

        return hook


class _Gathered:
    """Gathers the gradients of several tensors, and calls a function when all are there."""

    def __init__(self, tensors: list[Tensor], fn: Callable[..., None]) -> None:
        self.fn, self.lock = fn, threading.Lock()
        self.found: list[Tensor | None] = [None] * len(tensors)
        self.missing = len(tensors)
        self.count = len(tensors)

    def make_hook(self, number: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            with self.lock:
                self.found[number] = gradient
                self.missing -= 1
                if self.missing:
                    return
                found, self.found, self.missing = self.found, [None] * self.count, self.count
            self.fn(found)

        return hook


class Handles:
    """The handles of one hook on several tensors."""

    def __init__(self, handles: list[RemovableHandle]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Take the hook off all tensors."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()
