"""Another array for a tensor: how the change reaches the tensors that share its memory.

Where arrays cannot be written, a write gives the tensor a new array, and every alias is made again from it. Where they can,
only a storage that grows moves, and the tensors in its memory with it.
"""

from __future__ import annotations

import gc
from sys import getrefcount
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten import shapes
from dispatch_aten.errors import OperatorError
from dispatch_aten.placing import place_like
from dispatch_core import frontends
from dispatch_core.frontends import storage_of

from ..names.lazy_names import Tensor
from .metadata import is_plain
from .node import Aliases, Leaf, Storage
from .view_chains import list_views, replay
from .views import ALIASING, View, join

#: The references to an array that no view's array refers to: the tensor's, and that of the call that counts them.
_ALONE: Final = 2


def rebind(tensor: Tensor, data: Any) -> None:
    """Store ``data`` in ``tensor``; where arrays cannot be written, carry the change to every alias.

    A tensor keeps its dtype. The aliases' common array is changed in the elements that the tensor is a view of, and every
    living alias is made again from it.
    """
    before = tensor._dispatch_data
    is_like = is_plain[type(data)] and type(before) is type(data) and data.dtype is before.dtype
    if not is_like and dc.dtype(data) != (kind := dc.dtype(tensor)):
        data = dc.ops.aten._to_copy.default(data, dtype=kind)
    storage = tensor._state.storage
    if storage is None or storage.aliases is None or dc.shape(data) != dc.shape(tensor):
        if dc.is_mutable(data):
            is_moved = not (is_like and _is_view_of_same(data, before))
            del before  # the references to the array are counted
            if is_moved:
                _move_aliases(tensor, data)
            if tensor._state.is_view and (dc.shape(data), dc.strides(data)) != (dc.shape(tensor), dc.strides(tensor)):
                _record_strides(tensor._state, data)
        elif storage is not None and storage.aliases is not None:
            _separate(tensor, storage)
        frontends.bind(tensor, data)
        return
    aliases, chain = storage.aliases, tensor._state.chain
    _write(aliases, chain, data)
    for alias, steps in [*aliases.members]:
        if (target := alias()) is not None:
            _refresh(target, aliases, steps)
    with ALIASING:
        aliases.members = [each for each in aliases.members if each[0]() is not None]
        if len(aliases.members) == 1 and chain is None:
            storage.aliases = None


def _write(aliases: Aliases, chain: Any, data: Any) -> None:
    """Write ``data`` to the aliases' array; other threads' writes to other elements meanwhile stay."""
    while True:
        before = aliases.data
        after = data if chain is None else _write_through(before, chain, data)
        if after is not data:  # that lies as the array did whose place it takes
            after = place_like(after, before)
        with ALIASING:
            if aliases.data is before:
                aliases.data = after
                return


def _refresh(tensor: Tensor, aliases: Aliases, steps: Any) -> None:
    """Make a view of the aliases' array again; where a thread has given them another one meanwhile, of that."""
    while True:
        data = aliases.data
        made = replay(data, steps)
        with ALIASING:
            if aliases.data is data:
                frontends.bind(tensor, made)
                return


def remake(tensor: Tensor) -> bool:
    """Make a view again whose array is used up; return whether it is a view of an array that is there."""
    state = tensor._state
    if state.storage is None or state.storage.aliases is None or state.chain is None:
        return False
    _refresh(tensor, state.storage.aliases, state.chain)
    return True


def become(tensor: Tensor, view: Tensor) -> None:
    """Turn ``tensor`` into the view ``view``: of itself, where a view changes it in place, or of another tensor."""
    storage = tensor._state.shared_storage()
    if storage is not view._state.storage:
        own = Storage()
        own.version = storage.version
        storage = own
        if tensor._state.is_view:
            tensor._autograd = Leaf.of(tensor)
    join(tensor, view, storage)
    frontends.bind(tensor, view._dispatch_data)


def check_expanded(name: str) -> None:
    """Refuse to write to a tensor of which several elements are one, except by operators that write one value."""
    if name.removeprefix("aten::") not in shapes.RULES_ON_EXPANDED:
        raise OperatorError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation.",
            operator=name,
            argument="self",
        )


def _write_through(root: Any, chain: Any, data: Any) -> Any:
    """Return the array ``root`` with ``data`` in the elements that ``chain`` is a view of."""
    from dispatch_aten.write_through import write_through  # devices whose arrays can be written never need it

    found = write_through(root, list_views(chain), data)
    # A record that represents an array may keep more than the elements.
    keep = getattr(root, "with_data", None)
    return found if keep is None else keep(found)


def _is_view_of_same(data: Any, before: Any) -> bool:
    """Return whether an array is known at once to lie in the memory of another of its type: NumPy's tell their base."""
    base = getattr(data, "base", None)
    return base is not None and (base is before or base is getattr(before, "base", None))


#: Views with elements of another dtype, in which strides count.
_RETYPED: Final = frozenset(f"aten::{name}" for name in "view_as_real view_as_complex real imag view.dtype".split())


def _record_strides(state: View, data: Any) -> None:
    """Record the present strides in the storage of a view that was resized, to replay it by these."""
    layout = dc.shape(data), dc.strides(data), dc.storage_offset(data)
    start: Any = state.skip if state.base is not None else None
    chain: Any = state.chain if state.base is not None else None
    while chain is not start and chain[1].name not in _RETYPED:
        chain = chain[0]
    state.chain = (chain, dc.ops.aten.as_strided.default, layout)
    if state.base is None:
        state.skip = state.chain


def _separate(tensor: Tensor, storage: Storage) -> None:
    """Move a resized tensor to a storage of its own: its array, which cannot be written, is not a view of the others'."""
    if storage.aliases is not None:
        storage.aliases.remove(tensor)
    if tensor._state.is_view:
        tensor._autograd = Leaf.of(tensor)
    own = tensor._state.storage = Storage()  # A tensor that is not a view keeps its history, or that it requires grad.
    own.version = storage.version


def _move_aliases(tensor: Tensor, data: Any) -> None:
    """Take along the tensors in ``tensor``'s memory when its storage has grown: ``data`` lies in a larger copy of all of it.

    They are looked for among all objects, because views that each knew the others would cost every program time, and
    storages that grow while others are views of them are rare.
    """
    old = storage_of(tensor)
    if old == storage_of(data):
        return
    if (
        old == id(tensor._dispatch_data)
        and tensor._state.storage is None
        and getrefcount(tensor._dispatch_data) == _ALONE
        and not tensor.numel()
    ):
        return  # The usual ``out=``: an empty storage without other views.
    frontends.materialize(tensor)
    old, data = storage_of(tensor), frontends.materialize_value(data)
    for other in gc.get_objects():
        # By its type: objects may say of themselves that they are of another class, in code of their own.
        if other is tensor or not hasattr(type(other), "_count_write"):
            continue
        array = getattr(other, "_dispatch_data", None)
        if isinstance(array, frontends.Pending) and array.value is not None:
            array = array.value
        # A pending value whose memory was never asked for has no views.
        is_pending = isinstance(array, frontends.Pending) and array.shared is not None
        if (is_pending or type(array) is type(data)) and storage_of(array) == old:
            array = frontends.materialize(other)
            layout = dc.shape(array), dc.strides(array), dc.storage_offset(array)
            other._dispatch_data = dc.ops.aten.as_strided(data, *layout)
