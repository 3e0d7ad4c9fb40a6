"""The code that makes, at every replay, the results of a recorded call besides arrays: states, nodes, gradients.

At the end of a recorded call its results, the gradients of leaves and the tensors that nodes saved refer to objects that
the call has made: nodes, views, storages. The code makes such objects again, attribute by attribute, in the order in
which nodes were made. Objects from before the call, such as an input's node or its storage, is read off the inputs
of each replay. So a result's graph is an ordinary one: saved tensors are checked for changes, freed, kept for another
backward, and differentiated again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from dispatch_core.calls import define, make_function
from dispatch_core.frontends import TensorLayout, find_layout
from dispatch_core.keys import AUTOGRAD

from ..autograd.function import Context
from ..autograd.saved import Saved, read_version
from ..history.node import Aliases, Leaf, Node, Output, Storage, TensorState, next_sequence, sequence, tick
from ..names.lazy_names import import_lazily
from ..tensors.tensor import Tensor, bare
from .entry import state_of

if TYPE_CHECKING:
    from .entry import Entry
    from .part import CapturedState
else:
    Entry = import_lazily("torchlike.capturing.entry", "Entry")
    CapturedState = import_lazily("torchlike.capturing.part", "CapturedState")

_MISSING: Final = object()
_LITERALS: Final = (bool, str, type(None))


def reserve(count: int) -> int:
    """Return the first of ``count`` numbers for new nodes, which follow one another."""
    first = next_sequence()
    next(islice(sequence, count - 2, count - 1), None) if count > 1 else None
    return first


def _hold(kind: type[Tensor], mask: int, record: Any) -> Tensor:
    """Return the tensor of a layout's record, which is on the same device in every replay."""
    made = object.__new__(kind)
    made._dispatch_data, made._dispatch_mask = record, mask
    return made


def _find_nothing() -> None:
    """Return None, as a dead weak reference does."""


