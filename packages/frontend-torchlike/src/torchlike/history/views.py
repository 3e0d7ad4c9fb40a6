"""Views: aliases of one storage that know how they were made, so that they can be made again.

Note [Tensors whose arrays have no strides]
    Where arrays have no strides, every tensor answers row-major ones, and ``view`` and ``reshape`` make views of whatever
    they are given, but for an expanded tensor: of that they make a copy, as ``reshape`` does elsewhere. ``as_strided``
    counts elements in memory, which only tensors have whose elements lie there in order.

Note [The state of a view is made late]
    Most views are read and dropped, and never asked how they were made. So where arrays can be written, and the base neither
    requires grad nor is a view with a state, a tuple of the state's parts stands in its place:
    ``(base, time, operator, arguments after the first, refusal, tuple of the view that it is a view of, or None)``.
    `Differentiable._state` makes the state of it. By the time (`tick`) it knows whether the base was written to since.
"""

from __future__ import annotations

import math
from typing import Any, Final, TypeAlias

import dispatch_core as dc
from dispatch_aten.errors import OperatorError
from dispatch_core.forks import Order, forkable
from dispatch_core.frontends import bind, find_array_type
from dispatch_core.keys import AUTOGRAD

from ..names.lazy_names import Tensor
from .captures import current_part
from .grad_mode import enable_grad, is_grad_enabled
from .node import Aliases, Edge, Leaf, Node, Storage, TensorState
from .view_chains import Chain, list_views, replay, view_kinds

#: Held while the aliases of an array that cannot be written are changed; no operator is called meanwhile.
ALIASING: Final = forkable(Order.MEMORY)

#: Views that show all of the memory in its order, be it as elements of another dtype.
_IN_ORDER: Final = frozenset(
    f"aten::{name}"
    for name in (
        "alias detach squeeze squeeze.dim squeeze.dims unsqueeze view view.dtype view_as_complex view_as_real".split()
    )
)

#: Why a change in place of a view, or of its base, cannot be recorded.
UNRECORDED: Final = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
    "view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)
ONE_OF_SEVERAL: Final = (
    "This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
    "modified inplace. You should replace the inplace operation by an out-of-place one."
)
CUSTOM: Final = (
    "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
    "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
    "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
)


