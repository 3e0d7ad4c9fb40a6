"""Plans of pipelines: element-wise calls that follow each other on one shape are one generated kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.shapes import TensorMeta

from .arrays import empty
from .elementwise import ATEN, Call, Chain, broadcast, make_call, write_chain
from .nest import run

#: Operators that write their second argument to the first.
_WRITES: Final = ("copy_", "fill_.Scalar")
#: Arrays of a kernel: a driver need not take more than 1,024 bytes of arguments.
_MOST: Final = 10


def make_plan(program: dc.Program) -> Iterable[dc.PlannedStep]:
    """Return a step for each run of two or more element-wise nodes."""
    groups: list[_Group] = []
    for place, node in enumerate(program.nodes if program.fuse else ()):
        target = _find_target(node)
        if target is None:
            groups.append(_Group(node, None))  # it ends the one before
        elif not (groups and groups[-1].takes(node, target)):
            groups.append(_Group(node, target))
        if target is not None:
            groups[-1].add(place, node, target)
    return [group.make_step(program) for group in groups if len(group.nodes) > 1]


def _find_target(node: Any) -> Any:
    """Return the value that an element-wise node makes or writes, None where it is not one that has a row."""
    name = node.name.removeprefix("aten::")
    if any(value.number is complex for value in node.inputs()):
        return None
    if name in _WRITES:
        return node.written[0]
    return node.outputs[0] if name in ATEN else None


class _Group:
    """Nodes that follow each other on one shape, on one device."""

    def __init__(self, node: Any, target: Any) -> None:
        self.shape = target and target.shape
        self.lane = node.device, node.index
        self.nodes: list[int] = []
        self.calls: list[Call] = []
        #: Where each value's newest elements are: in an array, or the result of a call.
        self.names: dict[int, str] = {}
        self.values: dict[int, Any] = {}
        self.given: list[Any] = []
        self.numbers: list[Callable[[Any], Any]] = []
        self.made: dict[int, Any] = {}

    def takes(self, node: Any, target: Any) -> bool:
        """Return whether a node can follow: elements of one memory may not be at two places of the kernel."""
        if self.shape != target.shape or self.lane != (node.device, node.index) or len(self.values) > _MOST:
            return False
        touched = {target.place: target.index, **{each.place: each.index for each in self.made.values()}}
        others = [*node.inputs(), *self.values.values()]
        return all(each.number or touched.get(each.place, each.index) == each.index for each in others)

    def add(self, place: int, node: Any, target: Any) -> None:
        """Add a node to the kernel."""
        row, arguments = node.name.removeprefix("aten::"), node.arguments
        if row in _WRITES:
            row, arguments = "copy_", arguments[1:2]
        metas = [each if isinstance(each, bool | int | float) else _meta(each) for each in arguments]
        self.calls.append(make_call(row, [*map(self.name, arguments)], metas, target.dtype))
        self.nodes.append(place)
        self.names[target.index] = f"v{len(self.calls) - 1}"
        self.values[target.index] = self.made[target.index] = target

    def name(self, argument: Any) -> str:
        """Return the text of an argument, which becomes an operand or a number of the kernel if it is new."""
        if isinstance(argument, bool | int | float):
            self.numbers.append(lambda values: argument)
        elif argument.number:
            self.numbers.append(lambda values: values[argument.index])
        else:
            if argument.index not in self.names:
                self.names[argument.index] = f"x{len(self.given)}"
                self.values[argument.index] = argument
                self.given.append(argument)
            return self.names[argument.index]
        return f"n{len(self.numbers) - 1}"

    def make_step(self, program: dc.Program) -> dc.PlannedStep:
        """Return the step, which makes and stores only values that are read outside of the group."""
        outputs = {each.index for place in self.nodes for each in program.nodes[place].outputs if each}
        others = [node for place, node in enumerate(program.nodes) if place not in self.nodes]
        read = {value.index for node in others for value in node.inputs()}
        stored = [each for each in self.made.values() if each.index not in outputs or each.kept or each.index in read]
        lost = [each for each in self.made.values() if each not in stored]
        places, dtypes = [int(self.names[each.index][1:]) for each in stored], [each.dtype.short for each in self.given]
        code = write_chain(Chain(tuple(self.calls), tuple(places), tuple(dtypes)))
        shape, given, numbers = self.shape, [each.index for each in self.given], self.numbers
        results = [(each.index, _meta(each) if each.index in outputs else None) for each in stored]

        def run_group(values: Any) -> None:
            arrays = [values[index] for index in given]
            device = arrays[0].block.index if arrays else None
            made = [values[index] if meta is None else empty(meta, device) for index, meta in results]
            operands = [broadcast(each, shape) for each in (*made, *arrays)]
            run(code, operands, shape, numbers=[number(values) for number in numbers], writes=len(made))
            for (index, _), array in zip(results, made, strict=True):
                values[index] = array

        saved = sum(prod(each.shape) * each.dtype.itemsize for each in lost)
        return dc.PlannedStep(tuple(self.nodes), run_group, saved=saved)


def _meta(value: Any) -> Any:
    """Return the description of a value, for shape rules: of a number one of its type, because its type decides."""
    return value.number() if value.number else TensorMeta(value.shape, value.strides, value.dtype)
