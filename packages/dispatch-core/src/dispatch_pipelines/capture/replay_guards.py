"""Guards of replays: the lines that take a call's arguments apart and see whether all is as it was when it was recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from dispatch_core.arrays.indices import SEVERAL
from dispatch_core.arrays.owners import ARRAY_TYPES, TYPE_MASKS
from dispatch_core.calls.emit import indent
from dispatch_core.keys import context
from dispatch_core.operators.entry import CHANGES

from ..program.guard_writer import GuardWriter
from ..record.array_specs import ARRAY_SPECS
from ..record.pending import storage_key
from .capture_inputs import byte_offset, layout_of
from .live_numbers import SIGNS, Expression, in_order
from .recorded import RecordedRun
from .structures import Arguments

if TYPE_CHECKING:
    from .capture_inputs import Input

#: The result of a replay that does not fit a call.
MISS: Final = object()
_MISSED: Final = "return miss"
#: How many tensors are compared with one another in pairs.
_FEW: Final = 3


class ReplayGuard(GuardWriter):
    """Writes the guard of a recorded call, in which ``x0``, ``x1``, … are the arrays of its inputs."""

    def __init__(self, recorded: RecordedRun, arguments: Arguments) -> None:
        super().__init__(_MISSED, arguments.names)
        self.recorded = recorded
        self.arguments = arguments
        self.tensors: list[str] = []
        self._numbers: dict[int, str] = {}
        self.names.scope |= {
            "miss": MISS,
            "changes": CHANGES,
            "process": context.process_mask,
            "masks": context.current,
            "known": ARRAY_SPECS.get,
            "owner": storage_key,
            "seen": recorded.changes,
        }
        self._guard()

    def _guard(self) -> None:
        names, recording = self.names, self.recorded.recording
        self.check("changes[0] != seen[0]")
        self.check(f"process[0] != {names.add(context.process_mask[0])}")
        state = names.add(recording.state)
        self.check(f"(c := masks()) is not {state} and c != {names.add(recording.state or (0, 0))}")
        self.lines += self.arguments.lines
        inputs = self.recorded.inputs
        self.tensors = [""] * len(inputs)
        for index in sorted(range(len(inputs)), key=lambda index: _count_owners(inputs[index])):
            self._input(index)
        self._distinct()
        self._sharing()
        self._places()
        for number, (ask, value) in enumerate(recording.environment):
            names.scope[f"environment{number}"] = ask
            self.check(f"environment{number}() != {names.add(value)}")
        for number, (function, value) in enumerate(recording.guards):
            names.scope[f"guard{number}"] = function
            self.check(f"guard{number}() != {names.add(value)}")
        given = {id(each.tensor): tensor for each, tensor in zip(inputs, self.tensors, strict=True)}
        for finish in self.recorded.finishes.values():
            if finish.check is not None:
                known = [given.get(id(each), "None") for each in finish.tensors]
                self.lines += finish.check(known, names.add, _MISSED)
        self._expressions()

    def _input(self, index: int) -> None:
        given, names = self.recorded.inputs[index], self.names
        tensor, array = f"t{index}", f"x{index}"
        if given.place:
            tensor = self.arguments.found[given.place]
            if given.is_held:
                names.scope[f"same{index}"] = ref(given.tensor)
                self.check(f"same{index}() is not {tensor}")
            for place in given.twins:
                self.check(f"{self.arguments.found[place]} is not {tensor}")
        elif given.get is not None and given.owner is not None:
            names.scope[f"get{index}"] = given.get
            owner = next(at for at, each in enumerate(self.recorded.inputs) if each is given.owner)
            self.lines.append(f"{tensor} = get{index}({self.tensors[owner]})")
        elif given.constant is not None:
            names.scope[array] = names.scope[tensor] = given.constant
            names.scope[f"o{index}"] = given.key
            self.tensors[index] = tensor
            return
        else:
            # Set by `refer`.
            self.lines.append(f"{tensor} = find{index}()")
        self.tensors[index] = tensor
        if given.mask:
            self.check(f"{tensor}.__class__ is not {names.add(given.kind)} or {tensor}._dispatch_mask != {given.mask}")
            self.lines.append(f"{array} = {tensor}._dispatch_data")
        else:
            self.lines.append(f"{array} = {tensor}")
        kind = given.array_type
        names.scope[f"look{index}"] = layout_of(kind)
        self.check(f"{array}.__class__ is not {names.add(kind)}")
        if TYPE_MASKS.get(kind, 0) & SEVERAL[0]:
            names.scope[f"index{index}"] = ARRAY_TYPES[kind].device_index
            self.check(f"index{index}({array}) != {names.add(given.index)}")
        # Mostly its spec is remembered, and the key of its memory.
        differs = f"(s := known(id({array}))) is None or s[1] is not {names.add(given.spec)}"
        looked = f"if look{index}({array}) != {names.add(given.look)}: {_MISSED}"
        if self.recorded.writes:
            owners = f"o{index} = owner({array})", f"o{index} = s[2]"
            self.lines += [f"if {differs}:", f"    {looked}", f"    {owners[0]}", f"else: {owners[1]}"]
        else:
            self.lines += [f"if {differs}:", f"    {looked}"]

    def _distinct(self) -> None:
        """Write a line that sees that tensors which were other objects still are, which Python may have asked for."""
        inputs = self.recorded.inputs
        names = [self.arguments.found[each.place] for each in inputs if each.place]
        if len(names) > _FEW:
            self.check(f"len({{*map(id, ({', '.join(names)}))}}) != {len(names)}")
        elif len(names) > 1:
            self.check(" or ".join(f"{one} is {other}" for one, other in combinations(names, 2)))
        if names and any(each.is_found for each in inputs):
            # Set by `refer`.
            self.check(" or ".join(f"id({name}) in elsewhere" for name in names))

    def _sharing(self) -> None:
        """Write lines that see that inputs share memory as they did, where it matters."""
        inputs = self.recorded.inputs
        seen: dict[int, int] = {}
        for index, each in enumerate(inputs):
            first = seen.setdefault(each.identity, index)
            if first != index:
                self.check(f"x{index} is not x{first}")
        if not self.recorded.writes:
            return
        self.check_memories((each.key, f"o{index}") for index, each in enumerate(inputs))

    def _places(self) -> None:
        """Write lines that see that inputs lie in their memory where what the call found out about it holds."""
        indices = {id(each): index for index, each in enumerate(self.recorded.inputs)}
        self.names.scope["start"] = byte_offset
        for number, (holds, inputs) in enumerate(self.recorded.recording.places):
            self.names.scope[f"holds{number}"] = holds
            given = ["0" if each is None else f"start(x{indices[id(each)]}) - {each.start}" for each in inputs]
            self.check(f"not holds{number}({', '.join(given)})")

    def _expressions(self) -> None:
        """Write lines that ask for the live numbers, decide as the recorded call has, and compute with them."""
        before, self.lines = self.lines, []
        for expression, answer in self.recorded.recording.decisions:
            self._compute([each for each in expression.operands if isinstance(each, Expression)])
            self.check(f"({self.operand(expression)}) != {self.names.add(answer)}")
        self._compute(self.recorded.expressions)
        if self.lines:
            # Where the function raises, too, it does so when it is recorded again.
            before += ["try:", *indent(self.lines), f"except Exception: {_MISSED}"]
        self.lines = before

    def _compute(self, expressions: Sequence[Expression]) -> None:
        for each in in_order(expressions):
            if id(each) not in self._numbers:
                name = f"n{len(self._numbers)}"
                self.lines.append(f"{name} = {self._text(each)}")
                self._numbers[id(each)] = name

    def _text(self, expression: Expression) -> str:
        names = [self.operand(each) for each in expression.operands]
        sign = SIGNS.get(expression.function)
        return sign.format(*names) if sign else f"{self.names.add(expression.function)}({', '.join(names)})"

    def operand(self, value: object) -> str:
        """Return the name of an expression's value, or the text of a constant."""
        if isinstance(value, Expression):
            return self._numbers.get(id(value)) or f"({self._text(value)})"
        return self.names.add(value)

    def guard(self) -> Callable[..., Any]:
        """Return the guard alone: it returns None where a call fits."""
        return self.finish([], f"guard of {self.recorded.recording.name}")

    @staticmethod
    def refer(function: Any, inputs: Sequence[Input]) -> None:
        """Give a replay the tensors that are not arguments, once the recording refers to them weakly."""
        found = {index: each.reference for index, each in enumerate(inputs) if each.reference is not None}
        function.__globals__["elsewhere"] = {id(find()) for find in found.values()}
        function.__globals__.update({f"find{index}": find for index, find in found.items()})

    def finish(self, lines: Sequence[str], label: str) -> Callable[..., Any]:
        """Return the function of the guard's lines and of ``lines`` after them."""
        return self.compile("replay(args, kwargs)", lines, label)


def _count_owners(given: Input) -> int:
    """Return how many inputs have to be found before one."""
    return 0 if given.owner is None else 1 + _count_owners(given.owner)
