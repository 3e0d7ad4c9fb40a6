"""Replays: generated functions that check a call's guards, run the kernels of a recorded call, and return its results.

A replay is one generated function without branches but for its guards: it takes the arguments apart, reads the arrays
that the inputs hold now, checks the conditions of the recording, and returns `MISS` where something is not as it was.
Then it runs the parts of the plan that the device's plugin made, the other steps' kernels one by one, and makes the
results. The list of values is each call's own, so that several threads may run one replay.

Note [When a replay is compared]
    The results of the first replay's kernels and planned steps are compared with the shape rules' answers; from the second
    one on the same code runs without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from dispatch_core.arrays.caller_streams import CALLER, device_of, note_use, restore_callers
from dispatch_core.arrays.frontend import frontend_of
from dispatch_core.arrays.thread_device import work_on
from dispatch_core.calls.emit import indent
from dispatch_core.keys import context
from dispatch_core.keys.table import DispatchKey

from ..program.donation import keep_shared, list_donated
from ..program.model import Value
from ..record.blocks import paused
from ..record.steps import masks_of_kernels
from ..run.planned_runs import PlannedRun
from ..run.replay_parts import ReplayLine, find_fault
from ..run.stream_changes import ENTER
from .recorded import data_of
from .replay_guards import ReplayGuard
from .structures import Results

if TYPE_CHECKING:
    from dispatch_core.devices import Device

    from ..program.plan import Part
    from .live_numbers import Expression

_PIPELINE: Final = DispatchKey.Pipeline.value


class ReplayWriter:
    """Writes the replay of a recorded call, behind its guard."""

    def __init__(self, guard: ReplayGuard) -> None:
        self._guard = guard
        self.recorded, self.names = guard.recorded, guard.names
        self.tensors, self.operand = guard.tensors, guard.operand
        #: id of a value → its text: an entry of a segment's list, an input's array, a constant.
        self._values: dict[int, str] = {}
        self._parts: list[ReplayLine] = []
        #: The segments whose lists of values are there.
        self._begun: list[PlannedRun] = []
        #: Device → the stream that is current where the lines come to; and id of a value → the one that it was made on.
        self._streams: dict[Device, Any] = {}
        self._made: dict[int, tuple[Device, Any]] = {}
        self._orders_streams = False

    def write(self, segments: Sequence[PlannedRun], result: object, *, compared: bool) -> Callable[..., Any]:
        """Return the replay; with ``compared`` the one that compares results with the shape rules."""
        recorded = self.recorded
        for index, each in enumerate(recorded.inputs):
            for array in each.arrays():
                self._values.setdefault(id(array), f"x{index}")
        lines = self._host_arrays()
        body: list[str] = []
        self._orders_streams = any(segment.steps[0].orders_streams for segment in segments)
        for number, segment in enumerate(segments):
            body += self._segment(number, segment, compared=compared)
        find = partial(find_fault, self._parts, recorded.recording.session)
        self.names.scope["fail"] = partial(_fail_on_streams, find) if self._orders_streams else find
        rebound = self._rebinding()
        donates = any(each.donated for each in self._parts)
        if body:
            lines += [
                "try:",
                *indent([*body, *rebound] if donates else body),
                f"except {'BaseException' if donates or self._orders_streams else 'Exception'} as error:",
                "    fault = fail(error)",
                "else: fault = None",
            ]
            lines += ["if fault is not None: raise fault"]
        lines += [*([] if donates else rebound), *self._ending(result)]
        for place, part in enumerate(self._parts):
            # The function's heading is the first line.
            text = enumerate([*self._guard.lines, *lines], 2)
            part.number = next((number for number, line in text if f"run{place}(" in line), 0)
        return self._guard.finish(lines, f"replay of {recorded.recording.name}")

    def _host_arrays(self) -> list[str]:
        """Return lines that bring in arrays of the host's data; see Note [The host's data] in `capture_inputs`."""
        lines = []
        recorded = self.recorded
        for index, each in enumerate(recorded.hosts):
            data = each.data
            assert data is not None
            if data.is_shared:
                self._values[id(each.array)] = self.names.add(each.array)
            elif data.key not in recorded.reachable:
                self._values[id(each.array)] = self.names.add(data.again())
            else:
                self.names.scope[f"put{index}"] = data.again
                lines.append(f"h{index} = put{index}()")
                self._values[id(each.array)] = f"h{index}"
        return lines

    def _segment(self, number: int, segment: PlannedRun, *, compared: bool) -> list[str]:
        found, plan = segment.found, segment.plan
        name = f"v{number}" if number else "v"
        self._begun.append(segment)
        entries = [self._entry(value) for value in found.values]
        entries += [self._numbers(step.numbers) for step in plan.planned if step.numbers]
        lines = [f"{name} = [{', '.join(entries)}]"]
        lines += self._note_uses(name, segment)
        for slot, output in found.pending.items():
            self._values[id(output)] = f"{name}[{slot}]"
        for part in plan.parts:
            place = len(self._parts)
            self._parts.append(ReplayLine(part, name))
            lines += self._part(name, segment, part, place)
            if compared:
                self.names.scope[f"compare{place}"] = part.find_mismatch
                lines.append(f"if (fault := compare{place}({name})) is not None: raise fault")
            if part.frees:
                lines.append("".join(f"{name}[{index}] = " for index in part.frees) + "None")
        if segment.place is not None and len(lines) > 1:
            self.names.scope[f"place{number}"] = partial(work_on, *segment.place)
            lines = [lines[0], f"with place{number}():", *indent(lines[1:])]
        state = segment.steps[0].state
        if _differ(state, self.recorded.recording.state):
            self.names.scope.setdefault("paused", paused)
            lines = [lines[0], f"with paused({self.names.add(state)}):", *indent(lines[1:])]
        return lines

    def _note_uses(self, name: str, segment: PlannedRun) -> list[str]:
        """Return lines that tell devices which arrays other streams have made than the current ones, which use them now."""
        lines: list[str] = []
        if segment.steps[0].orders_streams:
            self._streams.update(step.values[:2] for step in segment.steps if step.name == ENTER)
        if not self._orders_streams or segment.steps[0].orders_streams:
            return lines
        made = set(map(id, segment.found.pending.values()))
        for slot, value in enumerate(segment.found.values):
            if id(value) in self._made and id(value) not in made:
                device, stream = self._made[id(value)]
                if self._streams.get(device, CALLER) != stream:
                    use = self.names.add(partial(note_use, device))
                    lines.append(f"{use}({name}[{slot}])")
        for output in segment.found.pending.values():
            device = device_of(output)
            self._made[id(output)] = device, self._streams.get(device, CALLER)
        return lines

    def _entry(self, value: object) -> str:
        """Return the text of an entry of the list of values, as it is to begin with."""
        if value is None:
            return "None"
        live = self.recorded.recording.live.get(id(value))
        if live is not None:
            return self.operand(live[1])
        return self._values.get(id(value)) or self.names.add(value)

    def _numbers(self, numbers: Sequence[Expression]) -> str:
        """Return the text of a pair: live numbers as the replay begins, and as it leaves them."""
        after = [each if each.after is None else each.after for each in numbers]
        return "({}, {})".format(
            *(f"({''.join(f'{self.operand(each)}, ' for each in pair)})" for pair in (numbers, after))
        )

    def _part(self, name: str, segment: PlannedRun, part: Part, place: int) -> list[str]:
        """Return the lines that run a part of a plan."""
        if part.planned is not None:
            self.names.scope[f"run{place}"] = part.run
            if not part.planned.donated:
                return [f"run{place}({name})"]
            donated = list_donated(part.planned.donated, self._begun, self.recorded.inputs, self.tensors)
            self._parts[place].donated = donated
            self.names.scope[f"spare{place}"] = partial(keep_shared, part.planned.copy, donated)
            return [f"copied{place} = spare{place}({name})", f"run{place}({name})"]
        node, step = segment.program.nodes[part.nodes[0]], segment.steps[part.nodes[0]]
        if segment.is_last_use(part, node, self.recorded):
            # The copy of an array that nothing else refers to is that array.
            source, target = node.arguments[0], node.outputs[0]
            assert target is not None
            return [f"{name}[{target.index}] = {name}[{source.index}]"]
        if segment.is_same_view(step, self.recorded):
            source, target = next(each for each in node.arguments if isinstance(each, Value)), node.outputs[0]
            assert target is not None
            return [f"{name}[{target.index}] = {name}[{source.index}]"]
        kernel = f"run{place}"
        self.names.scope[kernel] = step.entry.explicit_table.find(step.mask)
        given = zip(node.arguments, step.values, strict=True)
        call = f"{kernel}({', '.join(self._argument(name, *each) for each in given)})"
        signature = step.entry.signature
        assert signature is not None
        results = signature.results
        if not any(each is not None for each in node.outputs):
            return [call]
        if all(each.kind != "self" and not each.is_list and not each.is_optional for each in results):
            targets = ["_" if each is None else f"{name}[{each.index}]" for each in node.outputs]
            return [f"{', '.join(targets)} = {call}"]
        self.names.scope[f"store{place}"] = node.storer()
        return [f"store{place}({name}, {call})"]

    def _argument(self, name: str, value: Any, given: Any) -> str:
        """Return the text of an argument; ``given`` is the recorded one."""
        if isinstance(value, Value):
            return f"{name}[{value.index}]"
        if type(value) is tuple and _has_values(value):
            items = [self._argument(name, *each) for each in zip(value, given, strict=True)]
            return f"[{', '.join(items)}]" if type(given) is list else f"({''.join(f'{item}, ' for item in items)})"
        return self.names.add(given)

    def _rebinding(self) -> list[str]:
        """Return the lines that give inputs the arrays that the call has left them with."""
        recorded, lines = self.recorded, []
        for index, value in recorded.rebound.items():
            tensor = recorded.inputs[index].tensor
            lines.append(f"{self.tensors[index]}._dispatch_data = {self._array(value)}")
            mask = _mask_of(tensor)
            if mask != recorded.inputs[index].mask:
                lines.append(f"{self.tensors[index]}._dispatch_mask = {mask}")
        return lines

    def _ending(self, result: object) -> list[str]:
        """Return the lines that bring about everything but the arrays, and return the result."""
        recorded, names = self.recorded, self.names
        lines = []
        for function, operands in recorded.recording.effects:
            lines.append(f"{names.add(function)}({', '.join(map(self.operand, operands))})")
        made: dict[int, str] = {id(each.tensor): self.tensors[at] for at, each in enumerate(recorded.inputs)}
        for tensor in recorded.tensors:
            if id(tensor) not in made:
                made[id(tensor)] = name = f"r{len(made)}"
                lines += self._make(name, tensor)
        results = Results(
            names,
            lambda tensor: made[id(tensor)],
            lambda number: self.operand(number.expression),
            self._guard.arguments.name_of,
        )
        for tensor in recorded.layouts:
            text, name = results.text(tensor), f"r{len(made)}"
            made[id(tensor)] = results.made[id(tensor)] = name
            lines.append(f"{name} = {text}")
        for marker, finish in recorded.finishes.items():
            if finish.restore is not None:
                names.scope[f"restore{marker}"] = finish.restore
                tensors = ", ".join(made[id(each)] for each in finish.tensors)
                numbers = "".join(f"{self.operand(each.expression)}, " for each in finish.numbers)
                lines.append(f"restore{marker}([{tensors}], ({numbers}))")
        return [*lines, f"return {results.text(result)}"]

    def _make(self, name: str, tensor: object) -> list[str]:
        """Return the lines that make a tensor without history."""
        frontend = frontend_of(tensor)
        array = self._array(data_of(tensor))
        if frontend is None:
            return [f"{name} = {array}"]
        return [
            f"{name} = {self.names.add(frontend.new)}()",
            f"{name}._dispatch_mask = {_mask_of(tensor)}",
            f"{name}._dispatch_data = {array}",
        ]

    def _array(self, data: object) -> str:
        return self._values.get(id(data)) or self.names.add(data)


def _fail_on_streams(find: Callable[[BaseException], Any], error: BaseException) -> Any:
    """Give the caller its streams back, and return the fault of a replay that has failed."""
    restore_callers()
    return find(error)


def _mask_of(tensor: Any) -> int:
    mask: int = tensor._dispatch_mask
    return mask & ~_PIPELINE


def _differ(state: context.State | None, outside: context.State | None) -> bool:
    """Return whether the masks of a step are others than those of the call, the block of the recording left out."""
    found, other = masks_of_kernels(state), masks_of_kernels(outside)
    return (found[0] & ~_PIPELINE, found[1]) != (other[0] & ~_PIPELINE, other[1])


def _has_values(value: tuple[Any, ...]) -> bool:
    return any(isinstance(each, Value) or (type(each) is tuple and _has_values(each)) for each in value)


def make_replay(
    guard: ReplayGuard, segments: Sequence[PlannedRun], result: object
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the replay that compares results with the shape rules, and the one that does not."""
    compared, plain = ReplayWriter(guard), ReplayWriter(guard)
    return compared.write(segments, result, compared=True), plain.write(segments, result, compared=False)
