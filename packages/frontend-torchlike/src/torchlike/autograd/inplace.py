"""The history of tensors that are changed in place: the checks before, and the new history after.

The base gets a `CopySlices` node: backward cuts the view's part out of the gradient, sends it through the operator's own
node, and puts the result back in its place. The view itself, and every other view of the base, sees that the version
has moved, and replays its history on the base (`View.replay_history`).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Final

import dispatch_core as dc

from ..history.captures import see_base
from ..history.device_keys import autograd_bit
from ..history.node import Node, next_sequence
from ..history.view_chains import replay
from ..history.views import set_history
from ..names.lazy_names import Tensor
from .saved import make_released_error

_LEAF_WRITTEN: Final = (
    "a leaf Variable that requires grad is being used in an in-place operation.\n"
    "Hint: write under no_grad, as optimizers do, or to a copy of it"
)


def check_inplace(tensor: Tensor) -> None:
    """Refuse to record an in-place change of a leaf, or of a view that cannot follow it."""
    state = tensor._state
    if state.is_view and state.base is not None:
        if state.refusal is not None and dc.dtype(tensor).is_differentiable:
            raise state.make_refusal("is being")
        if state.requires_grad and state.base.is_leaf:
            raise RuntimeError(f"a view of {_LEAF_WRITTEN}")
    if state.requires_grad and state.known_grad_fn is None and state.grad_fn is None:
        raise RuntimeError(_LEAF_WRITTEN)


class CopySlices(Node):
    """The history of a base that was changed through one of its views."""

    #: The node of the operator; None once released. It is released by itself where a graph has it, too, as that of a
    #: gradient has for a result that was saved: backward of this graph may come to it after this node.
    fn: Node | None
    #: The views that lead from the base to the tensor that was changed, as `replay` takes them.
    views: Any
    skipped: Any
    #: The number of the operator's argument that was changed.
    place = 0

    def apply(self, grads: list[Tensor | None]) -> tuple[Tensor | None, ...]:
        (grad,) = grads
        if grad is None:
            return (None,) * len(self.next)
        fn = self.fn
        if fn is None:
            raise make_released_error()
        result = grad.clone()
        part = replay(result, self.views, self.skipped)
        inner, place = fn.apply([part.clone()]), self.place
        if self.next[place] is not None:
            if inner[place] is None:
                part.zero_()
            else:
                part.copy_(inner[place])
        return (*inner[:place], result, *inner[place + 1 :])

    def release(self) -> None:
        self.fn = None


def rebase(tensor: Tensor, node: Node, place: int = 0) -> None:
    """Make ``node`` the history of a tensor that an operator has written to; ``place`` is the tensor's among its inputs."""
    see_base(tensor)
    bit = autograd_bit(tensor._dispatch_mask)
    tensor._dispatch_mask |= bit
    state = tensor._state
    if not state.is_view or state.base is None:
        set_history(tensor, node)
        return
    base = state.base
    copy = CopySlices()
    copy.fn, copy.views, copy.skipped = node, state.chain, state.skip
    if place:
        copy.place = place
    before = base._state
    above = before.edge if before.requires_grad else None
    copy.next = (*node.next[:place], above, *node.next[place + 1 :])
    copy.seq = next_sequence()
    copy.meta = base._shape_and_dtype()
    base._dispatch_mask |= bit
    set_history(base, copy)
    if state.history is not None and state.history.node.retained is not None:
        state.replay_history()  # the gradient that is kept is that of the new values


def turn(tensor: Tensor, node: Node) -> None:
    """Make ``node`` the history of a tensor that became a view of itself, as by ``transpose_``: no element has changed.

    A gradient that is to be kept of a view stays the one of the view before.
    """
    state = tensor._state
    if not state.is_view or state.base is None:
        rebase(tensor, node)
        return
    see_base(tensor)
    tensor._dispatch_mask |= autograd_bit(tensor._dispatch_mask)
    state.history, state.version_seen = node, state.storage.version


def check_marked(dirty: Sequence[Any], results: Sequence[Any], given: set[int], is_recorded: bool) -> None:
    """Refuse tensors that a custom function marked as dirty and kept to itself: their history would miss the write."""
    returned = {id(each) for each in results}
    if any(id(each) not in returned for each in dirty):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. "
            "The inputs that are modified inplace must all be outputs of the Function."
        )
    if is_recorded and any(id(each) not in given for each in dirty):
        warnings.warn(
            "ctx.mark_dirty() received a tensor that was not an input. "
            "Only input Tensors that have been mutated should be passed to ctx.mark_dirty().",
            UserWarning,
            stacklevel=4,
        )