class View(Leaf):
    """The state of an alias. ``base`` is the tensor whose history it follows, None for the results of ``detach``."""

    is_view = True

    base: Tensor | None = None
    storage: Storage
    #: The chain of the base: how much of ``chain`` is to be left out when it is replayed there.
    skip: Chain = None
    #: The edge of the node that made the view, and the version at which that was right.
    history: Edge | None = None
    version_seen: int
    #: Whether the view itself was asked to require grad.
    own = False
    #: Why a recorded change in place is refused: one of the reasons above, or None.
    refusal: str | None = None

    @staticmethod
    def tensor() -> Any:
        """Return the tensor, known only for views that were asked to require grad."""
        return None

    def replay_history(self) -> Edge | None:
        """Return the edge of the node that made the view, replayed after its base was changed in place."""
        storage, base = self.storage, self.base
        if base is None or self.version_seen == storage.version:
            return self.history
        if self.history is None and not base.requires_grad:
            return None
        if self.refusal is not None:
            raise self.make_refusal("its base or another view of its base has been")
        with enable_grad():
            made = replay(base, self.chain, self.skip)
        if made._state.base is not base:  # the call was recorded by another level than the base's
            raise RuntimeError(
                f"The history of a view of shape {list(made.shape)} is out of date, because its base or another view of its "
                "base has been modified inplace, and the transform that recorded it is over, or another one is open inside "
                "of it, so it cannot be made again.\n"
                "Hint: return the view from the function, or ask for its grad_fn there, after the last write"
            )
        before, self.history = self.history, made._state.edge
        self.version_seen = storage.version
        if before is not None and before.node.retained is not None:
            move_retained(before, self.history)
        return self.history

    def keep_history(self) -> None:
        """Bring the history up to date, and keep it whatever is written to the base later."""
        self.replay_history()
        self.base = None

    def make_refusal(self, changed: str) -> RuntimeError:
        """Return the error for a change in place that cannot be recorded; ``changed`` names the tensor that was changed."""
        edge = self.history
        which = "" if edge is None else f"Output {edge.output_nr} of {edge.node.name()} is a view"
        if edge is None or self.refusal is UNRECORDED:
            made = f"{which} of a view which was created in" if which else "A view was created in"
            text = f"{made} no_grad mode and {changed} modified inplace with grad mode enabled."
        else:
            text = f"{which} and {changed} modified inplace."
        return RuntimeError(f"{text} {self.refusal}")

    @property
    def requires_grad(self) -> bool:
        """Whether the view or its base requires grad."""
        return self.own or self.history is not None or (self.base is not None and self.base._state.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.own = value

    @property
    def grad_fn(self) -> Node | None:
        edge = self.replay_history()
        return None if edge is None else edge.node

    @property
    def known_grad_fn(self) -> Node | None:
        return None if self.history is None else self.history.node

    @property
    def accumulates(self) -> bool:
        return self.own  # its base's requirement is lost where the view's history is not known

    @property
    def edge(self) -> Edge:
        edge = self.replay_history()
        return self if edge is None else edge

    @property
    def output_nr(self) -> int:  # type: ignore[override]  # computed here, stored elsewhere
        """The number of the result that the view was."""
        return 0 if self.history is None else self.history.output_nr


#: A view whose state was not needed yet; see Note [The state of a view is made late]. The last part is another, or None.
Late: TypeAlias = tuple[Tensor, int, Any, tuple[Any, ...], str | None, Any]


def make_state(late: Late) -> View:
    """Return the state of a view, made of the parts kept when the view was made."""
    base, time = late[:2]
    above = base._state
    state = View()
    state.storage = storage = above.shared_storage()
    steps = [late]
    while (before := steps[-1][5]) is not None:
        steps.append(before)
    chain, refusal = above.chain, None
    for step in reversed(steps):
        chain = chain, step[2], step[3]
        refusal = refusal or step[4]
    state.chain, state.refusal, state.base = chain, refusal, base
    if above.chain is not None:
        state.skip = above.chain
    state.version_seen = storage.version if storage.written <= time else -1
    return state


def make_alias(base: Tensor, op: Any, rest: tuple[Any, ...]) -> View:
    """Return the state of a result of ``detach``: an alias, but no view that gradients follow."""
    above = getattr(base, "_autograd", None)
    if above is None:
        above = base._make_state()
    if type(above) is tuple:
        above = base._state
    storage = above.storage
    if storage is None:
        storage = above.shared_storage()
    state = View()
    state.storage = storage
    state.chain = state.skip = (above.chain, op, rest)
    state.version_seen = storage.version
    if not is_grad_enabled():
        state.refusal = UNRECORDED
    return state


def make_view_state(base: Tensor, op: Any, rest: tuple[Any, ...], *, is_part: bool = False) -> View:
    """Return the state of a view of ``base`` that gradients follow, made by ``op`` with ``rest``, its further arguments."""
    above = base._autograd if base._dispatch_mask & AUTOGRAD else base._state
    if type(above) is tuple:
        above = base._state
    storage = above.storage
    if storage is None:
        storage = above.shared_storage()
    state = View()  # Attributes that are not set below have the class's defaults.
    state.storage = storage
    state.chain = (above.chain, op, rest)
    state.version_seen = storage.version
    if above.is_view and above.base is not None:
        state.base, state.skip = above.base, above.skip
        if above.refusal is not None:
            state.refusal = above.refusal
            return state
    else:
        state.base = base
        if above.chain is not None:
            state.skip = above.chain
    if not is_grad_enabled():
        state.refusal = UNRECORDED
    elif is_part:
        state.refusal = ONE_OF_SEVERAL
    return state


def set_view(tensor: Tensor, base: Tensor, op: Any, rest: tuple[Any, ...], *, is_part: bool = False) -> None:
    """Make ``tensor`` a view of ``base``, made by ``op`` with ``rest``, its arguments after the first in schema order."""
    if view_kinds[op] < 0:
        tensor._dispatch_mask &= ~AUTOGRAD
        state = tensor._autograd = make_alias(base, op, rest)
    else:
        state = tensor._autograd = make_view_state(base, op, rest, is_part=is_part)
    data = tensor._dispatch_data
    known = find_array_type(type(data))
    if known is not None and not known.mutable:
        bind(tensor, data)  # in a pipeline it is pending, whatever the base is
        if (part := current_part()) is not None:
            part.recording.own(tensor)
        if known.strides is None and not _keeps_view(tensor, state, base, op):
            return
        with ALIASING:
            find_aliases(base).add(tensor, state.chain)


def find_aliases(tensor: Tensor) -> Aliases:
    """Return the aliases that a tensor with an array that cannot be written is one of, made on first need."""
    state = tensor._state
    storage = state.shared_storage()
    if storage.aliases is None:
        storage.aliases = Aliases(tensor._dispatch_data)
        storage.aliases.add(tensor, state.chain)
    aliases: Aliases = storage.aliases
    return aliases


def join(tensor: Tensor, other: Tensor, storage: Storage) -> None:
    """Make a tensor a view of another one's base, by the same views; ``storage`` is its own or the other's."""
    state, theirs = tensor._state, other._state
    with ALIASING:
        aliases = find_aliases(other)
        if state.storage is not None and state.storage.aliases is not None:
            state.storage.aliases.remove(tensor)
        storage.aliases = aliases
        state.storage, state.chain, state.expanded = storage, theirs.chain, theirs.expanded
        aliases.add(tensor, state.chain)


def share_memory(tensor: Tensor, other: Tensor) -> None:
    """Include a new tensor with another's array in writes to it, with versions of its own."""
    if not dc.is_mutable(other):
        join(tensor, other, Storage())


def _keeps_view(tensor: Tensor, state: View, base: Tensor, op: Any) -> bool:
    """Return whether a new view of an array without strides is one; see Note [Tensors whose arrays have no strides].

    Raises ``OperatorError`` for ``as_strided`` of elements whose places are not known.
    """
    if op.name == "aten::as_strided" and not all(each.name in _IN_ORDER for each, _ in list_views(base._state.chain)):
        raise OperatorError(
            f"the tensor is a view, and arrays on {dc.device(base)} have no strides: where its elements would lie in memory"
            " is not known",
            operator="aten::as_strided",
            argument="self",
            hint="call as_strided on the tensor that it is a view of, or on a clone",
        )
    sizes, before = dc.shape(tensor), dc.shape(base)
    if op.name == "aten::expand":
        state.expanded = math.prod(sizes) != math.prod(before) or base._state.expanded
        return True
    state.expanded = base._state.expanded
    if op.name != "aten::view" or not state.expanded or [n for n in sizes if n != 1] == [n for n in before if n != 1]:
        return True
    del tensor._autograd
    tensor._dispatch_mask &= ~AUTOGRAD
    return False


def set_history(tensor: Tensor, node: Node) -> None:
    """Make ``node`` the history of a tensor that was changed in place and is not a view that follows a base."""
    state = tensor._state
    before = state.edge
    if state.is_view:
        state.history = node
    else:
        node.storage = state.storage
        if state.chain is not None:
            node.chain, node.expanded = state.chain, state.expanded
        node.grad = state.grad
        tensor._autograd = node
    if before.node.retained is not None:
        move_retained(before, node, tensor._autograd)


def move_retained(before: Edge, after: Edge, state: TensorState | None = None) -> None:
    """Keep the gradient that enters at ``after``, where the one at ``before`` was to be kept, in the same tensor.

    ``state`` is the tensor's state, if it has another one now.
    """
    kept = None if before.node.retained is None else before.node.retained.pop(before.output_nr, None)
    if kept is not None:
        if after.node.retained is None:
            after.node.retained = {}
        after.node.retained[after.output_nr] = kept if state is None else state
