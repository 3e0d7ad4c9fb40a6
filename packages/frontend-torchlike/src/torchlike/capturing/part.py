"""The frontend's work while a call of a captured function is recorded; see Note [A frontend's part] in the core."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from dispatch_core.frontends import AUTOGRAD, CapturePart, Finish

from ..history.graph_settings import anomaly_mode, refused_by_captures
from ..history.node import Leaf, next_sequence
from ..nn.global_hooks import ANY
from ..nn.tree import Tree
from ..tensors.tensor import TensorCapture
from .blueprint import Blueprint, find_known, list_leaves, reach
from .entry import Entry, member_reader, state_of
from .modules import ModuleGuards
from .optimizers import OptimizerStates


def read_gradient(tensor: Any) -> Any:
    """Return the gradient of a tensor, without asking whether it is a leaf."""
    state = state_of(tensor)
    return None if state is None else state.grad


def read_base(tensor: Any) -> Any:
    """Return the tensor that another is a view of, or None."""
    state = state_of(tensor)
    return state.base if state is not None and state.is_view else None


class CapturedState(CapturePart):
    """The frontend's part in one recorded call."""

    def __init__(self, recording: Any) -> None:
        self.recording = recording
        #: The number of the last node that was made before.
        self.first = next_sequence()
        self.entries: list[Entry] = []
        #: id of an input → its entry.
        self.known: dict[int, Entry] = {}
        #: The chains of views that were made again: the call's steps depend on them.
        self.chains: list[Any] = []
        #: The nodes that the call has made.
        self.nodes: list[Any] = []
        self.modules = ModuleGuards(recording)
        self.optimizers = OptimizerStates(recording)
        self._environment = TensorCapture.environment()
        if refused_by_captures() or anomaly_mode.get()[0]:
            recording.refuse(
                "Hooks on saved tensors, or anomaly mode, are on",
                "leave their block: nodes that a replay makes are not shown to them",
            )
        ANY[-id(self)] = True

    def hold(self, objects: Sequence[Any]) -> None:
        self.modules.hold([each for each in objects if isinstance(each, Tree) and "_modules" in vars(each)])

    def meet(self, tensor: Any) -> None:
        entry = self.known[id(tensor)] = Entry(tensor, len(self.entries))
        self.entries.append(entry)
        for number, member in enumerate(entry.members):
            if id(member) not in self.known:
                self.recording.see_part(member, tensor, member_reader(number))

    def see_base(self, tensor: Any) -> None:
        """Take the tensor that another is a view of as an input, before the history of both changes."""
        self.recording.see(tensor)
        base = read_base(tensor)
        if base is not None:
            self.recording.see_part(base, tensor, read_base)

    def see_gradient(self, tensor: Any) -> None:
        """Take a tensor as an input, and its gradient as the one that it has at each replay."""
        self.recording.see(tensor)
        entry = self.known.get(id(tensor))
        if entry is not None and entry.grad is not None and read_gradient(tensor) is entry.grad:
            self.recording.see_part(entry.grad, tensor, read_gradient)

    def check(self) -> None:
        if TensorCapture.environment() != self._environment:
            self.recording.refuse(
                "The grad mode, the default dtype or autocast is another than before",
                "set it in a with block, or outside",
            )
        self.modules.finish(self.known)
        self.optimizers.finish()

    def finish(self, results: Sequence[Any]) -> Finish:
        self.check()
        reached = reach([*results], find_known(self), {})
        for leaf in list_leaves(reached):
            self.recording.see(leaf)
        changed = [state for each in self.entries if (state := state_of(each.tensor)) is not each.state]
        changed += [value for each in self.entries for _, value in _find_changes(each)]
        blueprint = Blueprint(self, [each for each in changed if each is not None], reached, results)
        blueprint.write_nodes()
        self.nodes = blueprint.nodes
        for result in results:
            blueprint.tensor(result)
        storages: set[int] = set()
        for entry in self.entries:
            _write_changes(blueprint, entry, storages)
        blueprint.write_aliases()
        source, restore = blueprint.finish()
        key = (tuple(source.splitlines()), tuple(blueprint.constants))
        tensors, entries = tuple(blueprint.tensors), self.entries[:]
        again = set(map(id, self.chains))
        for entry in entries:
            entry.is_placed = id(entry.values.get("chain")) in again

        def write_checks(names: Sequence[str], name_of: Callable[[Any], str], otherwise: str) -> list[str]:
            """Return lines that find out whether the inputs are in the same states again."""
            known = {id(each): name for each, name in zip(tensors, names, strict=True)}
            return [line for each in entries for line in each.write_check(known, name_of, otherwise)]

        is_first = any(each.grad is None and read_gradient(each.tensor) is not None for each in entries)
        return Finish(tensors, restore, key, write_checks, tuple(blueprint.numbers), is_first)

    def end(self, *, failed: bool) -> None:
        ANY.pop(-id(self), None)
        self.modules.end()
        self.optimizers.end()
        for node in self.nodes:
            _settle_numbers(node)
        self.nodes = []
        self.entries.clear()
        self.chains.clear()
        self.known.clear()


