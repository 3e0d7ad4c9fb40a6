"""From recorded steps to the program that a planner sees, and the fingerprint by which plans are kept.

Note [Structure]
    Two recordings have one structure if the same kernels run on values of the same array specs that are connected, share
    memory and are kept in the same way. `fingerprint` writes the structure down as one flat tuple while it numbers the
    values; everything that a plan may depend on is in it, and nothing else: neither arrays nor the values of floats, which
    are given to a plan when it runs, as arrays are, so that a learning rate that changes makes no new plan.

Note [Ints that are values]
    An int is mostly structure: a dimension, a size, a mode. Where a device's arrays cannot be written to, planners compile
    whole programs as a rule, and an int that counts up would have each of them compiled again. There an int is a value, as
    a float is, where the schema has a ``Scalar`` without a default and no shape depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dispatch_core.arrays import access, owners
from dispatch_core.keys.table import alternatives
from dispatch_core.operators.kernel_names import describe_kernel
from dispatch_core.operators.resolution import Resolution, resolve

from ..graph.nodes import values_in
from ..record.array_specs import read_spec
from ..record.liveness import count_references
from ..record.pending import Pending, storage_key
from ..record.steps import masks_of_kernels, to_outputs
from .model import Node, PlanOptions, Program, Value

if TYPE_CHECKING:
    from dispatch_core.keys import context
    from dispatch_core.operators.dispatch_table import Slot

    from ..record.steps import RecordedCall, Step


class ProgramFingerprint:
    """The structure of calls for one device, the values that they start from, and the indices of their results."""

    __slots__ = ("_steps", "_take", "count", "key", "pending", "places", "slots", "state", "successors", "values")

    def __init__(self, records: Sequence[RecordedCall], take: Callable[[], Sequence[Step]] | None) -> None:
        self._steps: Any = records if take is None else None
        self._take = take
        self.count = len(records)
        self.key: tuple[Any, ...] = ()
        #: The arrays and floats that are given; None where the calls make something.
        self.values: list[Any] = []
        #: Index of a result → the pending value.
        self.pending: dict[int, Pending] = {}
        #: id of an array or a pending value → index.
        self.slots: dict[int, int] = {}
        #: Which values share memory, by index; empty where nothing is written to.
        self.places: list[int] = []
        #: Index of an array whose memory may be used up → the value in its place; see Note [Donation] in `donation`.
        self.successors: dict[int, int] = {}
        #: The context's masks at the calls.
        first = records[0] if records else None
        self.state: context.State | None = first[5] if type(first) is tuple else getattr(first, "state", None)

    @property
    def steps(self) -> Sequence[Step]:
        """The calls as steps, made of the records at the first use."""
        if self._steps is None:
            assert self._take is not None
            self._steps = self._take()
        steps: Sequence[Step] = self._steps
        return steps

    def slot_of(self, output: Pending) -> int:
        """Return the index of a call's result."""
        return self.slots[id(output)]

    def is_kept(self, output: Pending) -> bool:
        """Return whether a call's result is referred to from outside the record."""
        return bool(_kept_bits(self) >> self.slots[id(output)] & 1)

    @property
    def has_steps(self) -> bool:
        """Whether the calls are steps by now."""
        return self._steps is not None


_NUMBERS: Final = frozenset({float, complex, int})
_BY_VALUE: Final = frozenset({int, bool, str, type(None)})


def slot_of(step: type[Step]) -> Slot:
    """Return the slot whose kernel steps of a class run: an alternative's, where their calls included one."""
    if step.mask & alternatives[0]:
        found = resolve(step.entry, step.mask, 0)
        assert isinstance(found, Resolution)
        return found.slot
    return step.entry.slot(step.device)


def describe_kernel_of(step: type[Step]) -> str:
    """Return the text that names the kernel that steps of a class run."""
    return describe_kernel(step.device, slot_of(step).registration)