class Blueprint:
    """Writes the code for one recorded call."""

    def __init__(
        self, part: CapturedState, changed: list[Any], reached: dict[int, Any], results: Sequence[Any]
    ) -> None:
        self._part = part
        self._results = set(map(id, results))
        known = find_known(part)
        reached = reach(changed, known, reached)
        self.nodes = _sort_nodes(each for key, each in reached.items() if key not in known)
        self._order = {id(node): number for number, node in enumerate(self.nodes)}
        self.tensors: list[Any] = []
        self.numbers: list[Any] = []
        self.constants: list[Any] = []
        self._places: dict[int, int] = {}
        #: id of an object → its name, and the objects, so that no other gets the id.
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []
        #: id of an object that was there before → the input and the way from its state.
        self._sources: dict[int, tuple[int, str]] = {}
        #: id of a storage that was there before → the input that lies in it.
        self._storages: dict[int, Entry] = {}
        self._reads: list[str] = []
        self._lines: list[str] = []
        self._scope: dict[str, Any] = {
            "Aliases": Aliases,
            "Leaf": Leaf,
            "Output": Output,
            "Storage": Storage,
            "ref": ref,
            "make_saved": _make_saved,
            "mark_written": _mark_written,
            "nothing": _find_nothing,
            "reserve": reserve,
        }
        self._stated: set[int] = set()
        for entry in part.entries:
            self._add_input(entry)

    # Objects that were there before the call.

    def _add_input(self, entry: Entry) -> None:
        place = self.place(entry.tensor)
        state = entry.state
        if state is None:
            # It may have been given one, as `_state` would give it now.
            state = state_of(entry.tensor)
            if state is None:
                return
        if entry.state is not None or type(state) is Leaf:
            self._source(state, place, "")
        storage = entry.storage or state.storage
        self._source(storage, place, ".shared_storage()")
        self._storages.setdefault(id(storage), entry)
        if entry.state is None:
            return
        if state.is_view:
            values = entry.values
            for name in ("base", "chain", "skip", "history"):
                self._source(values.get(name), place, f".{name}")
            if (edge := values.get("history")) is not None:
                self._source(edge.node, place, ".history.node")
        elif isinstance(state, Output):
            self._source(state.node, place, ".node")
        else:
            self._source(state.chain, place, ".chain")

    def _source(self, value: Any, place: int, way: str) -> None:
        if value is not None:
            self._sources.setdefault(id(value), (place, way))
            self._kept.append(value)

    def _read(self, key: int) -> str | None:
        """Return the name of an object that was there before the call, read off an input; None for any other."""
        source = self._sources.get(key)
        if source is None:
            return None
        name = f"x{len(self._reads)}"
        self._reads.append(f"{name} = t{source[0]}._state{source[1]}")
        self._names[key] = name
        return name

    # Values.

    def place(self, tensor: Any) -> int:
        """Return the number of a tensor among those that a replay needs."""
        found = self._places.get(id(tensor))
        if found is None:
            found = self._places[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor)
        return found

    def value(self, value: Any) -> str:
        """Return the text for a value, after the lines that make it."""
        kind = type(value)
        if kind in _LITERALS or kind is int:
            return repr(value)
        known = self._names.get(id(value)) or self._read(id(value))
        if known is not None:
            return known
        if hasattr(value, "expression"):
            self.numbers.append(value)
            return f"n[{len(self.numbers) - 1}]"
        if isinstance(value, Tensor):
            return self.tensor(value)
        if isinstance(value, Storage):
            return self._storage(value)
        if isinstance(value, TensorState):
            return self._state(value)
        if isinstance(value, Saved):
            return self._write_saved(value)
        if isinstance(value, ref):
            target = value()
            return "nothing" if target is None else f"ref({self.tensor(target)})"
        if kind in (tuple, list, dict) and _holds_objects(value, self._sources):
            return self._container(value)
        return self.constant(value)

    def constant(self, value: Any) -> str:
        """Return the name of an object that is the same in every replay."""
        name = self._names[id(value)] = f"k{len(self.constants)}"
        self._scope[name] = value
        self._kept.append(value)
        self.constants.append(value)
        return name

    def _container(self, value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key!r}: {self.value(item)}" for key, item in value.items()) + "}"
        items = "".join(f"{self.value(item)}, " for item in value)
        if isinstance(value, list):
            return f"[{items}]"
        # A chain of views is compared by identity.
        return self._make(value, f"({items})")

    def _make(self, value: Any, text: str) -> str:
        name = self._names[id(value)] = f"o{len(self._names)}"
        self._kept.append(value)
        self._lines.append(f"{name} = {text}")
        return name

    def tensor(self, tensor: Any) -> str:
        """Return the name of a tensor; of one that the call has made, after the lines that give it its state."""
        # Tensors of layouts that are results are made before.
        is_known, layout = id(tensor) in self._part.known or id(tensor) in self._results, find_layout(tensor)
        name = f"t{self.place(tensor)}" if is_known or layout is None else self._record(tensor, layout)
        if id(tensor) not in self._part.known and id(tensor) not in self._stated:
            self._stated.add(id(tensor))
            state = state_of(tensor)
            if state is not None and (tensor._dispatch_mask & AUTOGRAD or not _is_blank(state)):
                self._lines.append(f"{name}._autograd = {self.value(state)}")
        return name

    def _record(self, tensor: Any, layout: TensorLayout) -> str:
        """Return the name of a layout's tensor that the call has made, of which a replay makes the components."""
        found = self._names.get(id(tensor))
        if found is not None:
            return found
        record, self._scope["hold"] = tensor._dispatch_data, _hold
        fields = [f"{name!r}: {self.value(value)}" for name, value in layout.fields_of(record).items()]
        facts = f"{self.constant(type(tensor))}, {tensor._dispatch_mask}"
        return self._make(tensor, f"hold({facts}, {self.constant(layout)}.make(**{{{', '.join(fields)}}}))")

    def _storage(self, storage: Storage) -> str:
        name = self._make(storage, "Storage()")
        if storage.version:
            self._lines.append(f"{name}.version = {storage.version}")
        return name

    def version(self, storage: Any, version: int) -> str:
        """Return the text for a version of a storage, counted from the one at the beginning of the replay."""
        entry = None if storage is None else self._storages.get(id(storage))
        return str(version) if entry is None else self._count(entry, version)

    def _count(self, entry: Any, version: int) -> str:
        key = -1 - entry.index
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"v{entry.index}"
            self._scope["read_version"] = read_version
            self._reads.append(f"{name} = read_version(t{self.place(entry.tensor)})")
        change = version - entry.version
        return f"{name} + {change}" if change else name

    def _write_saved(self, saved: Saved) -> str:
        """Write a node's own result, which it keeps as data: an input's, or that of a tensor made for it."""
        made = next((each.tensor for each in self._part.entries if each.tensor._dispatch_data is saved.data), None)
        if made is None:
            made = bare()
            made._dispatch_data, made._dispatch_mask = saved.data, saved.mask & ~AUTOGRAD
            self._kept.append(made)
        storage, version = self.value(saved.storage), self.version(saved.storage, saved.version)
        return self._make(saved, f"make_saved(t{self.place(made)}, {storage}, {saved.number}, {version})")

    def _state(self, state: TensorState) -> str:
        """Write a state that the call has made."""
        if isinstance(state, Output):
            name = self._make(state, f"Output({self.value(state.node)}, {state.output_nr})")
            skipped = {"node", "output_nr"}
        else:
            if isinstance(state, Node) and not state.is_leaf:
                self._check_made(state)
            kind = self._names.get(id(type(state))) or self.constant(type(state))
            name = self._make(state, f"{kind}()")
            skipped = set()
        for attribute, value in sorted(vars(state).items()):
            if attribute not in skipped and getattr(type(state), attribute, _MISSING) is not value:
                self._lines.append(f"{name}.{attribute} = {self._attribute(state, attribute, value)}")
        return name

    def _check_made(self, node: Any) -> None:
        if node.seq <= self._part.first:
            self._part.recording.refuse(
                "A result depends on a graph that was made before by a tensor that is not an input",
                "give the tensor to the function, or detach it",
            )

    def _attribute(self, state: Any, name: str, value: Any) -> str:
        if name == "seq":
            return f"q + {self._order[id(state)]}"
        if name == "versions":
            saved = state.saved
            return "()" if saved is None else self._versions(saved, value)
        if name == "version_seen" and value >= 0:
            return self.version(state.storage, value)
        if name == "saved" and isinstance(state, Context) and value:
            pairs = [(self.value(each), self.version(_storage_of(each), at)) for each, at in value]
            return "(" + "".join(f"({each}, {at}), " for each, at in pairs) + ")"
        return self.value(value)

    def _versions(self, saved: tuple[Any, ...], versions: tuple[Any, ...]) -> str:
        found = []
        for each, version in zip(saved, versions, strict=False):
            if isinstance(version, tuple):
                found.append(self._versions(each, version))
            else:
                found.append(self._version_of(each, version))
        return f"({''.join(f'{text}, ' for text in found)})"

    def _version_of(self, tensor: Any, version: int) -> str:
        entry = self._part.known.get(id(tensor))
        if entry is not None:
            return self._count(entry, version)
        return self.version(_storage_of(tensor), version)

    # The whole.

    def write_nodes(self) -> None:
        """Write the nodes that lead to the roots, each after those that it depends on."""
        for node in self.nodes:
            if id(node) not in self._sources:
                self.value(node)

    def write_aliases(self) -> None:
        """Write which tensors are views of one array, where arrays cannot be written."""
        groups: dict[int, tuple[Aliases, dict[int, Storage]]] = {}
        for tensor in self.tensors:
            storage = _storage_of(tensor)
            if storage is not None and storage.aliases is not None:
                groups.setdefault(id(storage.aliases), (storage.aliases, {}))[1][id(storage)] = storage
        for aliases, storages in groups.values():
            before = next((entry for entry in self._part.entries if entry.aliases is aliases), None)
            if before is None:
                name = self._make(aliases, "Aliases(None)")
                for storage in storages.values():
                    self._lines.append(f"{self.value(storage)}.aliases = {name}")
            else:
                name = f"a{len(self._reads)}"
                self._reads.append(f"{name} = t{self.place(before.tensor)}._state.storage.aliases")
            self._lines.append(f"{name}.data = t{self._find_holder(aliases)}._dispatch_data")
            for reference, chain in aliases.members:
                target = reference()
                is_known = before is not None and any(target is each for each in before.members)
                if target is not None and id(target) in self._places and not is_known:
                    self._lines.append(f"{name}.add(t{self.place(target)}, {self.value(chain)})")

    def _find_holder(self, aliases: Aliases) -> int:
        """Return the place of a tensor that holds the array of aliases, made if there is none."""
        for number, tensor in enumerate(self.tensors):
            if tensor._dispatch_data is aliases.data:
                return number
        made = bare()
        made._dispatch_data = aliases.data
        members = [each for reference, _ in aliases.members if (each := reference()) is not None]
        made._dispatch_mask = members[0]._dispatch_mask & ~AUTOGRAD
        self._kept.append(made)
        return self.place(made)

    def write(self, text: str) -> None:
        """Write a line, after all that were written."""
        self._lines.append(text)

    def finish(self) -> tuple[str, LateCode | None]:
        """Return the source of the function that a replay calls, and the function; None where there is nothing to do."""
        if not self._lines:
            return "", None
        names = "".join(f"t{number}, " for number in range(len(self.tensors)))
        lines = [f"{names}= t"] if names else []
        lines += self._reads
        if self.nodes:
            lines.append(f"q = reserve({len(self.nodes)})")
        source = define("restore(t, n)", [*lines, *self._lines])
        return source, LateCode(source, self._scope)


