"""Sparse tensors under `functionalize`: they stay outside, and the tensors that they are made of are not written to.

Note [Parts of sparse tensors]
    A sparse tensor holds its places and values themselves. A write to one of these would be a new value, which the sparse
    tensor does not see; so it is refused, whether the program gave the parts or asked for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dispatch_core as dc
from dispatch_core.frontends import components_of

from ...tensors.tensor import Tensor
from ...values.layouts import has_sparse_layout


def is_sparse(value: object) -> bool:
    """Return whether a value is a sparse tensor."""
    return isinstance(value, Tensor) and has_sparse_layout(value)


class SparseParts:
    """The tensors of one level that are parts of sparse ones; ``enter`` gives the level's tensor for one from outside."""

    def __init__(self, enter: Callable[[Tensor], Tensor], is_written: Callable[[Tensor], bool]) -> None:
        self._enter = enter
        self._is_written = is_written
        #: id of a storage of the level → that.
        self._storages: dict[int, Any] = {}

    def use(self, sparse: Tensor) -> None:
        """Keep the parts of a sparse tensor from writes; raises ``RuntimeError`` where one was written to before."""
        for part in _parts(sparse):
            inner = self._enter(part)
            if self._is_written(inner):
                raise _make_error("was")
            self._add(inner)

    def find(self, found: Any, given: list[Any]) -> Any:
        """Return the result of a call with sparse tensors: that itself, or the level's tensor for a part of one."""
        if is_sparse(found):
            places = {dc.storage_of(part) for part in _parts(found)}
            for tensor in given:
                if not is_sparse(tensor) and dc.storage_of(self._enter(tensor)._dispatch_data.value) in places:
                    self._add(self._enter(tensor))
            return found
        if any(
            dc.storage_of(found) == dc.storage_of(part) for each in given if is_sparse(each) for part in _parts(each)
        ):
            inner = self._enter(found)
            self._add(inner)
            return inner
        return None

    def check_write(self, inner: Tensor) -> None:
        """Refuse a write to a part; raises ``RuntimeError``."""
        storage = inner._state.shared_storage()
        aliases = storage.aliases
        if id(storage) in self._storages or (
            aliases is not None and any(each.aliases is aliases for each in self._storages.values())
        ):
            raise _make_error("is")

    def _add(self, inner: Tensor) -> None:
        storage = inner._state.shared_storage()
        self._storages[id(storage)] = storage


def _parts(sparse: Tensor) -> Iterator[Tensor]:
    yield from components_of(sparse)


def _make_error(when: str) -> RuntimeError:
    return RuntimeError(
        f"functionalize: a tensor that {when} written to is a part of a sparse one, its indices or its values\n"
        "Hint: write to a clone() of it, and make another sparse tensor"
    )
