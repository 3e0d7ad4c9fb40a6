"""Tensors that may be changed after they were saved for backward: they are copied right before that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import dispatch_core as dc

from ..history.grad_mode import no_grad
from ..history.graph_settings import write_observers
from ..tensors.tensor import Tensor
from .saved_hooks import saved_tensors_hooks


class _Handle:
    """Represents one saved tensor; nodes hold it."""


class SavedContext:
    """A block's saved values: tensors in their own memory, and copies of those that were changed since."""

    def __init__(self) -> None:
        self.original: MutableMapping[_Handle, Tensor] = WeakKeyDictionary()
        self.cloned: MutableMapping[_Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: MutableMapping[Hashable, _Handle] = WeakValueDictionary()
        self._by_storage: defaultdict[Hashable, WeakSet[_Handle]] = defaultdict(WeakSet)

    def pack(self, tensor: Tensor) -> _Handle:
        """Return the handle of a tensor, the same one for the same elements until they are changed."""
        storage = dc.storage_of(tensor)
        look = storage, dc.shape(tensor), dc.strides(tensor), dc.storage_offset(tensor), tensor.dtype
        handle = self.tid_to_weakhandle.get(look)
        if handle is None or handle in self.cloned:
            handle = self.tid_to_weakhandle[look] = _Handle()
            self.original[handle] = tensor.detach()  # a result would keep the node that keeps its handle
            self._by_storage[storage].add(handle)
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        """Return the tensor as it was saved; ``AssertionError`` outside of the block."""
        found = self.cloned.get(handle)
        found = self.original.get(handle) if found is None else found
        if found is None or _current.get() is not self:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded."
            )
        return found

    def copy_saved(self, tensor: Tensor) -> None:
        """Copy the saved tensors in a tensor's memory, which is about to be written to."""
        for handle in self._by_storage.pop(dc.storage_of(tensor), ()):
            with no_grad():
                self.cloned[handle] = self.original.pop(handle).clone()

    def clear(self) -> None:
        """Forget everything."""
        for each in (self.original, self.cloned, self.tid_to_weakhandle, self._by_storage):
            each.clear()


_current: Final[ContextVar[SavedContext | None]] = ContextVar("torchlike.saved_context", default=None)


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[SavedContext]:
    """Copy tensors that were saved for backward when they are changed in place, instead of refusing backward.

    Forward and backward both run in the block. Raises ``RuntimeError`` for a block within another (source:
    ``torch.autograd.graph.allow_mutation_on_saved_tensors``).

    >>> import torchlike
    >>> x = torchlike.ones(2, requires_grad=True)
    >>> with allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y**2).sum()
    ...     y = y.mul_(5)
    ...     z.backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if _current.get() is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = SavedContext()
    token = _current.set(context)
    watching = write_observers.set((*write_observers.get(), context.copy_saved))
    try:
        with saved_tensors_hooks(context.pack, context.unpack):
            yield context
    finally:
        write_observers.reset(watching)
        _current.reset(token)
        context.clear()
