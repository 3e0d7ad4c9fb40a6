"""A recorded call, written down so that two of them can be compared, and that no value is kept alive.

Note [Two recordings]
    One recording cannot tell a literal from a state of Python's. So the first two calls with the same guards are recorded,
    and the two are compared step by step: the operators, their constants, which values they are connected by, the results.
    Values equal in both are taken for constants.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dispatch_core.arrays import access
from dispatch_core.errors import CaptureError, short_repr
from dispatch_core.operators.entry import CHANGES

from ..program.fingerprints import NodeFingerprint, build, fingerprint_node
from ..program.guard_writer import same_constant
from ..program.model import DEFAULTS, Node
from ..record.pending import Pending, storage_key
from ..record.steps import Step
from ..run.planned_runs import number_values
from .capture_inputs import describe_tensor
from .capture_parts import Finish
from .live_numbers import READERS, Expression, describe, evaluate, in_order
from .structures import layouts_in, skeleton, tensors_in

if TYPE_CHECKING:
    from .capture_inputs import HostData, Input
    from .capturing import Recording


class ValueName(str):
    """The name of a value of a recorded call: which input it is, or which result of which step."""

    __slots__ = ()
    __repr__ = str.__str__


class RecordedRun:
    """A recorded call: its steps, inputs, results and conditions."""

    def __init__(
        self,
        recording: Recording,
        steps: Sequence[Step],
        result: object,
        described: dict[str, str],
        is_given: Callable[[Any], object],
    ) -> None:
        self.recording = recording
        #: The arguments by their places, in words.
        self.described = described
        results = list({id(each): each for each, _ in tensors_in(result, "")}.values())
        for each in results:
            recording.see(each)  # one that no operator has met
        #: The tensors of layouts in the result, which a replay makes of their components.
        self.layouts = list({id(each): each for each in layouts_in(result, is_given)}.values())
        shown = [*results, *self.layouts]
        self.finishes: dict[int, Finish] = {
            marker: part.finish([each for each in shown if getattr(each, "_dispatch_mask", 0) & marker])
            for marker, part in recording.parts.items()
        }
        for each in recording.inputs.values():
            if not each.place and is_given(each.tensor):
                raise CaptureError(
                    f"an argument, a tensor whose data is {type(each.array).__name__}, is a leaf of the result's history",
                    hint="let the function find it elsewhere, or pass its components",
                )
        #: Whether tensors have got their first gradients.
        self.is_first = any(each.is_first for each in self.finishes.values())
        #: The tensors whose arrays must be there after a replay.
        needed = {id(each): each for each in (*results, *(t for f in self.finishes.values() for t in f.tensors))}
        others = {*map(id, self.layouts)}
        self.tensors = [each for key, each in needed.items() if key not in others]
        for tensor in self.tensors:
            recording.see(tensor)
        recording.is_open = False
        self.inputs = list(recording.inputs.values())
        self.hosts = [each for each in recording.holders.values() if each.data is not None]
        #: Inputs that have another array now: index → the value.
        self.rebound: dict[int, Any] = {}
        for index, each in enumerate(self.inputs):
            data = getattr(each.tensor, "_dispatch_data", each.tensor)
            if all(data is not array for array in each.arrays()):
                self.rebound[index] = data
        kept = [*map(data_of, self.tensors), *self.rebound.values()]
        self.kept = set(map(id, kept))
        self.steps = needed_steps(steps, kept)
        #: id of an array or a pending value → its origin.
        self._known: dict[int, ValueName] = {}
        for index, each in enumerate(self.inputs):
            for array in each.arrays():
                self._known.setdefault(id(array), ValueName(f"input {index}"))
        for index, each in enumerate(self.hosts):
            self._known[id(each.array)] = ValueName(f"constant {index}")
        for index, step in enumerate(self.steps):
            for output, value in enumerate(step.outputs):
                if value is not None:
                    self._known[id(value)] = ValueName(f"step {index}" + (f", result {output}" if output else ""))
        #: How often registrations had changed; a list, because changes that do not matter bring it up to date.
        self.changes = [CHANGES[0]]
        self._generations = [(step.entry, step.entry.generation) for step in self.steps]
        self.writes = any(step.written for step in self.steps)
        #: The memories that are written to, or that a tensor shows.
        self.reachable = {storage_key(value) for step in self.steps for value in step.writes()} | set(
            map(storage_key, kept)
        )
        found = number_values(self.steps, self)
        self.program = build(found, DEFAULTS)
        #: What each value of the program is, by its index.
        self.names = [self.describe(found.pending.get(slot, value)) for slot, value in enumerate(found.values)]
        self.result = skeleton(result, self._describe_tensor)
        self.bound = {index: self.describe(value) for index, value in self.rebound.items()}
        used = [
            recording.live[key][1]
            for step in self.steps
            for key in _ids_of_numbers(step.values)
            if key in recording.live
        ]
        used += [each for _, operands in recording.effects for each in operands if isinstance(each, Expression)]
        used += [each.expression for finish in self.finishes.values() for each in finish.numbers]
        #: Live-number expressions used by steps, effects and results.
        self.expressions = in_order(used)

    def describe(self, value: object) -> Any:
        """Return a value of a call's arguments, with origins instead of arrays and live numbers."""
        known = self._known.get(id(value))
        if known is not None:
            return known
        live = self.recording.live.get(id(value))
        if live is not None:
            return "live number", describe(live[1])
        if isinstance(value, (list, tuple)):
            return [self.describe(item) for item in value]
        return value

    def _describe_tensor(self, tensor: object) -> Any:
        """Return a tensor of the result by its origin: an input itself, or the value that it holds, and in which object."""
        for index, each in enumerate(self.inputs):
            if each.tensor is tensor:
                return "input", index
        place = next(index for index, each in enumerate(self.tensors) if each is tensor)
        return place, type(tensor), getattr(tensor, "_dispatch_mask", 0), self.describe(data_of(tensor))

    def conditions(self) -> list[str]:
        """Return the conditions of a replay, in words."""
        lines = [f"{place} is {what}" for place, what in self.described.items() if what != "a tensor"]
        for each in self.inputs:
            where = each.place or ("a tensor found elsewhere" if each.constant is None else "an array found elsewhere")
            shape, _, dtype = each.shown
            lines.append(f"{where} is {each.kind.__name__} of shape {shape} and {dtype}")
        lines += [f"{describe(expression)} is {answer}" for expression, answer in self.recording.decisions]
        return lines

    def reason(self, described: dict[str, str], given: dict[str, Any]) -> str:
        """Return why a call with other arguments, whose description and tensors are given, may not fit."""
        before = self.described
        for place in dict.fromkeys([*before, *described]):
            if before.get(place) != described.get(place):
                return f"{place} is {described.get(place, 'missing')}, and was {before.get(place, 'missing')}"
        for each in self.inputs:
            tensor = given.get(each.place) if each.place else each.reference and each.reference()
            if tensor is None:
                if each.reference is not None:
                    return "a tensor that it read is gone"
                continue
            found = describe_tensor(tensor)
            if found != each.shown or type(tensor) is not each.kind:
                where = each.place or "a tensor found elsewhere"
                shown, was = (
                    f"{kind.__name__}{list(look[0])} {look[2]}, strides {look[1]}"
                    for kind, look in ((type(tensor), found), (each.kind, each.shown))
                )
                return f"{where} is {shown}, and was {was}"
            if getattr(tensor, "_dispatch_mask", 0) != each.mask:
                return f"{each.place or 'a tensor found elsewhere'} has other keys, as requires_grad gives them"
        known: dict[int, str] = {}
        for each in self.inputs:
            tensor = given.get(each.place) if each.place else each.reference and each.reference()
            where = each.place or "a tensor found elsewhere"
            if tensor is not None and (first := known.setdefault(id(tensor), where)) is not where:
                return f"{where} and {first} are one object now"
        for number, (function, value) in enumerate(self.recording.guards):
            if function() != value:
                return f"guard {number} is {short_repr(function())}, and was {short_repr(value)}"
        for expression, answer in self.recording.decisions:
            try:
                now: object = evaluate(expression)
            except Exception as error:  # noqa: BLE001  # the program's own: a replay misses, too
                now = error
            if now != answer:
                return f"{describe(expression)} is {now}, and was {answer}"
        return "the masks, settings or registrations are others, or tensors lie elsewhere in memory"

    def release(self) -> None:
        """Drop all values; call it once the steps have run and the plan is made."""
        # Kernels register operators that they are the first to call.
        if all(entry.generation == before for entry, before in self._generations):
            self.changes[0] = CHANGES[0]
        self._generations = []
        for each in (*self.inputs, *self.hosts):
            each.release()
        self.steps, self.tensors, self.rebound, self._known = [], [], {}, {}
        self.recording.live.clear()
        self.recording.inputs.clear()
        self.recording.holders.clear()
        self.recording.parts.clear()
        self.finishes = {marker: Finish(key=each.key) for marker, each in self.finishes.items()}


