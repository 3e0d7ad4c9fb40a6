"""A graph as it is looked at: printed as code with shapes and dtypes, drawn, and saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath
from typing import ClassVar, Final

from dispatch_core import devkit
from dispatch_core.display import show_number_of
from dispatch_core.escapes import to_printable
from dispatch_core.files import write_form

from .model import Graph, GraphStep, show_step
from .nodes import Value, values_in

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
    #: The indices of the steps whose effects are not observable, so that a flush drops them.
    dropped: frozenset[int] = frozenset()
    #: The index of a step → the fused group that it runs in.
    group_of: Mapping[int, int] = field(default_factory=dict)

    title: ClassVar[str] = "trace"

    def picture(self) -> Picture:
        """Return the picture itself."""
        return self

    @property
    def steps(self) -> tuple[GraphStep, ...]:
        """Return the steps of the graph."""
        return self.program.steps

    @property
    def values(self) -> tuple[Value, ...]:
        """Return the values of the graph."""
        return self.program.values

    @property
    def heading(self) -> str:
        """Return the line above the drawing."""
        return f"{show_number_of('step', len(self.steps))}, {show_number_of('input', len(self.inputs))}"

    @property
    def inputs(self) -> tuple[Value, ...]:
        """Return the values that are there already."""
        return self.program.inputs

    @property
    def outputs(self) -> tuple[Value, ...]:
        """Return the values that steps make and objects outside refer to."""
        return tuple(value for value in dict.fromkeys(values_in(self.program.outputs)) if not value.given)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Return the fused groups, as indices of steps."""
        found: dict[int, list[int]] = {}
        for index, group in sorted(self.group_of.items()):
            found.setdefault(group, []).append(index)
        return tuple(tuple(found[group]) for group in sorted(found))

    def is_output(self, index: int) -> bool:
        """Return whether memory that a step makes or writes to is seen outside the graph."""
        step, (held, memories) = self.steps[index], self._held
        is_seen = any(each in held for each in step.outputs) or any(each.place in memories for each in step.written)
        return is_seen and index not in self.dropped

    @cached_property
    def _held(self) -> tuple[set[Value], set[int]]:
        """Return the values that objects outside refer to, and their memories."""
        held = {*self.inputs, *values_in(self.program.outputs)}
        return held, {value.place for value in held}

    def edges(self) -> list[Edge]:
        """Return who uses which value, and where it comes from: its maker, or the last step before that wrote to it."""
        makers: dict[Value, int] = {}
        writers: dict[int, tuple[int, tuple[Value, ...]]] = {}
        found = []
        for index, step in enumerate(self.steps):
            for value in dict.fromkeys(step.inputs()):
                source = makers.get(value)
                writer, written = writers.get(value.place, (None, ()))
                is_through_alias = False
                if writer is not None and (source is None or writer > source):
                    source, is_through_alias = writer, value not in written
                kind = "view" if value in step.views or is_through_alias else "data"
                found.append(Edge(value.index, source, index, "write" if value in step.written else kind))
            for value in step.written:
                writers[value.place] = index, step.written
            makers.update({each: index for each in step.outputs if each is not None})
        return found

    @property
    def code(self) -> str:
        """Return the program as text: one line for each input and each step, with its results and the line of its call."""
        lines = [(str(value), self._note(value)) for value in self.inputs]
        lines += [(self.text(index), ", ".join(self.notes(index))) for index in range(len(self.steps))]
        width = min(max((len(left) for left, _ in lines), default=0), 60)
        head = f"{self.title}({', '.join(map(str, self.inputs))}):"
        outputs = ", ".join(map(str, values_in(self.program.outputs)))
        body = [f"    {left:<{width}}  # {note}" for left, note in lines]
        return "\n".join([head, *body, f"    return {outputs}".rstrip()])

    def text(self, index: int) -> str:
        """Return a step on one line, as a terminal can show it."""
        return to_printable(show_step(self.steps[index]))

    def __str__(self) -> str:
        return self.code

    def _note(self, value: Value) -> str:
        return f"{value.type}{_describe_memory(value)}{', failed' if value.has_failed else ''}"

    def notes(self, index: int) -> list[str]:
        """Return the comments of a step in the listing: its results and writes, its fate, the line of its call."""
        step = self.steps[index]
        found = [each.type for each in step.outputs if each is not None]
        found += [f"view of {each}" for each in step.views]
        found += [f"writes {each} {each.type}{_describe_memory(each)}" for each in step.written]
        found += ["dropped"] if index in self.dropped else []
        found += [f"group {self.group_of[index]}"] if index in self.group_of else []
        return [*found, to_printable(PurePath(step.line).name)] if step.line else found

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.heading}>"


def _describe_memory(value: Value) -> str:
    return "" if value.place == value.index else f", memory of %{value.place}"


FORMS: Final[dict[str, Callable[[Drawable], str]]] = {
    ".svg": Drawable.svg,
    ".dot": Drawable.dot,
    ".gv": Drawable.dot,
    ".mmd": Drawable.mermaid,
    ".mermaid": Drawable.mermaid,
    ".html": lambda drawn: devkit.to_page(drawn.picture().title, drawn.html()),
    ".txt": lambda drawn: drawn.picture().code,
}