def _settle_numbers(node: Any) -> None:
    """Replace a node's live numbers by ordinary ones: its backward may run outside of the call."""
    for name, value in vars(node).items():
        if (settled := _settle(value)) is not value:
            setattr(node, name, settled)


def _settle(value: Any) -> Any:
    if hasattr(value, "expression"):
        return value.value
    if type(value) in (tuple, list):
        found = [_settle(each) for each in value]
        return value if all(map(operator.is_, found, value)) else type(value)(found)
    return value


#: The attributes of a state that a call may change, besides its storage.
_CHANGING = (
    "grad",
    "requires_grad",
    "history",
    "version_seen",
    "chain",
    "skip",
    "own",
    "refusal",
    "expanded",
    "retained",
)


def _write_changes(blueprint: Blueprint, entry: Entry, storages: set[int]) -> None:
    """Write a call's changes to an input besides its array."""
    tensor, name = entry.tensor, f"t{blueprint.place(entry.tensor)}"
    now = state_of(tensor)
    if now is None:
        return
    if now is not entry.state and not (entry.state is None and type(now) is Leaf):
        blueprint.write(f"{name}._autograd = {blueprint.value(now)}")
    else:
        for attribute, value in _find_changes(entry):
            text = blueprint.version(now.storage, value) if attribute == "version_seen" else blueprint.value(value)
            blueprint.write(f"{name}._state.{attribute} = {text}")
    bits = tensor._dispatch_mask & AUTOGRAD
    if bits != entry.mask & AUTOGRAD:
        blueprint.write(f"{name}._dispatch_mask = {name}._dispatch_mask & {~AUTOGRAD} | {bits}")
    storage: Any = now.storage
    if entry.aliases is not None and storage.aliases is None and storage is entry.storage:
        blueprint.write(f"{name}._state.storage.aliases = None")
    change = now.version - entry.version
    if change and id(now.storage) not in storages:
        storages.add(id(now.storage))
        blueprint.write(f"mark_written({name}, {change})")


def _find_changes(entry: Entry) -> list[tuple[str, Any]]:
    """Return the attributes of a state that a call has changed, with their values."""
    now = state_of(entry.tensor)
    if now is None or not (now is entry.state or (entry.state is None and type(now) is Leaf)):
        return []
    found = [(each, _read(now, vars(now), each)) for each in _CHANGING]
    return [(each, value) for each, value in found if value is not _read(entry.state, entry.values, each)]


def _read(state: Any, values: dict[str, Any], attribute: str) -> Any:
    """Return an attribute of a state; of a tensor that had none, that of a leaf."""
    return values.get(attribute, getattr(Leaf if state is None else type(state), attribute, None))
