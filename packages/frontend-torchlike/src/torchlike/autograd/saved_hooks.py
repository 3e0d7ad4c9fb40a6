"""Hooks that choose how tensors saved for backward are kept (source: ``torch.autograd.graph``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.lazy_text import repr_by_attributes

from ..history.device_keys import autograd_bit
from ..history.grad_mode import no_grad
from ..history.graph_settings import node_observers
from ..history.node import Edge, Storage
from ..tensors.tensor import Tensor, bare
from .function import Context
from .observer import KEY
from .saved import Saved, make_released_error, read_version

Hook = Callable[[Any], Any]

_forbidden: Final[ContextVar[str]] = ContextVar("torchlike.saved_tensors_hooks_forbidden", default="")


class _Packed:
    """A saved tensor as ``pack_hook`` returned it, with the history that the tensor has in the graph."""

    __slots__ = ("edge", "mask", "number", "packed")

    def __init__(self, tensor: Tensor | Saved, pack: Hook, results: Sequence[Tensor]) -> None:
        self.edge: Edge | None = None
        self.number = -1
        if isinstance(tensor, Saved):
            self.number, self.mask = tensor.number, tensor.mask
            given = next(each for each in results if each._dispatch_data is tensor.data)
        else:
            given = tensor
            if tensor.requires_grad:
                self.edge = tensor._state.edge
        version = read_version(given)
        with no_grad():
            self.packed = pack(given)
        if read_version(given) != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
                "hook can not be modified by in-place operations. Clone the tensor first."
            )

    def unpack(self, unpack: Hook) -> Tensor | Saved:
        found = unpack(self.packed)
        if not isinstance(found, Tensor):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(found)}"
            )
        if self.number >= 0:
            return Saved(found, Storage(), self.number)
        if self.edge is None:
            return found.detach()
        tensor = bare()
        tensor._dispatch_data = found._dispatch_data
        tensor._dispatch_mask = found._dispatch_mask | autograd_bit(found._dispatch_mask)
        tensor._autograd = self.edge
        return tensor


def _read_version(value: Any) -> int:
    return read_version(value) if isinstance(value, Tensor) else 0


def _map(function: Callable[[Any], Any], values: tuple[Any, ...], kinds: type | tuple[type, ...]) -> tuple[Any, ...]:
    return tuple(
        _map(function, each, kinds) if isinstance(each, tuple) else function(each) if isinstance(each, kinds) else each
        for each in values
    )


def _read_versions(saved: tuple[Any, ...], versions: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the versions of unpacked tensors, in the form of those that the node keeps."""
    return tuple(
        _read_versions(each, version) if isinstance(version, tuple) else _read_version(each)
        for each, version in zip(saved, versions, strict=False)
    )


def _list_in_order(saved: tuple[Any, ...], names: Sequence[str]) -> list[int]:
    """Return the places of a node's saved values in torch's order: an operator's arguments by name, then its results."""
    places = list(range(len(saved)))
    return sorted(places, key=lambda place: (isinstance(saved[place], Saved), names[place])) if names else places


class _Unpacking:
    """Mixed into a node's class: unpacks the saved tensors when the node runs."""

    saved: Any
    versions: Any
    unpack_hook: Hook

    def apply(self, grads: list[Tensor | None]) -> tuple[Tensor | None, ...]:
        packed = self.saved
        if packed is None:
            raise make_released_error()
        found = _map(lambda each: each.unpack(self.unpack_hook), packed, _Packed)
        self.saved = found
        if hasattr(self, "versions"):
            self.versions = _read_versions(found, self.versions)
        elif isinstance(self, Context):
            self.saved = tuple((value, _read_version(value)) for value, _ in found)
        try:
            return super().apply(grads)  # type: ignore[misc]  # that of the node's class
        finally:
            self.saved = packed


@lru_cache(maxsize=256)
def _make_unpacking(kind: Any) -> type:
    """Return a node's class with `_Unpacking`; it bears the same name, which users see."""
    return type(kind.__name__, (_Unpacking, kind), {})