def _ids_of_numbers(values: Any) -> Iterator[int]:
    for value in values:
        if type(value) is float:
            yield id(value)
        elif isinstance(value, (list, tuple)):
            yield from _ids_of_numbers(value)


def data_of(tensor: object) -> Any:
    """Return the array of a tensor, or the value that represents it."""
    data = getattr(tensor, "_dispatch_data", tensor)
    # An array of the host's data is there while the call is recorded.
    return data.value if isinstance(data, Pending) and data.value is not None else data


def needed_steps(steps: Sequence[Step], kept: Sequence[Any]) -> list[Step]:
    """Return the steps that a replay runs.

    They make kept values, write to visible memory, draw random numbers, or order streams.
    """
    wanted = set(map(id, kept))
    memories: set[Hashable] = set(map(storage_key, kept))
    chosen = []
    for step in reversed(steps):
        if not (
            step.is_random
            or step.orders_streams
            or not wanted.isdisjoint(map(id, step.outputs))
            or any(_matters(value, wanted, memories) for value in step.writes())
        ):
            continue
        chosen.append(step)
        for value in step.inputs():
            wanted.add(id(value))
            memories.add(storage_key(value))
        memories.update([storage_key(each) for each in step.outputs if each is not None and each.shared is not None])
    chosen.reverse()
    return chosen