class LateCode:
    """A function that is compiled when it is first called: most recordings are compared, and never replayed."""

    __slots__ = ("_function", "_scope", "_source")

    def __init__(self, source: str, scope: dict[str, Any]) -> None:
        self._source, self._scope = source, scope
        self._function: Any = None

    def __call__(self, *args: Any) -> Any:
        if self._function is None:
            self._function = make_function(self._source, "captured call", self._scope)
        return self._function(*args)


def _mark_written(tensor: Tensor, times: int) -> None:
    """Count writes to a tensor's memory."""
    storage = tensor._state.shared_storage()
    storage.version += times
    storage.written = tick()


def _make_saved(tensor: Tensor, storage: Storage, number: int, version: int) -> Saved:
    made = Saved(tensor, storage, number)
    made.version = version
    return made


def _storage_of(tensor: Any) -> Any:
    if isinstance(tensor, Saved):
        return tensor.storage
    state = state_of(tensor)
    return None if state is None else state.storage


def _is_blank(state: Any) -> bool:
    """Return whether a state says nothing that a tensor without one does not."""
    return (
        type(state) is Leaf
        and not (state.requires_grad or state.grad is not None or state.expanded or state.chain is not None)
        and state.storage is None  # one of no writes may still be shared with views
        and not any(getattr(state, name) for name in ("tensor_hooks", "pre_hooks", "post_hooks", "post_accumulate"))
        and state.cut is None
    )


