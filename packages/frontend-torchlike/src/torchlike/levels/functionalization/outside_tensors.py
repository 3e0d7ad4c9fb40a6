"""The tensors from outside that a function under `functionalize` uses, and the tensors returned to them or made by itself.

Note [Tensors in one place]
    A tensor from outside has one stand-in in the level. One that is a view of another, as far as its history tells, has a
    view of that one's stand-in, so that a write to either reaches both. Where two lie in the same memory and no history
    tells how, they may be read; a write to one is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import dispatch_core as dc

from ...history.grad_mode import is_grad_enabled, no_grad
from ...history.view_chains import replay
from ...tensors.tensor import Tensor


class _Outside:
    """A tensor from outside, its stand-in, and whether it was written to."""

    __slots__ = ("inner", "is_written", "outer", "records", "storage")

    def __init__(self, outer: Tensor, inner: Tensor) -> None:
        self.outer, self.inner = outer, inner
        #: The stand-in's storage, kept while its id represents it.
        self.storage = inner._state.shared_storage()
        #: Whether it was written to, and by a write that is recorded for backward.
        self.is_written = self.records = False


class OutsideTensors:
    """The tensors from outside of one level; see Note [Tensors in one place]. ``stand_in`` makes a tensor of the level."""

    def __init__(self, stand_in: Callable[[Tensor], Tensor]) -> None:
        self._stand_in = stand_in
        #: By id, and by that of the stand-in.
        self._known: dict[int, _Outside] = {}
        self._inner: dict[int, _Outside] = {}
        #: By id of the stand-in's storage, and by place in memory: those that are no views of each other.
        self._roots: dict[int, _Outside] = {}
        self._places: dict[Any, list[_Outside]] = {}
        #: id of a storage of the level, or of its aliases → that, and the tensor that holds the value outside.
        self._left: dict[int, tuple[Any, Tensor]] = {}

    def enter(self, value: Tensor) -> Tensor:
        """Return the stand-in of a tensor from outside."""
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = self._add(value)
            self._inner[id(known.inner)] = known
        return known.inner

    def _add(self, value: Tensor) -> _Outside:
        state = value._state
        if state.is_view and state.base is not None:
            self.enter(state.base)
        others = self._places.setdefault(dc.storage_of(value), [])
        for other in others:
            chain = other.outer._state.chain
            if _extends(state.chain, chain):
                return _Outside(value, replay(other.inner, state.chain, chain))
        found = _Outside(value, self._stand_in(value))
        others.append(found)
        self._roots[id(found.storage)] = found
        return found

    def _find_root(self, tensor: Tensor) -> _Outside | None:
        """Return the tensor from outside that one of the level is, or is a view of, or has been set to."""
        storage = tensor._state.shared_storage()
        found = self._roots.get(id(storage))
        if found is None and (aliases := storage.aliases) is not None:
            found = next((each for each in self._roots.values() if each.storage.aliases is aliases), None)
        return found

    def is_one(self, tensor: Tensor) -> bool:
        """Return whether a tensor of the level is a stand-in: a view of one, made inside, is not."""
        found = self._inner.get(id(tensor))
        return found is not None and found.inner is tensor

    def is_written(self, tensor: Tensor) -> bool:
        """Return whether a tensor of the level is one from outside, or a view of one, and was written to."""
        root = self._find_root(tensor)
        return root is not None and root.is_written

    def note_write(self, tensor: Tensor) -> None:
        """Remember that a tensor of the level is written to; raises where the other tensors there are not known."""
        root = self._find_root(tensor)
        if root is None:
            return
        if len(self._places[dc.storage_of(root.outer)]) > 1:
            raise RuntimeError(
                f"functionalize: a tensor of shape {list(root.outer.shape)} that is written to shares its memory with"
                " another one in a way that is not known\nHint: use the tensor that both are views of, before its views"
            )
        root.is_written = True
        root.records |= is_grad_enabled()

    def write_back(self) -> None:
        """Write the last values of the tensors from outside to them, by one ``copy_`` each; the level is closed."""
        for root in self._roots.values():
            if root.is_written:
                value = root.inner._dispatch_data.value
                with nullcontext() if root.records else no_grad():
                    if value.shape != root.outer.shape:
                        root.outer.resize_(value.shape)
                    root.outer.copy_(value)

    def leave(self, value: Any) -> Any:
        """Return the tensor outside for one of the level, once that is closed and the values are written back."""
        known = self._inner.get(id(value))
        if known is not None and known.inner is value:
            return known.outer
        state = value._state
        root = self._find_root(value)
        if root is not None:
            return replay(root.outer, state.chain, root.inner._state.chain)
        aliases = state.storage.aliases
        held = state.storage if aliases is None else aliases
        left = self._left.get(id(held))
        if left is None:
            found = (value._dispatch_data if aliases is None else aliases.data).value
            place = dc.storage_of(found)
            # A value may be that of two tensors, or of one from outside, which are not one in the program.
            if place in self._places or any(place == dc.storage_of(each) for _, each in self._left.values()):
                found = found.clone()
            left = self._left[id(held)] = held, found
        return left[1] if aliases is None else replay(left[1], state.chain)


def _extends(chain: Any, before: Any) -> bool:
    """Return whether a view's chain extends another chain of views."""
    while chain is not before and chain is not None:
        chain = chain[0]
    return chain is before
