"""Recorded steps as a planner sees them: numbered values, and the nodes between them.

Note [Structure]
    Two recordings have one structure if the same kernels run on values of the same layouts that are connected, share
    memory and are kept in the same way. `survey` writes the structure down as one flat tuple while it numbers the values;
    everything that a plan may depend on is in it, and nothing else: neither arrays nor the values of floats, which are
    given to a plan when it runs, as arrays are, so that a learning rate that changes makes no new plan.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from .. import arrays
from ..keys import DispatchKey, keys_of
from .graph import Pending, place_of

if TYPE_CHECKING:
    from ..boundary import Parameter
    from .graph import Step

__all__ = ["Node", "PlannedStep", "Program", "Survey", "Value", "build", "device_of", "survey"]


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """What stands at one place of the list that planned steps read and write: an array, or a float given by a call."""

    #: Its place in the list.
    index: int
    #: The Python type of a number; None for arrays.
    number: type | None = None
    shape: tuple[int, ...] = ()
    #: In elements.
    strides: tuple[int, ...] = ()
    dtype: Any = None
    #: Values with the same place share memory, those with another do not.
    place: int = -1
    #: Whether it is there before the program runs.
    given: bool = True
    #: Whether somebody can read it once the program has run. What is not kept need not be stored.
    kept: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One recorded call."""

    #: The operator's name with namespace and overload.
    name: str
    tags: frozenset[str]
    #: The function that is registered for the device and will run; what a plugin runs instead must mean the same.
    kernel: Any
    parameters: tuple[Parameter, ...]
    #: In schema order, with values in the place of arrays and floats; lists are tuples.
    arguments: tuple[Any, ...]
    #: What it makes, in the schema's order; None for an optional result that is not there.
    outputs: tuple[Value | None, ...]
    #: What it writes to.
    written: tuple[Value, ...]

    def inputs(self) -> list[Value]:
        """Return the values among the arguments, numbers included."""
        found: list[Value] = []
        _collect(self.arguments, found)
        return found

    def split(self) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments as kernels take them: by position, and by keyword."""
        pairs = list(zip(self.parameters, self.arguments, strict=True))
        by_position = [value for parameter, value in pairs if not parameter.keyword_only]
        return by_position, {parameter.name: value for parameter, value in pairs if parameter.keyword_only}


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """What is to run on one device: nodes in the order in which they were recorded.

    A planner gives back a `PlannedStep` for each group of nodes that it wants to run in its own way; every other node
    runs its kernel.
    """

    nodes: tuple[Node, ...]
    values: tuple[Value, ...]
    #: Whether the user wants nodes to be run together.
    fuse: bool


@dataclass(frozen=True, slots=True, eq=False)
class PlannedStep:
    """Nodes that run together, in the place of the last of them.

    ``run(values)`` reads what the nodes need from the list of all values, by their indices, and stores what they make; a
    value that is not kept and that no other node reads may be left out. If it raises, it has written to nothing: the
    nodes are then run one by one, so that the error belongs to one of them.
    """

    #: Indices into the program's nodes, ascending.
    nodes: tuple[int, ...]
    run: Callable[[list[Any]], None]
    #: Bytes of results that are never stored.
    saved: int = 0


class Survey:
    """Steps for one device, numbered: their structure, what they start from, and where their results go."""

    __slots__ = ("key", "pending", "places", "slots", "steps", "values")

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        self.key: tuple[Any, ...] = ()
        #: The arrays and floats that are given; None where the steps make something.
        self.values: list[Any] = []
        #: What the steps make: index of the value → the pending value.
        self.pending: dict[int, Pending] = {}
        #: id of an array or a pending value → index.
        self.slots: dict[int, int] = {}
        #: Which values share memory, by index; empty where nothing is written to.
        self.places: list[int] = []


_BY_VALUE: Final = frozenset({int, bool, str, type(None)})
#: Types of arrays, pending values left out → how to read shape, strides and dtype at once.
_LAYOUTS: Final[dict[type, Callable[[Any], Hashable]]] = {}
_MASKS: Final[dict[int, DispatchKey]] = {}


def device_of(step: Step) -> DispatchKey:
    """Return the key of the device that a step runs on."""
    key = _MASKS.get(step.mask)
    if key is None:
        key = _MASKS[step.mask] = next(key for key in keys_of(step.mask) if key.owns_arrays)
    return key


def survey(steps: Sequence[Step], *, fuse: bool) -> Survey | None:
    """Give numbers to what ``steps``, all for one device, read and make; see Note [Structure].

    None where something that they need has failed, or an argument cannot be told from another.
    """
    found = Survey(steps)
    slots, values, pending = found.slots, found.values, found.pending
    key: list[Any] = [fuse]
    uses: list[int] = []
    writes = False

    def add(value: Any) -> bool:
        """Write one argument down; False if it cannot be given to a plan."""
        slot = slots.get(id(value))
        if slot is not None:
            uses[slot] += 1
            key.append(slot)
            return True
        kind = type(value)
        if kind in _BY_VALUE:
            key.append(kind)
            key.append(value)
            return True
        if kind is float or kind is complex:
            key.append(kind)
        elif kind is list or kind is tuple:
            key.append(kind)
            key.append(len(value))
            return all(add(item) for item in value)
        elif isinstance(value, Pending):
            if value.value is None or value.error is not None or value.memory.error is not None:
                return False
            slots[id(value)] = len(values)
            value = value.value
            key.append(_layout(value))
        elif kind in arrays.ARRAY_TYPES:
            slots[id(value)] = len(values)
            key.append(_layout(value))
        else:
            key.append(kind)
            key.append(value)
            return True
        values.append(value)
        uses.append(0)
        return True

    # The usual cases of ``add`` are written out: this runs at each flush.
    known, push, put, begin = slots.get, key.append, values.append, uses.append
    usual_arrays, by_value = _LAYOUTS, _BY_VALUE
    for step in steps:
        entry = step.entry
        key += (entry, entry.generation, step.mask)
        for value in step.values:
            slot = known(id(value))
            if slot is not None:
                uses[slot] += 1
                push(slot)
                continue
            kind = type(value)
            if kind in by_value:
                key += (kind, value)
            elif kind is float:
                push(kind)
                put(value)
                begin(0)
            elif kind in usual_arrays:
                slots[id(value)] = len(values)
                push(usual_arrays[kind](value))
                put(value)
                begin(0)
            elif not add(value):
                return None
        for output in step.outputs:
            if output is None:
                push(None)
                continue
            slot = slots[id(output)] = len(values)
            pending[slot] = output
            put(None)
            begin(0)
            meta = output.meta
            kind = type(meta)
            push(usual_arrays[kind](meta) if kind in usual_arrays else _layout(meta))
        if step.written:
            writes = True
    kept = 0
    count = sys.getrefcount
    value = None  # A name counts, too.
    for slot in pending:
        output = pending[slot]
        # Referred to by the step, by ``pending``, by this name and by the call, and by each use.
        if count(output) - 4 > uses[slot]:
            kept |= 1 << slot
    key.append(kept)
    if writes:
        found.places = _places(found)
        key += found.places
    found.key = tuple(key)
    return found


def _layout(value: Any) -> Hashable:
    """Return shape, strides and dtype of an array or a meta array."""
    reader = arrays.ARRAY_TYPES[type(value)]
    if reader.layout is not None:
        if not isinstance(value, Pending):
            _LAYOUTS[type(value)] = reader.layout
        return reader.layout(value)
    return reader.shape(value), arrays.strides(value), reader.dtype(value)


def _places(found: Survey) -> list[int]:
    """Return for each value a number that those in the same memory share."""
    numbers: dict[Hashable, int] = {}
    places = []
    for slot, value in enumerate(found.values):
        source = found.pending.get(slot, value)
        known = type(source) in arrays.ARRAY_TYPES
        place = place_of(source) if known else None
        places.append(numbers.setdefault(place, len(numbers)) if known else -1)
    return places


def build(found: Survey, *, fuse: bool) -> Program:
    """Make the program that a survey has numbered."""
    kept = _kept(found)
    values: list[Value] = []
    for slot, given in enumerate(found.values):
        output = found.pending.get(slot)
        source = given if output is None else output.meta
        if type(source) is float or type(source) is complex:
            values.append(Value(slot, type(source)))
            continue
        place = found.places[slot] if found.places else slot
        layout = arrays.shape(source), arrays.strides(source), arrays.dtype(source)
        values.append(Value(slot, None, *layout, place, output is None, bool(kept >> slot & 1)))
    numbers = iter([value for value in values if value.number is not None])
    nodes = []
    for step in found.steps:
        plan = step.entry.plan
        assert plan is not None

        def seen(value: Any) -> Any:
            slot = found.slots.get(id(value))
            if slot is not None:
                return values[slot]
            if type(value) is float or type(value) is complex:
                return next(numbers)
            return tuple([seen(item) for item in value]) if isinstance(value, (list, tuple)) else value

        arguments = tuple([seen(value) for value in step.values])
        written: list[Value] = []
        _collect(tuple(arguments[index] for index in step.written), written)
        outputs = tuple([None if each is None else values[found.slots[id(each)]] for each in step.outputs])
        kernel = step.entry.slot(device_of(step)).kernel
        nodes.append(Node(step.name, step.entry.tags, kernel, plan.parameters, arguments, outputs, tuple(written)))
    return Program(tuple(nodes), tuple(values), fuse)


def _kept(found: Survey) -> int:
    places = len(found.places)
    kept: int = found.key[-1 - places]
    return kept


def _collect(value: Any, into: list[Value]) -> None:
    if isinstance(value, Value):
        into.append(value)
    elif isinstance(value, tuple):
        for item in value:
            _collect(item, into)
