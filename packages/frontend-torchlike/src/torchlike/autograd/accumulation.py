"""How a leaf takes its gradient: the first becomes ``.grad``, later ones are added to it.

Note [A gradient that nothing else holds]
    The first gradient is copied, so that no leaf shares memory with another, with the graph or with the user. No copy is
    needed where that cannot be seen: where the tensor, its array and the owner of the memory have no other references,
    and the elements lie in memory as the leaf's do. References are counted, as NumPy does for its temporary arrays; this
    is known of NumPy's arrays alone, and of those that a pipeline will make: to their pending values the record refers,
    too, once where they are made and once where a view is.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.placing import place_like
from dispatch_aten.shapes import is_non_overlapping_and_dense
from dispatch_core import frontends
from dispatch_core.forks import Order, forkable
from dispatch_core.frontends import PLACING
from dispatch_core.keys import AUTOGRAD, LAYOUTS, DispatchKey

from ..history.captures import current_part, see_gradient
from ..history.node import Leaf, Node
from ..names.lazy_names import Tensor
from ..tensors.tensor import bare
from ..values.layouts import answer

#: The number of torch's ``contiguous_format``.
_CONTIGUOUS: Final = 0
_PIPELINE: Final = DispatchKey.Pipeline.value
#: Held while a gradient is added to ``.grad``, so that backward may run in several threads at once.
accumulating: Final = forkable(Order.GENERATOR)


def accumulate(leaf: Node, grads: list[Tensor | None], create_graph: bool) -> None:
    """Add the gradient that is the only item of a list to the leaf's ``.grad``."""
    assert isinstance(leaf, Leaf)
    tensor = leaf.tensor()
    if tensor is not None and (
        tensor._autograd is not leaf or (type(leaf) is not Leaf and leaf.known_grad_fn is not None)
    ):
        raise RuntimeError("leaf variable has been moved into the graph interior")
    if not leaf.accumulates:
        return
    if tensor is not None:
        see_gradient(tensor)
        if tensor._dispatch_mask & LAYOUTS and grads[0] is not None:
            grads[0] = answer(tensor, "leave_gradient")(grads[0])
    with accumulating:
        before = leaf.grad
        grad: Any = grads[0]
        if before is None:
            if create_graph:
                leaf.grad = grad
            else:
                del grad
                if PLACING[0] and tensor is not None:
                    grads[0] = place_like(grads[0], tensor)
                taken = _take(grads, tensor)
                leaf.grad = _clone(grads[0], tensor) if taken is None else taken
        elif create_graph or (before._dispatch_mask & LAYOUTS and not grad._dispatch_mask & LAYOUTS):
            leaf.grad = add_gradients(before, grad)
        else:
            before.add_(grad)
    if leaf.post_accumulate is not None and tensor is not None:
        for hook in list(leaf.post_accumulate.values()):
            if hook(tensor) is not None:
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def add_gradients(one: Tensor, other: Tensor) -> Tensor:
    """Return the sum of two gradients; a strided one stands before a sparse one, as torch adds them."""
    return other + one if one._dispatch_mask & LAYOUTS and not other._dispatch_mask & LAYOUTS else one + other


def _take(grads: list[Any], leaf: Tensor | None) -> Tensor | None:
    """Return a gradient as it is, or None where it has to be copied; see Note [A gradient that nothing else holds]."""
    if leaf is None or getrefcount(grads[0]) > _ITEM:
        return None
    grad = grads[0]
    data, wanted = grad._dispatch_data, leaf._dispatch_data
    if grad._dispatch_mask & _PIPELINE and isinstance(data, frontends.Pending):
        if _is_alone(grad, leaf):
            return grad
        return _take_pending(grad, leaf, getrefcount(data) - 1)
    if type(data) is not np.ndarray or type(wanted) is not np.ndarray or getrefcount(data) > _HELD:
        return None
    flags, owner, state = data.flags, data.base, getattr(grad, "_autograd", None)
    if data.strides != wanted.strides or not (flags.forc and flags.writeable):
        return None
    if owner is not None and (type(owner) is not np.ndarray or owner.base is not None or owner.nbytes != data.nbytes):
        return None
    if state is None:
        return grad if owner is None or getrefcount(owner) <= _HELD else None
    base, links = _find_base(state)
    if base is None or owner is None or base._dispatch_data is not owner:
        return None
    if getrefcount(base) > _HELD - 1 + links or getrefcount(owner) > _HELD + 1:
        return None
    return _without_history(grad)