def _matters(value: object, wanted: set[int], memories: set[Hashable]) -> bool:
    """Return whether a write to a value's memory matters."""
    if not isinstance(value, Pending) or value.memory.key is not None or id(value) in wanted:
        return True
    return storage_key(value) in memories


def compare(name: str, first: RecordedRun, second: RecordedRun) -> None:
    """Raise ``CaptureError`` where two recordings differ; see Note [Two recordings]."""
    nodes, others = first.program.nodes, second.program.nodes
    for number, (node, other) in enumerate(zip(nodes, others, strict=False)):
        before, after = fingerprint_node(node, first.names), fingerprint_node(other, second.names)
        if not same_constant(before, after):
            what = _describe_difference(number, node, before, other, after)
            raise _difference(name, what, other.line)
    if len(nodes) != len(others):
        node = max(nodes, others, key=len)[min(len(nodes), len(others))]
        what = f"{node.name} runs in one of two calls only ({len(nodes)} and {len(others)} steps)"
        raise _difference(name, what, node.line)
    _compare_inputs(name, first, second)
    _compare_hosts(name, first.hosts, second.hosts)
    pairs: list[tuple[str, Any, Any]] = [
        ("the result", first.result, second.result),
        ("the tensors that get another array", first.bound, second.bound),
        ("the live numbers", _live(first), _live(second)),
        ("the decisions by live numbers", _decisions(first), _decisions(second)),
    ]
    for marker, each in first.finishes.items():
        pairs.append(("what its tensors keep", each.key, second.finishes[marker].key))
    for what, one, two in pairs:
        if not same_constant(one, two):
            shown, then = map(short_repr, _innermost(one, two))
            raise _difference(name, f"{what}: {shown}, then {then}", "")