def fingerprint(
    records: Sequence[RecordedCall],
    options: PlanOptions,
    *,
    take: Callable[[], Sequence[Step]] | None = None,
    given: Sequence[Pending] = (),
    kept: Container[int] | None = None,
) -> ProgramFingerprint | None:
    """Return the fingerprint of ``records`` or steps, all for one device; see Note [Structure].

    ``take`` makes steps of the records, where these are no steps yet. None where a value that they read has failed, an
    argument cannot be compared, or the context had other masks at one call than at another.
    Of a captured call's steps, which run again, ``given`` are the values that other steps have made before, and ``kept``
    the ids of those that are needed afterwards; references do not tell, and each step keeps its masks.
    """
    found = ProgramFingerprint(records, take)
    slots, values, pending = found.slots, found.values, found.pending
    key: list[Any] = [options]
    uses: list[int] = []
    writes = False
    for each in given:
        slots[id(each)] = len(values)
        key.append(each.meta)
        values.append(each)
        uses.append(0)

    # The usual cases of `_add` are written out: this runs at each flush.
    known, push, put, begin = slots.get, key.append, values.append, uses.append
    by_value, is_array, looks = _BY_VALUE, owners.ARRAY_TYPES, read_spec
    state = found.state
    for record in records:
        outputs: tuple[Pending | None, ...]
        if isinstance(record, tuple):
            call, arguments, made, _, _, then = record
            outputs = to_outputs(made)
        else:
            call, arguments, outputs, then = type(record), record.values, record.outputs, record.state
        if then is not state and kept is None and masks_of_kernels(then) != masks_of_kernels(state):
            return None
        push(call)
        push(call.entry.generation)
        for index, value in enumerate(arguments):
            slot = known(id(value))
            if slot is not None:
                uses[slot] += 1
                push(slot)
                continue
            kind = type(value)
            if kind in by_value:
                push(kind)
                if kind is int and index in call.int_values:
                    put(value)
                    begin(0)
                else:
                    push(value)
            elif kind is float:
                push(kind)
                put(value)
                begin(0)
            elif kind in is_array and not isinstance(value, Pending):
                slots[id(value)] = len(values)
                push(looks(value))
                put(value)
                begin(0)
            elif not _add(value, slots, key, values, uses):
                return None
        for output in outputs:
            if output is None:
                push(None)
                continue
            slot = slots[id(output)] = len(values)
            pending[slot] = output
            push(output.meta)
            put(None)
            begin(0)
        if call.written:
            writes = True
    output = value = made = None  # Names count, too.
    outputs = ()
    if kept is None:
        # The call that makes it refers to it, too.
        counted = zip(pending, count_references(pending), strict=True)
        bits = sum([1 << slot for slot, references in counted if references > uses[slot] + 1])
    else:
        bits = sum([1 << slot for slot, output in pending.items() if id(output) in kept])
    key.append(bits)
    if writes:
        found.places = _places(found)
        key += found.places
    found.key = tuple(key)
    return found


# No functions within functions here: one that calls itself is a cycle, and would keep the values alive.


def _add(value: Any, slots: dict[int, int], key: list[Any], values: list[Any], uses: list[int]) -> bool:
    """Add one argument to the fingerprint; return False if no plan can take it."""
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
        return all(_add(item, slots, key, values, uses) for item in value)
    elif isinstance(value, Pending):
        shared = value.shared
        if value.value is None or value.error is not None or (shared is not None and shared.error is not None):
            return False
        slots[id(value)] = len(values)
        value = value.value
        key.append(read_spec(value))
    elif kind in owners.ARRAY_TYPES:
        slots[id(value)] = len(values)
        key.append(read_spec(value))
    else:
        key.append(kind)
        key.append(value)
        return True
    values.append(value)
    uses.append(0)
    return True


def _places(found: ProgramFingerprint) -> list[int]:
    """Return for each value a number that those in the same memory share."""
    numbers: dict[Hashable, int] = {}
    places = []
    pending, known = found.pending, owners.ARRAY_TYPES
    for slot, value in enumerate(found.values):
        output = pending.get(slot, value)
        if type(output) not in known:
            places.append(-1)
            continue
        key = output if isinstance(output, Pending) and output.shared is None else storage_key(output)
        places.append(numbers.setdefault(key, len(numbers)))
    return places


