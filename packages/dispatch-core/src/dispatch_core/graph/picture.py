"""A pipeline's pending program as data: printed as code, drawn, and saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

from ..errors import ArgumentError
from .model import Call, Graph

__all__ = ["Edge", "PipelineGraph", "ShownStep", "ShownValue"]


@dataclass(frozen=True, slots=True)
class ShownValue:
    """A value of the program: an input, or what a step makes."""

    number: int
    shape: tuple[int, ...]
    dtype: str
    #: The number of the first value in the same memory; its own where it shares none.
    memory: int
    is_input: bool
    #: Whether objects outside the program refer to it. Inputs always count as held.
    is_held: bool
    has_failed: bool = False

    @property
    def type(self) -> str:
        """Return shape and dtype as one text."""
        return f"{self.shape} {self.dtype}"

    def __str__(self) -> str:
        return f"%{self.number}"


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A recorded step, by the numbers of the values that it takes and makes."""

    call: Call
    #: The call as text on one line.
    text: str
    inputs: tuple[int, ...]
    results: tuple[int, ...]
    #: Those of the inputs that it writes to.
    writes: tuple[int, ...]
    #: Those of the inputs that its results are views of.
    views: tuple[int, ...]
    #: Whether its effects are not observable, so that a flush drops it.
    is_dropped: bool
    #: Whether memory that it makes or writes to is seen outside the program.
    is_output: bool
    #: File and line of the call, without the folder.
    where: str
    #: The index of the fused group that it runs in, or None.
    group: int | None = None

    @property
    def name(self) -> str:
        """Return the operator's name."""
        return self.call.op.name


@dataclass(frozen=True, slots=True)
class Edge:
    """One use of a value: from the input or the step that had the last word on it, to the step that uses it."""

    value: int
    #: The index of the step it comes from, or None for an input.
    source: int | None
    #: The index of the step that uses it.
    target: int
    #: "data", "view" where memory is shared and nothing is computed, or "write" where the step writes to the value.
    kind: str


@dataclass(frozen=True)
class PipelineGraph:
    """The program that a pipeline has recorded and not run yet.

    ``str`` and `code` print it, `svg`, `dot` and `mermaid` draw it, `save` writes the form that a file's suffix names.
    `program` is the same as the Tracer's graph: its ``code`` is Python, and ``replay`` runs it on other inputs.
    """

    program: Graph
    values: tuple[ShownValue, ...]
    steps: tuple[ShownStep, ...]

    @property
    def inputs(self) -> tuple[ShownValue, ...]:
        """Return the values that are there already."""
        return tuple(value for value in self.values if value.is_input)

    @property
    def outputs(self) -> tuple[ShownValue, ...]:
        """Return the pending values that objects outside the program refer to."""
        return tuple(value for value in self.values if value.is_held and not value.is_input)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Return the fused groups, as indices of steps."""
        found: dict[int, list[int]] = {}
        for index, step in enumerate(self.steps):
            if step.group is not None:
                found.setdefault(step.group, []).append(index)
        return tuple(tuple(found[group]) for group in sorted(found))

    def edges(self) -> list[Edge]:
        """Return who uses which value, and where it comes from: its maker, or the last step before that wrote to it."""
        makers: dict[int, int] = {}
        writers: dict[int, tuple[int, tuple[int, ...]]] = {}
        found = []
        for index, step in enumerate(self.steps):
            for number in step.inputs:
                value = self.values[number]
                source = makers.get(number)
                writer, written = writers.get(value.memory, (None, ()))
                is_through_alias = False
                if writer is not None and (source is None or writer > source):
                    source, is_through_alias = writer, number not in written
                kind = "view" if number in step.views or is_through_alias else "data"
                found.append(Edge(number, source, index, "write" if number in step.writes else kind))
            for number in step.writes:
                writers[self.values[number].memory] = index, step.writes
            makers.update(dict.fromkeys(step.results, index))
        return found

    # Printed.

    @property
    def code(self) -> str:
        """Return the program as text: one line for each input and each step, with its results and the line of its call."""
        lines = [(str(value), self._note(value)) for value in self.inputs]
        lines += [(step.text, ", ".join(self.notes(step))) for step in self.steps]
        width = min(max((len(left) for left, _ in lines), default=0), 60)
        head = f"pipeline({', '.join(map(str, self.inputs))}):"
        outputs = ", ".join(map(str, self.outputs))
        body = [f"    {left:<{width}}  # {note}" for left, note in lines]
        return "\n".join([head, *body, f"    return {outputs}".rstrip()])

    def __str__(self) -> str:
        return self.code

    def _note(self, value: ShownValue) -> str:
        shared = "" if value.memory == value.number else f", memory of %{value.memory}"
        return f"{value.type}{shared}{', failed' if value.has_failed else ''}"

    def notes(self, step: ShownStep) -> list[str]:
        """Return the comments of a step in the listing: its results and writes, its fate, the line of its call."""
        found = [self.values[number].type for number in step.results]
        found += [f"view of %{number}" for number in step.views]
        found += ["writes " + self._describe_write(number) for number in step.writes]
        if step.is_dropped:
            found.append("dropped")
        if step.group is not None:
            found.append(f"group {step.group}")
        return [*found, step.where] if step.where else found

    def _describe_write(self, number: int) -> str:
        value = self.values[number]
        return f"{value} {value.type}" + ("" if value.memory == number else f", memory of %{value.memory}")

    def __repr__(self) -> str:
        dropped = sum(step.is_dropped for step in self.steps)
        return f"<PipelineGraph: {len(self.steps)} steps, {len(self.inputs)} inputs, {dropped} to be dropped>"

    # Drawn.

    def svg(self) -> str:
        """Return a picture as SVG, which needs nothing else: no style sheet, no script, no font."""
        from .svg import to_svg

        return to_svg(self)

    def dot(self) -> str:
        """Return the graph in Graphviz's language."""
        from .dot_and_mermaid import to_dot

        return to_dot(self)

    def mermaid(self) -> str:
        """Return the graph as a Mermaid flow chart."""
        from .dot_and_mermaid import to_mermaid

        return to_mermaid(self)

    def html(self) -> str:
        """Return the picture, and the code below it to unfold."""
        return (
            f'<div style="overflow:auto">{self.svg()}</div>'
            f"<details><summary>code</summary><pre>{escape(self.code)}</pre></details>"
        )

    _repr_svg_ = svg
    _repr_html_ = html

    def save(self, path: str | Path) -> Path:
        """Write the form that the suffix names: .svg, .dot or .gv, .mmd or .mermaid, .html, .txt; return the path.

        Raises ``ArgumentError`` for another suffix.
        """
        path = Path(path)
        form = _FORMS.get(path.suffix.lower())
        if form is None:
            raise ArgumentError(
                f"PipelineGraph.save: the suffix {path.suffix!r} of {str(path)!r} says nothing of the form to write",
                hint=f"suffixes are {', '.join(_FORMS)}",
            )
        path.write_text(form(self).rstrip("\n") + "\n", encoding="utf-8")
        return path


_FORMS: Final[dict[str, Callable[[PipelineGraph], str]]] = {
    ".svg": PipelineGraph.svg,
    ".dot": PipelineGraph.dot,
    ".gv": PipelineGraph.dot,
    ".mmd": PipelineGraph.mermaid,
    ".mermaid": PipelineGraph.mermaid,
    ".html": PipelineGraph.html,
    ".txt": str,
}
