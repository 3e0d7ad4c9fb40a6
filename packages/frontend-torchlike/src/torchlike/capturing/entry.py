"""The inputs of a captured call as they were when it began, and the code that finds out whether they are so again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import dispatch_core as dc
from dispatch_core.keys import AUTOGRAD

from ..autograd.saved import read_version
from ..history.node import Aliases, Leaf, Output
from ..history.view_chains import view_kinds


class Entry:
    """The state of one input when the call met it first."""

    __slots__ = (
        "aliases",
        "grad",
        "index",
        "is_late",
        "is_placed",
        "kind",
        "mask",
        "members",
        "state",
        "storage",
        "tensor",
        "values",
        "version",
    )

    def __init__(self, tensor: Any, index: int) -> None:
        self.tensor, self.index = tensor, index
        self.is_late = type(getattr(tensor, "_autograd", None)) is tuple
        # Made now where there is none: Python looks for an attribute that is not there five times as long at each replay.
        state = self.state = tensor._state
        self.mask: int = tensor._dispatch_mask
        self.version = read_version(tensor)
        self.grad = None if state is None else state.grad
        self.storage = None if state is None else state.storage
        self.aliases: Aliases | None = None if self.storage is None else self.storage.aliases
        #: The tensors that are views of its array, where that cannot be written.
        self.members = list_members(tensor)
        #: The attributes of its state.
        self.values: dict[str, Any] = {} if state is None else dict(vars(state))
        self.kind = describe(tensor)
        #: Whether the call depends on its place in its base.
        self.is_placed = False

    def write_check(self, names: dict[int, str], name_of: Callable[[Any], str], otherwise: str) -> list[str]:
        """Return lines that end with ``otherwise`` where the tensor is not in the same state; ``names`` are tensors'."""
        name, leaf = names[id(self.tensor)], name_of(Leaf)
        read = f"s = getattr({name}, '_autograd', None)"
        differs = f"{name_of(describe)}({name}) != {name_of(self.kind)}"
        if self.kind == PLAIN and not self.mask & AUTOGRAD:
            # One that requires grad, or has a gradient, has the bit.
            found = f"(s := getattr({name}, '_autograd', {name_of(_PLAIN_STATE)}))"
            lines = [f"if {found}.__class__ is not {leaf}: {otherwise}"]
        elif self.kind == PLAIN:
            wrong = f"s.__class__ is not {leaf} or s.requires_grad or s.grad is not None"
            lines = [read, f"if s is not None and ({wrong}): {otherwise}"]
        elif self.kind in (LEAF, LEAF_WITH_GRADIENT):
            wanted = "is not" if self.kind == LEAF else "is"
            wrong = f"s.__class__ is not {leaf} or not s.requires_grad or s.grad {wanted} None or {_HOOKED}"
            lines = [read, f"if {wrong}: {otherwise}"]
        elif self.is_late:
            lines = [read, f"if not {name_of(is_late)}(s, {name_of(self.kind[5])}) and {differs}: {otherwise}"]
        else:
            lines = [f"if {differs}: {otherwise}"]
        if self.is_placed:
            lines.append(f"if {name}._state.chain != {name_of(self.values['chain'])}: {otherwise}")
        if not dc.is_mutable(self.tensor):
            members = [names.get(id(each)) for each in self.members]
            known = "".join(f"{each}, " for each in members if each is not None)
            differs = f"not {name_of(is_same)}({name_of(list_members)}({name}), ({known}))"
            if not known and self.kind in (PLAIN, LEAF, LEAF_WITH_GRADIENT):
                differs = f"s is not None and s.storage is not None and s.storage.aliases is not None and {differs}"
            lines.append(f"if {differs}: {otherwise}")
        return lines


def state_of(tensor: Any) -> Any:
    """Return the state of a tensor, made now where it is late; None for a tensor that has none."""
    state = getattr(tensor, "_autograd", None)
    return tensor._state if type(state) is tuple else state


#: The kinds of state that inputs mostly have; see `describe`.
PLAIN = ("plain",)
#: The state that one without a state is as good as in.
_PLAIN_STATE = Leaf()
LEAF = ("leaf", False)
LEAF_WITH_GRADIENT = ("leaf", True)


def describe(tensor: Any) -> tuple[Any, ...]:
    """Return everything about a tensor's state that Python's decisions depend on."""
    state = state_of(tensor)
    if state is None:
        return PLAIN
    if type(state) is Leaf and not _has_hooks(state):
        if state.requires_grad:
            return LEAF if state.grad is None else LEAF_WITH_GRADIENT
        if state.grad is None:
            return PLAIN
    if not state.is_view:
        return (
            "result" if type(state) is Output else "other",
            state.requires_grad,
            state.grad is None,
            _has_hooks(state),
        )
    base = state.base
    return (
        "view",
        state.requires_grad,
        state.grad is None,
        _has_hooks(state),
        state.own,
        state.refusal,
        state.history is None,
        state.history is None or state.version_seen == state.storage.version,
        state.skip is None,
        None if base is None else (base._state.requires_grad, base.is_leaf),
    )


def _has_hooks(state: Any) -> bool:
    """Return whether hooks run, or gradients are kept, where a gradient arrives at a tensor."""
    edge = state.node if isinstance(state, Output) else state
    return any(getattr(edge, name, None) for name in _HOOKS)


_HOOKS = ("tensor_hooks", "pre_hooks", "post_hooks", "retained", "post_accumulate")
_HOOKED = " or ".join(f"s.{name}" for name in _HOOKS)


def is_late(state: Any, refusal: str | None) -> bool:
    """Return whether a state is that of a view that is made late, of a tensor that is not a view and has no history."""
    return (
        type(state) is tuple
        and state[5] is None
        and state[4] is refusal
        and view_kinds[state[2]] >= 0
        and not state[0]._dispatch_mask & AUTOGRAD
        and not getattr(getattr(state[0], "_autograd", None), "is_view", True)
    )


def list_members(tensor: Any) -> list[Any]:
    """Return the living tensors that are views of the array of one that cannot be written, that one among them."""
    state = state_of(tensor)
    if state is None or state.storage is None or state.storage.aliases is None:
        return []
    return [each for reference, _ in state.storage.aliases.members if (each := reference()) is not None]


@cache
def member_reader(number: int) -> Callable[[Any], Any]:
    """Return the function that finds one of the tensors of `list_members`; the same function for the same number."""

    def read(tensor: Any) -> Any:
        members = list_members(tensor)
        return members[number] if number < len(members) else None

    return read


def is_same(found: Sequence[Any], known: Sequence[Any]) -> bool:
    """Return whether two sequences hold the same objects."""
    return len(found) == len(known) and all(one is other for one, other in zip(found, known, strict=True))