def _live(found: RecordedRun) -> list[str]:
    return [describe(each) for each in found.expressions]


def _decisions(found: RecordedRun) -> list[Any]:
    """Return the conditions on live numbers, without those that follow from another, which ask of a known value.

    Whether an int's bounds are asked for first depends on whether the operator was called before.
    """
    decisions = found.recording.decisions
    known = {id(each.operands[0]) for each, _ in decisions if each.function in READERS}

    def follows(expression: Expression) -> bool:
        parts = [id(each) for each in expression.operands if isinstance(each, Expression)]
        return bool(parts) and expression.function not in READERS and known.issuperset(parts)

    return [(describe(each), answer) for each, answer in decisions if not follows(each)]


def _innermost(one: Any, other: Any) -> tuple[Any, Any]:
    """Return the innermost parts in which two values differ."""
    if type(one) is type(other) and isinstance(one, (list, tuple)) and len(one) == len(other):
        for a, b in zip(one, other, strict=True):
            if not same_constant(a, b):
                return _innermost(a, b)
    return one, other


def _describe_difference(number: int, node: Node, before: NodeFingerprint, other: Node, after: NodeFingerprint) -> str:
    """Return in words where the fingerprints of two calls differ."""
    if before.operator != after.operator:
        return f"step {number} is {node.name}, then {other.name}"
    for parameter, one, two in zip(node.parameters, before.arguments, after.arguments, strict=True):
        if not same_constant(one, two):
            shown, then = map(short_repr, _innermost(one, two))
            return f"{node.name} gets {shown}, then {then} as argument {parameter.name!r}"
    return f"{node.name} has other results, or runs under other keys, than in the first call"


def _compare_inputs(name: str, first: RecordedRun, second: RecordedRun) -> None:
    for one, other in zip(first.inputs, second.inputs, strict=False):
        if one.place != other.place or one.get is not other.get or not _is_same_source(one, other):
            raise _difference(
                name,
                f"a tensor of shape {tuple(access.shape(other.array))} that it finds elsewhere than among its arguments"
                " is another one than in the first call",
                "",
                "pass it as an argument, or write to the tensor in place instead of making another",
            )
    if len(first.inputs) != len(second.inputs):
        raise _difference(
            name, f"it reads {len(first.inputs)}, then {len(second.inputs)} tensors that were there before", ""
        )


def _is_same_source(one: Input, other: Input) -> bool:
    if one.place or one.get is not None:
        return True
    found = one.constant if one.reference is None else one.reference()
    return found is other.tensor or (one.constant is not None and storage_key(one.constant) == storage_key(other.array))


def _compare_hosts(name: str, first: Sequence[Input], second: Sequence[Input]) -> None:
    for one, other in zip(first, second, strict=True):
        a, b = one.data, other.data
        assert a is not None
        assert b is not None
        b.is_shared = a.key == b.key
        if a.text != b.text and not b.is_shared:
            raise _difference(name, f"{b.operator} is given {_show(a)}, then {_show(b)}", "", "pass it as a tensor")


def _show(data: HostData) -> str:
    return short_repr(data.before[0])


def _difference(name: str, what: str, line: str, hint: str = "") -> CaptureError:
    where = f"\nCalled at {line}" if line else ""
    return CaptureError(
        f"two calls of {name} with the same arguments differ: {what}{where}",
        hint=hint
        or "what changes from call to call is an argument, a tensor that is written to, or declared by"
        " capture.number(function)",
    )
