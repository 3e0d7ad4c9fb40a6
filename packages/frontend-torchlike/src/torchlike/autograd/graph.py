"""The graph of recorded calls: nodes, edges, and hooks on them (source: ``torch.autograd.graph``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Self, TypeAlias

from ..history.hooks import RemovableHandle
from ..history.node import Node
from ..names.lazy_names import Tensor
from .engine import current_run
from .gradients import GradientEdge
from .saved_hooks import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from .saved_mutation import allow_mutation_on_saved_tensors

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
        each._count_write()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: Literal["all", "any"] = "all"
) -> Handles:
    """Call ``fn`` when the gradients of all tensors are there, or that of the first (source: ``torch.autograd.graph``).

    With ``mode="all"`` it gets the list of the gradients, None for a tensor that the backward does not come to; with
    ``"any"`` one gradient, once in each backward.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    nodes = [get_gradient_edge(each).node for each in tensors]
    make_hook = _make_first_hook(fn) if mode == "any" else _make_gathering_hook(nodes, fn)
    return Handles([each.register_hook(make_hook(number)) for number, each in enumerate(tensors)])


_Hook: TypeAlias = Callable[[Tensor], None]


def _make_first_hook(fn: Callable[..., None]) -> Callable[[int], _Hook]:
    """Return a function that makes hooks, of which the first in a backward calls ``fn``."""
    key = object()

    def hook(gradient: Tensor) -> None:
        notes = current_run().notes
        if key not in notes:
            notes[key] = True
            fn(gradient)

    return lambda number: hook


def _make_gathering_hook(nodes: Sequence[Node], fn: Callable[..., None]) -> Callable[[int], _Hook]:
    """Return a function that makes the hooks, of which the last in a backward calls ``fn``.

    A backward that comes to some of the nodes alone calls it too: the other gradients are None.
    """
    key = object()

    def make_hook(number: int) -> _Hook:
        def hook(gradient: Tensor) -> None:
            run = current_run()
            found = run.notes.setdefault(key, {})
            found[number] = gradient
            if len(found) == sum(map(run.reaches, nodes)):
                fn([found.get(place) for place in range(len(nodes))])

        return hook

    return make_hook


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
