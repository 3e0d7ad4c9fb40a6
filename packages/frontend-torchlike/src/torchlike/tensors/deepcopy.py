"""Deep copies of tensors: tensors that share memory share it in the copies too.

The first tensor of a storage that is met copies it as a whole, and leaves the copy in ``copy.deepcopy``'s memo for the
others. On the cpu a storage is the array that the others are views of. On other devices it is the tensor whose views
they are, and each of them is made again from its copy; there an alias from ``detach`` or ``data``, of which no such
tensor is known, is copied alone, but for arrays that cannot be written: they need no copy, and know all their views.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, TypeVar

import numpy as np

from dispatch_core import frontends
from dispatch_core.keys import AUTOGRAD, LAYOUTS

from ..history.grad_mode import no_grad
from ..history.view_chains import replay
from ..values.layouts import answer
from .arrays import find_owner, give_class, is_recording, read_elements
from .overriding_classes import is_wrapper, read_slots
from .tensor import Tensor, wrap

_T = TypeVar("_T", bound=Tensor)


def deep_copy(tensor: Tensor, memo: dict[Any, Any]) -> Tensor:
    """Copy a leaf with its gradient (source: ``torch.Tensor.__deepcopy__``)."""
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torchlike.nn.utils.weight_norm usage."
        )
    if not isinstance(memo, dict):
        raise TypeError(f"memo must be dict, not {type(memo).__name__}")
    known: Tensor | None = memo.get(id(tensor))
    if known is not None:
        return known
    if tensor._dispatch_mask & LAYOUTS:
        made: Tensor = answer(tensor, "deep_copy")(tensor, memo)
        memo[id(tensor)] = made
        return copy_attributes(tensor, made, memo)
    if type(tensor) is not Tensor and is_wrapper(tensor):
        return _copy_wrapper(tensor, memo)
    with no_grad():
        data = _copy_on_cpu(tensor, memo) if tensor.is_cpu else _copy_by_views(tensor, memo)
    copy = memo[id(tensor)] = give_class(data, type(tensor))
    if tensor.requires_grad:
        copy._require_grad()
    if tensor._state.grad is not None:
        copy._state.grad = deep_copy(tensor._state.grad, memo)
        copy._dispatch_mask |= tensor._dispatch_mask & AUTOGRAD
    return copy_attributes(tensor, copy, memo)


def _copy_wrapper(tensor: _T, memo: dict[Any, Any]) -> _T:
    """Return a copy of a tensor that wraps others, as its class clones it."""
    with no_grad():
        copy = tensor.clone()
    if type(copy) is not type(tensor):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types that properly"
            " implement clone() and for which cloning returns another instance of the same subclass:"
            f" {type(tensor).__name__}"
            f" gave {type(copy).__name__}\nHint: implement clone() for the class, or override __deepcopy__()"
        )
    memo[id(tensor)] = copy
    if tensor.requires_grad:
        copy.requires_grad_()
    if tensor.grad is not None:
        copy.grad = deep_copy(tensor.grad, memo)
    for name, value in read_slots(tensor).items():
        setattr(copy, name, deepcopy(value, memo))
    return copy_attributes(tensor, copy, memo)


def copy_attributes(tensor: Tensor, copy: _T, memo: dict[Any, Any]) -> _T:
    """Return a tensor's copy with copies of the attributes that the program has set on the tensor."""
    if attributes := tensor.__dict__:
        copy.__dict__.update(deepcopy(attributes, memo))
    return copy


def _remember(memo: dict[Any, Any], original: object, copy: Any) -> Any:
    """Leave the copy of a storage in the memo, and keep the original alive, whose address is the key."""
    memo[_make_key(original)] = copy
    memo.setdefault(id(memo), []).append(original)
    return copy


def _make_key(original: object) -> tuple[str, int]:
    return "torchlike storage", id(original)


def _copy_on_cpu(tensor: Tensor, memo: dict[Any, Any]) -> Tensor:
    data = tensor._dispatch_data
    if is_recording(tensor):
        # Others in the memory of a whole storage hold the same array, so its copy can wait.
        whole = memo.get(_make_key(data))
        if whole is None and _is_whole(data):
            whole = _remember(memo, data, tensor.detach().clone())
        if isinstance(whole, Tensor):
            return wrap(whole._dispatch_data)
    array = read_elements(tensor)
    owner = find_owner(array)
    if not owner.flags.forc or not owner.size:
        return tensor.detach().clone()
    copy = memo.get(_make_key(owner))
    if copy is None:
        copy = _remember(memo, owner, owner.ravel(order="K").copy())
    elif isinstance(copy, Tensor):
        copy = read_elements(copy)
    start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    if not 0 <= start <= copy.nbytes:
        start = 0  # NumPy may put an array without elements anywhere
    return wrap(np.ndarray(array.shape, array.dtype, copy, start, array.strides))


def _is_whole(data: Any) -> bool:
    """Return whether a tensor is a storage of its own, or will be."""
    return data.shared is None if isinstance(data, frontends.Pending) else data.base is None


def _copy_by_views(tensor: Tensor, memo: dict[Any, Any]) -> Tensor:
    state = tensor._state
    if state.storage is not None and state.storage.aliases is not None:
        whole = memo.get(_make_key(state.storage.aliases))
        if whole is None:
            whole = _remember(memo, state.storage.aliases, wrap(state.storage.aliases.data))
        alias: Tensor = replay(whole, state.chain).detach()
        return alias
    root = state.base if state.is_view else tensor
    if root is None:
        return tensor.detach().clone()
    storage = state.shared_storage()
    copy = memo.get(_make_key(storage))
    if copy is None:
        copy = _remember(memo, storage, root.detach().clone())
    view: Tensor = replay(copy, state.chain, state.skip) if state.is_view else copy
    return view.detach()