class _Packing:
    """Packs the tensors that a node keeps, and lets the node unpack them when it runs."""

    #: Only the innermost block's hooks see a tensor.
    is_alone = True

    def __init__(self, block: saved_tensors_hooks) -> None:
        self.block = block
        self._pack, self._unpack = block.pack_hook, block.unpack_hook

    def __call__(self, node: Any, results: Sequence[Tensor]) -> None:
        saved = getattr(node, "saved", None)
        # An operator whose kernel is a custom function shows the function's node a second time.
        if saved and not isinstance(node, _Unpacking):
            places = _list_in_order(saved, getattr(node, "tensor_names", ()))
            packed = _map(
                lambda each: _Packed(each, self._pack, results), tuple(saved[n] for n in places), (Tensor, Saved)
            )
            node.saved = tuple(packed[places.index(number)] for number in range(len(saved)))
            node.unpack_hook = self._unpack
            # A closure in the node would be a circle, and keep the packed tensors until the collector comes.
            kind: Any = type(node)
            node.__class__ = _make_unpacking(kind)


class saved_tensors_hooks:  # noqa: N801  # torch's name
    """Keep ``pack_hook(tensor)`` in place of every tensor that is saved for backward (source: ``torch.autograd.graph``).

    ``unpack_hook`` gets it back when backward needs the tensor, and returns a tensor of the same shape and dtype.

    >>> import torchlike
    >>> x = torchlike.tensor([2.0], requires_grad=True)
    >>> with saved_tensors_hooks(lambda tensor: tensor.numpy().copy(), torchlike.tensor):
    ...     y = x.exp()
    >>> y.backward()
    >>> x.grad
    tensor([7.3891])
    """

    __repr__ = repr_by_attributes("pack_hook", "unpack_hook")

    def __init__(self, pack_hook: Hook, unpack_hook: Hook) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook
        self._entered: list[Any] = []

    def __enter__(self) -> None:
        if message := _forbidden.get():
            raise RuntimeError(message)
        guard = dc.include_keys(KEY)
        guard.__enter__()
        self._entered.append(guard)
        node_observers.set((*node_observers.get(), _Packing(self)))

    def __exit__(self, *exc: object) -> None:
        # A hook may have entered or left a block once more; the innermost one is left.
        observers = list(node_observers.get())
        for number in reversed(range(len(observers))):
            if isinstance(observers[number], _Packing):
                del observers[number]
                break
        node_observers.set(tuple(observers))
        if self._entered:
            self._entered.pop().__exit__(None, None, None)


def innermost_hooks() -> saved_tensors_hooks | None:
    """Return the block whose hooks see the tensors that are saved now, for another block that leaves some of them to it."""
    return next((each.block for each in reversed(node_observers.get()) if isinstance(each, _Packing)), None)


class save_on_cpu(saved_tensors_hooks):  # noqa: N801  # torch's name
    """Keep the tensors that are saved for backward on the cpu (source: ``torch.autograd.graph.save_on_cpu``).

    With ``pin_memory`` they are kept in memory that their device copies from by itself, where it has such memory.
    """

    __repr__ = repr_by_attributes()

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        from dispatch_core import runtime  # hooks on the cpu alone do without

        def keep(tensor: Tensor) -> tuple[Any, Tensor]:
            # Without its history: a result would keep the node that keeps it.
            device, kept = tensor.device, tensor.detach().cpu()
            if pin_memory and runtime.find_interface(device.type).host_allocator is not None:
                kept = kept.pin_memory(device.type)
            return device, kept

        super().__init__(keep, lambda packed: packed[1].to(packed[0], non_blocking=pin_memory))


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Refuse `saved_tensors_hooks` in the block with this message (source: ``torch.autograd.graph``)."""
    if any(isinstance(each, _Packing) for each in node_observers.get()):
        raise RuntimeError(error_message)
    token = _forbidden.set(error_message)
    try:
        yield
    finally:
        _forbidden.reset(token)
