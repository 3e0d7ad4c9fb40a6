"""A pipeline's pending program, written down as a graph of numbers and text.

Results that nothing refers to are dropped when the pipeline is flushed. So the graph keeps numbers and text, and no
value, array or step: looking at a program changes nothing about it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from dispatch_core.arrays import access
from dispatch_core.display import show_number_of
from dispatch_core.errors import ArgumentError
from dispatch_core.operators.registries import Registry

from ..record.liveness import externally_referenced, observable_steps
from ..record.pending import Pending, storage_key
from ..record.steps import Step
from .model import Constant, Graph, GraphNode
from .nodes import Value, values_in
from .picture import Picture


def snapshot(steps: Sequence[Step], registry: Registry, groups: Sequence[Sequence[Step]] = ()) -> PipelineGraph:
    """Return the graph of pending ``steps``; ``groups`` are those that run fused.

    Raises ``ArgumentError`` for a group with a step that is not pending, or that is in another group too.
    """
    steps = [step for step in steps if not step.done]
    grouped = _find_groups(steps, groups)
    # Both count references, so they come before anything here refers to a value.
    seen = set(map(id, observable_steps(steps)))
    names = _Names(externally_referenced(steps))
    calls = tuple(_to_node(number, step, names) for number, step in enumerate(steps))
    outputs = tuple(names.values[number] for number in names.outputs)
    graph = Graph(registry, calls, tuple(names.values), tuple(names.constants), outputs or None)
    dropped = frozenset(index for index, step in enumerate(steps) if id(step) not in seen)
    return PipelineGraph(graph, dropped, grouped)


class PipelineGraph(Picture):
    """The program that a pipeline has recorded and not run yet; some of it will be dropped."""

    title = "pipeline"

    @property
    def heading(self) -> str:
        """Return the line above the drawing."""
        dropped = len(self.dropped)
        return f"{show_number_of('step', len(self.steps))} pending, {dropped} to be dropped"

    def __repr__(self) -> str:
        dropped = len(self.dropped)
        counts = f"{show_number_of('step', len(self.steps))}, {show_number_of('input', len(self.inputs))}"
        return f"<PipelineGraph: {counts}, {dropped} to be dropped>"


def _find_groups(steps: Sequence[Step], groups: Sequence[Sequence[Step]]) -> dict[int, int]:
    """Return which steps, by their indices, are in which group."""
    places = {id(step): index for index, step in enumerate(steps)}
    found: dict[int, int] = {}
    for number, group in enumerate(groups):
        for step in group:
            place = places.get(id(step))
            if place is None or place in found:
                fault = "is not pending" if place is None else f"is in group {found[place]} already"
                raise ArgumentError(
                    f"graph: {step!r} of group {number} {fault}", hint="groups are lists of pending steps"
                )
            found[place] = number
    return found


class _Names:
    """The numbers of a program's values, in the order in which they are met."""

    def __init__(self, held: set[int]) -> None:
        self.held = held
        self.values: list[Value] = []
        #: The numbers of the values that steps make and objects outside refer to.
        self.outputs: list[int] = []
        self.constants: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._memories: dict[Hashable, int] = {}

    def of(self, value: object, *, is_input: bool = True) -> Value:
        """Return a value's description, made when it is first met."""
        has_failed = isinstance(value, Pending) and value.error is not None
        if isinstance(value, Pending) and value.value is not None:
            value = value.value
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.values)
            if not is_input and id(value) in self.held:
                self.outputs.append(number)
            self.values.append(
                Value(
                    number,
                    shape=tuple(access.shape(value)),
                    dtype=str(access.dtype(value)),
                    place=self._memories.setdefault(storage_key(value), number),
                    given=is_input,
                    kept=is_input or id(value) in self.held,
                    has_failed=has_failed,
                )
            )
        return self.values[number]

    def argument(self, value: object, *, tensors: bool) -> Any:
        """Return an argument as a call of the graph has it."""
        if isinstance(value, list | tuple):
            found = [self.argument(item, tensors=tensors) for item in value]
            return found if isinstance(value, list) else tuple(found)
        return self.of(value) if tensors and value is not None else Constant.of(value, self.constants)


def _to_node(number: int, step: Step, names: _Names) -> GraphNode:
    signature = step.entry.signature
    assert signature is not None
    given = [
        names.argument(value, tensors=bool(parameter.tensors))
        for parameter, value in zip(signature.parameters, step.values, strict=True)
    ]
    made = tuple([None if value is None else names.of(value, is_input=False) for value in step.outputs])
    positional, keywords = _without_defaults(signature.parameters, given)
    return GraphNode(
        type(step),
        (*positional, *keywords.values()),
        tuple(keywords),
        made,
        tuple(values_in([given[index] for index in step.written])),
        code=step.code,
        instruction=step.instruction,
        results=_results(signature.results, given, made),
        number=number,
    )


def _results(promised: Sequence[Any], given: Sequence[Any], made: Sequence[Value | None]) -> object:
    """Return a step's results in the form that the operator gives them."""
    rest = list(made)
    singles = sum(not each.is_list and each.kind != "self" for each in promised)
    found: list[Any] = []
    for each in promised:
        if each.kind == "self":
            found.append(given[each.source])
            continue
        count = len(rest) - singles if each.is_list else 1
        taken, rest = rest[:count], rest[count:]
        found.append(taken if each.is_list else taken[0])
        singles -= not each.is_list
    return found[0] if len(found) == 1 else tuple(found) or None


def _without_defaults(parameters: Sequence[Any], given: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Split arguments into positional ones and keywords, without those that equal their defaults."""
    positional = []
    keywords = {}
    needed = 0
    for parameter, value in zip(parameters, given, strict=True):
        is_said = not (type(value) is type(parameter.default) and value == parameter.default)
        if not parameter.keyword_only:
            positional.append(value)
            needed = len(positional) if is_said else needed
        elif is_said:
            keywords[parameter.name] = value
    return tuple(positional[:needed]), keywords