def build(found: ProgramFingerprint, options: PlanOptions, faults: Sequence[Any] = ()) -> Program:
    """Make the program that a fingerprint has numbered; ``faults`` are those of its nodes, where it is replayed."""
    kept = _kept_bits(found)
    values: list[Value] = []
    for slot, given in enumerate(found.values):
        output = found.pending.get(slot)
        source = given if output is None else output.meta
        if type(source) in _NUMBERS:
            values.append(Value(slot, type(source)))
            continue
        place = found.places[slot] if found.places else slot
        look = access.shape(source), access.strides(source), access.dtype(source)
        uses = output is None, bool(kept >> slot & 1), found.successors.get(slot)
        values.append(Value(slot, None, *look, place, *uses))
    numbers = iter([value for value in values if value.number is not None])
    nodes = []
    for place, step in enumerate(found.steps):
        assert step.entry.signature is not None
        arguments = tuple(
            [
                next(numbers)
                if type(value) is int and index in step.int_values
                else _to_node_argument(value, found.slots, values, numbers)
                for index, value in enumerate(step.values)
            ]
        )
        written = tuple(values_in([arguments[index] for index in step.written]))
        keywords = tuple([each.name for each in step.entry.signature.parameters if each.keyword_only])
        outputs = tuple([None if each is None else values[found.slots[id(each)]] for each in step.outputs])
        kernel, fault = _kernel(step, arguments), faults[place] if faults else None
        parts = arguments, keywords, outputs, written, kernel, fault, step.code, step.instruction, step.state
        nodes.append(Node(type(step), *parts))
    return Program(tuple(nodes), tuple(values), *options)


class NodeFingerprint(NamedTuple):
    """A call's part of a program's structure, with names instead of values."""

    operator: Any
    arguments: tuple[Any, ...]
    #: Shape, strides and dtype of each result.
    results: tuple[Any, ...]
    #: The keys that the kernel is found by, device, stream, and the context's masks.
    place: tuple[Any, ...]


def fingerprint_node(node: Node, names: Sequence[Any]) -> NodeFingerprint:
    """Return the fingerprint of one call; ``names`` has what each value is, by its index."""
    kind = node.kind
    # An operator's entry is one object; that of a copy may be made again, and has what the two mean.
    operator = getattr(kind.entry, "meaning", kind.entry)
    results = tuple([None if each is None else (each.shape, each.strides, each.dtype) for each in node.outputs])
    place = kind.mask, kind.device, kind.index, node.state
    return NodeFingerprint(operator, tuple([_name(each, names) for each in node.arguments]), results, place)


def _name(value: object, names: Sequence[Any]) -> Any:
    """Return an argument of a node with the names of values in their place."""
    if isinstance(value, Value):
        return names[value.index]
    return [_name(each, names) for each in value] if type(value) is tuple else value


def _kernel(step: Step, arguments: tuple[Any, ...]) -> Any:
    """Return the function that these arguments will run; None where a number decides, which differs between runs."""
    slot, signature = slot_of(type(step)), step.entry.signature
    assert signature is not None
    winner = slot.registration
    for special in slot.specialized:
        name, only = special.when or ("", None)
        given = next(
            (value for each, value in zip(signature.parameters, arguments, strict=True) if each.name == name),
            _NOT_THERE,
        )
        if isinstance(given, Value):
            if given.number is type(only) and winner is not None and winner.level is not special.level:
                return None
        elif type(given) is type(only) and given == only:
            return special.fn
    return slot.kernel


_NOT_THERE: Final = object()


def _to_node_argument(value: object, slots: dict[int, int], values: Sequence[Value], numbers: Iterator[Value]) -> Any:
    """Return an argument with values instead of arrays and floats."""
    slot = slots.get(id(value))
    if slot is not None:
        return values[slot]
    if type(value) is float or type(value) is complex:
        return next(numbers)
    if isinstance(value, (list, tuple)):
        return tuple([_to_node_argument(item, slots, values, numbers) for item in value])
    return value


def _kept_bits(found: ProgramFingerprint) -> int:
    places = len(found.places)
    kept: int = found.key[-1 - places]
    return kept