def take_own(grads: list[Any]) -> list[Any]:
    """Return gradients that may be written to: copies of those that lie in memory which anything else may hold."""
    return [
        grads[number]
        if grads[number] is None or _is_alone_in(grads, number)
        else dc.ops.aten.clone.default(grads[number])
        for number in range(len(grads))
    ]


def _is_alone_in(grads: list[Any], number: int) -> bool:
    """Return whether a gradient has memory of its own, and no other reference than the list's."""
    if getrefcount(grads[number]) > _ITEM:
        return False
    data = grads[number]._dispatch_data
    return type(data) is np.ndarray and data.base is None and data.flags.writeable and getrefcount(data) <= _HELD


def _find_base(state: Any) -> tuple[Tensor | None, int]:
    """Return the base of a view's state, or None, and how many views lead there, each of which refers to it."""
    if type(state) is not tuple:
        return (state.base if state.is_view else None), 1
    base, links = state[0], 1
    while (state := state[5]) is not None:
        links += 1
    return base, links


def _without_history(grad: Tensor) -> Tensor:
    """Return a tensor with a gradient's array, which is not a view."""
    taken = bare()
    taken._dispatch_data, taken._dispatch_mask = grad._dispatch_data, grad._dispatch_mask & ~AUTOGRAD
    return taken


def _take_pending(grad: Tensor, leaf: Tensor, count: int) -> Tensor | None:
    """Do as `_take` does for a gradient that a pipeline will compute, to whose value there are ``count`` references."""
    data: Any = grad._dispatch_data
    memory = data.shared
    strides = dc.strides(grad)
    if count > _HELD or data.value is not None or data.error is not None or not _is_of_numpy(leaf):
        return None
    if strides != dc.strides(leaf) or not is_non_overlapping_and_dense(dc.shape(grad), strides):
        return None
    state = getattr(grad, "_autograd", None)
    if state is None:
        return grad if memory is None else None
    base, links = _find_base(state)
    whole: Any = None if base is None else base._dispatch_data
    if base is None or memory is None or type(whole) is not type(data) or whole.shared is not memory:
        return None
    if base.numel() != grad.numel() or dc.dtype(base) is not dc.dtype(grad) or whole.value is not None:
        return None
    if getrefcount(base) > _HELD - 1 + links or getrefcount(whole) > _HELD + 2 or getrefcount(memory) > _HELD + links:
        return None
    return _without_history(grad)


def _is_of_numpy(leaf: Tensor) -> bool:
    data = leaf._dispatch_data
    return type(data) is np.ndarray or (isinstance(data, frontends.Pending) and dc.device(leaf).type == "cpu")


def _is_alone(grad: Tensor, leaf: Tensor) -> bool:
    """Return whether a gradient that a captured call will compute lies in memory of its own, as its leaf does."""
    data = grad._dispatch_data
    if current_part() is None or data.shared is not None:
        return False
    return getattr(grad, "_autograd", None) is None and dc.strides(grad) == dc.strides(leaf)


def _count() -> tuple[int, int]:
    """Return how many references an item of a list has while it is counted, and one of an attribute and a variable."""
    items, holder = [object()], Leaf()
    holder.requires_grad = value = object()  # type: ignore[assignment]  # any attribute will do
    return getrefcount(items[0]), getrefcount(value)


_ITEM, _HELD = _count()


def _clone(grad: Any, leaf: Tensor | None) -> Tensor:
    """Copy a gradient; grad mode is off here.

    The copy lies in memory as its leaf does, if that has no gaps, and else row by row; one of a layout has no order.
    """
    copy: Tensor
    if leaf is None or (leaf._dispatch_mask | grad._dispatch_mask) & LAYOUTS or dc.strides(leaf) == dc.strides(grad):
        copy = dc.ops.aten.clone.default(grad)
    elif leaf.is_contiguous() or not is_non_overlapping_and_dense(dc.shape(leaf), dc.strides(leaf)):
        copy = dc.ops.aten.clone.default(grad, memory_format=_CONTIGUOUS)
    else:
        copy = dc.ops.aten.new_empty_strided.default(grad, dc.shape(leaf), dc.strides(leaf))
        copy.copy_(grad)
    return copy
