"""Programs as planners see them: values, the nodes between them, and the steps that planners make of nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dispatch_core import devkit

from ..graph.nodes import Node, Value, filled

if TYPE_CHECKING:
    from ..capture.live_numbers import Expression

__all__ = ["DEFAULTS", "Node", "PlanOptions", "PlannedStep", "Program", "Value", "filled"]


class PlanOptions(NamedTuple):
    """The user's options of plans."""

    #: Whether nodes may run together.
    fuse: bool = True
    #: Whether compiled programs look for wrong indices and values.
    check_indices: bool = True


DEFAULTS: Final = PlanOptions()


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """The calls that are to run on one device: nodes in the order in which they were recorded.

    A planner returns a `PlannedStep` for each group of nodes that it wants to run in its own way; every other node
    runs its kernel.
    """

    nodes: tuple[Node, ...]
    values: tuple[Value, ...]
    #: Whether the user wants nodes to be run together, and wrong indices and values to be looked for.
    fuse: bool
    check_indices: bool = True

    def __str__(self) -> str:
        return "\n".join(
            [f"program({', '.join(f'%{each.index}' for each in self.values if each.given)}):", *self._lines()]
        )

    def _lines(self) -> list[str]:
        lines = [(f"{_show_results(node)}{node.name}({', '.join(_show_arguments(node))})", node) for node in self.nodes]
        width = min(max((len(text) for text, _ in lines), default=0), 60)
        return [f"    {text:<{width}}  # {_describe_results(node)}".rstrip(" #") for text, node in lines]

    @devkit.for_notebooks
    def _repr_html_(self) -> str | None:
        from dispatch_core.display import Column, DataTable, show_count

        columns = [Column("", show_count, is_number=True), Column("operator", is_code=True)]
        columns += [Column(title, is_code=True) for title in ("arguments", "results")]
        rows = [
            (number, node.name, ", ".join(_show_arguments(node)), _describe_results(node))
            for number, node in enumerate(self.nodes)
        ]
        return devkit.to_fragment("program", [repr(self)[10:-1]], [DataTable(columns, rows).html()])

    def __repr__(self) -> str:
        return f"<Program: {len(self.nodes)} nodes, {len(self.values)} values>"


def _show_arguments(node: Node) -> list[str]:
    """Return the arguments that are not the schema's defaults, values by their index."""
    found = []
    for parameter, value in zip(node.parameters, node.arguments, strict=True):
        if isinstance(value, Value) or type(value) is not type(parameter.default) or value != parameter.default:
            text = _show_value(value)
            found.append(f"{parameter.name}={text}" if parameter.keyword_only else text)
    return found


def _show_value(value: object) -> str:
    if isinstance(value, Value):
        return f"%{value.index}"
    return f"[{', '.join(map(_show_value, value))}]" if isinstance(value, tuple) else repr(value)


def _show_results(node: Node) -> str:
    made = ", ".join(f"%{each.index}" for each in node.outputs if each is not None)
    return f"{made} = " if made else ""


def _describe_results(node: Node) -> str:
    """Return index, shape and dtype of the results, whether they are kept, and the values that are written to."""
    notes = [
        f"%{each.index} {each.shape} {each.dtype}{', kept' if each.kept else ''}"
        for each in node.outputs
        if each is not None
    ]
    return "; ".join([*notes, *(f"writes %{each.index}" for each in node.written)])


@dataclass(frozen=True, slots=True, eq=False)
class PlannedStep:
    """Nodes that run together, where the last of them stands.

    ``run(values)`` reads the nodes' inputs from the list of all values, by their indices, and stores their results; a
    value that is not kept and that no other node reads may be left out. If it raises, it has written to nothing: the
    nodes are then run one by one, so that the error belongs to one of them.

    It may use the memory of given values that have a successor, and that no node reads after it. ``donated`` has the
    indices of these; ``run`` sets their entries to None once their arrays are used up, whether or not it raises then.
    ``copy`` copies such an array, where something else refers to it.
    """

    #: Indices into the program's nodes, ascending.
    nodes: tuple[int, ...]
    run: Callable[[list[Any]], None]
    #: Bytes of results that are never stored.
    saved: int = 0
    donated: tuple[int, ...] = ()
    copy: Callable[[Any], Any] | None = None
    #: Returns what `explain` of a captured function says of the plan so far, ``""`` for nothing.
    note: Callable[[], str] | None = None
    #: Expressions of live numbers, ``function`` and ``operands``, whose values a replay hands on: it appends an entry to the
    #: list of values for each planned step that has some, in the planner's order: the numbers as the replay begins, and
    #: those that it leaves in their places.
    numbers: tuple[Expression, ...] = ()
