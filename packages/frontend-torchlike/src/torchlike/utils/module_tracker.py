"""The modules whose forward or backward is running (source: ``torch.utils.module_tracker``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Self
from weakref import WeakKeyDictionary, WeakSet

from ..autograd.engine import is_running, queue_callback
from ..autograd.graph import register_multi_grad_hook
from ..nn.global_hooks import register_module_forward_hook, register_module_forward_pre_hook
from ..tensors.tensor import Tensor
from ..values.pytree import tree_leaves

__all__ = ["ModuleTracker"]

_EVERYWHERE: Final = "Global"


class ModuleTracker:
    """Know by name the modules that are running, while a block runs (source: ``torch.utils.module_tracker``).

    A module is named by its class, and its parts by their attributes: ``Sequential.0``. In backward a module runs from the
    gradients of its results to those of its arguments; where these need none, to the end of backward.

    >>> import torchlike
    >>> class Layer(torchlike.nn.Module):
    ...     def forward(self, x):
    ...         print(sorted(tracker.parents), tracker.is_bw)
    ...         return x
    >>> with ModuleTracker() as tracker:
    ...     _ = torchlike.nn.Sequential(Layer())(torchlike.ones(1))
    ['Global', 'Sequential', 'Sequential.0'] False
    """

    #: The names of the modules that are running, and ``Global``.
    parents: set[str]

    def __init__(self) -> None:
        self.parents = {_EVERYWHERE}
        self._names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._with_parts: WeakSet[Any] = WeakSet()
        self._is_queued = False
        self._handles: list[Any] = []

    @property
    def is_bw(self) -> bool:
        """Return whether backward is running."""
        return is_running()

    def _name(self, module: Any) -> str:
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._with_parts:
            self._with_parts.add(module)
            for key, part in module.named_children():
                self._names[part] = f"{name}.{key}"
                self._name(part)
        return name

    def _enter_backward(self, name: str) -> None:
        if not self._is_queued:
            queue_callback(self._end_backward)
            self._is_queued = True
        self.parents.add(name)

    def _end_backward(self) -> None:
        self.parents = {_EVERYWHERE}
        self._is_queued = False

    def _watch(self, values: Any, hook: Callable[[Any], None]) -> None:
        tensors = _find_differentiable(values)
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, hook))

    def _begin(self, module: Any, args: Any) -> None:
        name = self._name(module)
        self.parents.add(name)
        self._watch(args, lambda _: self.parents.discard(name))

    def _end(self, module: Any, _: Any, result: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)
        self._watch(result, lambda _: self._enter_backward(name))

    def __enter__(self) -> Self:
        self._handles += [register_module_forward_pre_hook(self._begin), register_module_forward_hook(self._end)]
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()


def _find_differentiable(values: Any) -> list[Tensor]:
    leaves: Iterable[Any] = tree_leaves(values)
    return [each for each in leaves if isinstance(each, Tensor) and each.requires_grad]
