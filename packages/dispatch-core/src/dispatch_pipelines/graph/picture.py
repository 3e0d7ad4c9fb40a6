"""A graph as it is looked at: printed as code with shapes and dtypes, drawn, and saved."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Final, Self

from dispatch_core import devkit
from dispatch_core.display import show_number_of
from dispatch_core.files import write_form

from .model import Graph, GraphStep, ValueInfo, ValueRef, values_in

#: How many steps a notebook draws by itself.
MOST_DRAWN: Final = 200


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


class Drawable:
    """The forms of something that has a picture."""

    __slots__ = ()

    def picture(self) -> Picture:
        """Return the picture as data."""
        raise NotImplementedError

    def svg(self) -> str:
        """Return a picture as SVG, which needs nothing else: no style sheet, no script, no font."""
        return devkit.to_svg(self.picture())

    def dot(self) -> str:
        """Return the graph in Graphviz's language."""
        return devkit.to_dot(self.picture())

    def mermaid(self) -> str:
        """Return the graph as a Mermaid flow chart."""
        return devkit.to_mermaid(self.picture())

    def html(self) -> str:
        """Return the picture, and its code below it to unfold, as a piece of HTML that needs nothing else."""
        return self._to_fragment(f'<div class="dispatch-picture">{self.svg()}</div>')

    def _to_fragment(self, above: str) -> str:
        picture = self.picture()
        code = devkit.to_details("code", devkit.to_block(picture.code))
        return devkit.to_fragment(picture.title, [picture.heading], [above, code])

    @devkit.for_notebooks
    def _repr_svg_(self) -> str | None:
        return self.svg() if len(self.picture().steps) <= MOST_DRAWN else None

    @devkit.for_notebooks
    def _repr_html_(self) -> str | None:
        count = len(self.picture().steps)
        if count <= MOST_DRAWN:
            return self.html()
        return self._to_fragment(devkit.to_note(f"svg() and save() draw {show_number_of('step', count)}"))

    def save(self, path: str | Path) -> Path:
        """Write the form that the suffix names: .svg, .dot or .gv, .mmd or .mermaid, .html, .txt; return the path.

        Raises ``ArgumentError`` for another suffix.
        """
        return write_form(self, path, FORMS)


@dataclass(frozen=True)
class Picture(Drawable):
    """A graph to be looked at: `code` prints it, `svg`, `dot` and `mermaid` draw it, `save` writes a file.

    `program` is the graph itself: its ``code`` is Python, and ``replay`` runs it on other inputs.
    """

    program: Graph

    title: ClassVar[str] = "trace"

    @classmethod
    def of(
        cls,
        program: Graph,
        *,
        dropped: Container[int] = (),
        groups: Mapping[int, int] = MappingProxyType({}),
        places: Sequence[str] = (),
    ) -> Self:
        """Return the picture of a graph.

        ``dropped`` has the indices of steps that will not run, ``groups`` the fused group of a step, ``places`` their lines.
        """
        values = program.values
        visible = {value.memory for value in values if value.is_held}
        steps = []
        for index, step in enumerate(program.steps):
            is_seen = any(values[each].is_held for each in step.makes) or any(
                values[each].memory in visible for each in step.writes
            )
            is_dropped = index in dropped
            steps.append(
                replace(
                    step,
                    is_dropped=is_dropped,
                    is_output=is_seen and not is_dropped,
                    where=places[index] if places else "",
                    group=groups.get(index),
                )
            )
        return cls(replace(program, steps=tuple(steps)))

    def picture(self) -> Picture:
        """Return the picture itself."""
        return self

    @property
    def steps(self) -> tuple[GraphStep, ...]:
        """Return the steps of the graph."""
        return self.program.steps

    @property
    def values(self) -> tuple[ValueInfo, ...]:
        """Return the values of the graph by number."""
        return self.program.values

    @property
    def heading(self) -> str:
        """Return the line above the drawing."""
        return f"{show_number_of('step', len(self.steps))}, {show_number_of('input', len(self.inputs))}"

    @property
    def inputs(self) -> tuple[ValueInfo, ...]:
        """Return the values that are there already."""
        return tuple(value for value in self.values if value.is_input)

    @property
    def outputs(self) -> tuple[ValueInfo, ...]:
        """Return the values that steps make and objects outside refer to."""
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
        makers: dict[ValueRef, int] = {}
        writers: dict[int, tuple[int, tuple[ValueRef, ...]]] = {}
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
                found.append(Edge(int(number), source, index, "write" if number in step.writes else kind))
            for number in step.writes:
                writers[self.values[number].memory] = index, step.writes
            makers.update(dict.fromkeys(step.makes, index))
        return found

    @property
    def code(self) -> str:
        """Return the program as text: one line for each input and each step, with its results and the line of its call."""
        lines = [(str(value), self._note(value)) for value in self.inputs]
        lines += [(step.text, ", ".join(self.notes(step))) for step in self.steps]
        width = min(max((len(left) for left, _ in lines), default=0), 60)
        head = f"{self.title}({', '.join(map(str, self.inputs))}):"
        outputs = ", ".join(map(str, values_in(self.program.outputs)))
        body = [f"    {left:<{width}}  # {note}" for left, note in lines]
        return "\n".join([head, *body, f"    return {outputs}".rstrip()])

    def __str__(self) -> str:
        return self.code

    def _note(self, value: ValueInfo) -> str:
        shared = "" if value.memory == value.number else f", memory of %{value.memory}"
        return f"{value.type}{shared}{', failed' if value.has_failed else ''}"

    def notes(self, step: GraphStep) -> list[str]:
        """Return the comments of a step in the listing: its results and writes, its fate, the line of its call."""
        found = [self.values[number].type for number in step.makes]
        found += [f"view of {number}" for number in step.views]
        found += ["writes " + self._describe_write(number) for number in step.writes]
        if step.is_dropped:
            found.append("dropped")
        if step.group is not None:
            found.append(f"group {step.group}")
        return [*found, step.where] if step.where else found

    def _describe_write(self, number: ValueRef) -> str:
        value = self.values[number]
        return f"{value} {value.type}" + ("" if value.memory == number else f", memory of %{value.memory}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.heading}>"


FORMS: Final[dict[str, Callable[[Drawable], str]]] = {
    ".svg": Drawable.svg,
    ".dot": Drawable.dot,
    ".gv": Drawable.dot,
    ".mmd": Drawable.mermaid,
    ".mermaid": Drawable.mermaid,
    ".html": lambda drawn: devkit.to_page(drawn.picture().title, drawn.html()),
    ".txt": lambda drawn: drawn.picture().code,
}