_OBJECTS: Final = (Tensor, TensorState, Storage, Saved, ref)


def _holds_objects(value: Any, sources: Mapping[int, object]) -> bool:
    """Return whether a container holds something that each replay has of its own, such as an input's chain of views."""
    items = value.values() if isinstance(value, dict) else value
    return any(
        isinstance(item, _OBJECTS)
        or hasattr(item, "expression")
        or id(item) in sources
        or (type(item) in (tuple, list, dict) and _holds_objects(item, sources))
        for item in items
    )


def _parts_of(value: Any) -> Iterator[Any]:
    """Yield the tensors and states that a value refers to."""
    if isinstance(value, (Tensor, TensorState)):
        yield value
    elif type(value) in (tuple, list):
        for item in value:
            yield from _parts_of(item)
    elif type(value) is dict:
        for item in value.values():
            yield from _parts_of(item)


def find_known(part: CapturedState) -> set[int]:
    """Return the ids of inputs, of their states and histories, behind which nothing is of the call.

    States that are late are made now, and storages by that.
    """
    states = [(entry.state, entry.values.get("history")) for entry in part.entries]
    return {id(each) for pair in states for each in pair} | set(part.known)


def list_leaves(reached: dict[int, Any]) -> list[Any]:
    """Return the leaves of layouts among objects that are reached: no operator that is recorded meets them."""
    leaves = (each for each in reached.values() if type(each) is Leaf and each.requires_grad)
    found = [each.tensor() for each in leaves if hasattr(each, "tensor")]
    return [each for each in found if each is not None and find_layout(each) is not None]


def _sort_nodes(reached: Iterable[Any]) -> list[Any]:
    """Return the nodes among objects that are reached, in the order of their making."""
    nodes = [each for each in reached if isinstance(each, Node) and not each.is_leaf]
    nodes.sort(key=lambda node: node.seq)
    return nodes


def reach(roots: list[Any], known: set[int], reached: dict[int, Any]) -> dict[int, Any]:
    """Add to ``reached``, by id, the states and other objects that can be reached from tensors and states; return it."""
    seen: set[int] = set(reached)
    stack = list(_parts_of(roots))
    while stack:
        value = stack.pop()
        if id(value) in seen or id(value) in known:
            continue
        seen.add(id(value))
        if isinstance(value, Tensor):
            state = state_of(value)
            if state is not None:
                stack.append(state)
            continue
        reached[id(value)] = value
        for item in vars(value).values():
            stack += _parts_of(item)
    return reached
