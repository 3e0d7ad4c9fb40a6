"""A profile as a flame graph: nested calls as boxes as wide as their time, each call above the calls that it makes.

Calls with the same callers are one box, in the order in which the first of each began. Boxes too narrow to see are one grey
box, and rows too deep are left out; the tip of a box says so. Source: Brendan Gregg's flame graphs, upside down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

from dispatch_core.display import show_number_of, show_share, show_time
from dispatch_core.escapes import to_printable
from dispatch_core.files import write_form
from dispatch_core.inspection import STAGES, CallEvent

from ..fragments import to_fragment, to_markup, to_note, to_page

#: The part of the whole below which a box is not drawn alone, and the one from which on HTML writes its name.
_LEAST, _NAMED = 0.004, 0.03
#: How many rows are drawn.
_ROWS: Final = 40
#: The height of a row, the font size, the part of it that a letter is wide, and the blank beside a text.
_HEIGHT, _SIZE, _LETTER, _PAD = 20, 11, 0.605, 4
_INK, _FONT = "#14263f", "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
#: Fills of operators, one for each name; of regions and threads; of stages; and of boxes that are too narrow.
_OPERATORS: Final = ("#cfe0f7", "#d3ecd9", "#fbdcc4", "#d9d6f3", "#c9e8ea", "#f6d5dc")
_REGION, _STAGE, _MORE = "#fff0bd", "#e6daf4", "#dcdfe4"


class Cost(NamedTuple):
    """The time in nanoseconds that calls took apart from calls inside them, and how many calls there were."""

    own: int
    calls: int


class Box(NamedTuple):
    """A box of the picture: its row, its left edge and width as parts of the whole, and its texts."""

    row: int
    left: float
    width: float
    label: str
    tip: str
    fill: str


@dataclass(slots=True)
class _Frame:
    """The calls of one name with the same callers."""

    own: int = 0
    calls: int = 0
    total: int = 0
    inside: dict[str, _Frame] = field(default_factory=dict)


class FlameGraph:
    """Times of nested calls as a picture: `svg`, `html`, `folded_stacks` for other tools, and `save`.

    ``stacks`` are the costs of calls by their names, the outermost caller first.

    >>> graph = FlameGraph({("step",): Cost(2_000, 1), ("step", "aten::mm"): Cost(6_000, 3)})
    >>> graph
    <FlameGraph: 8.000 µs, 2 rows>
    >>> print(graph.folded_stacks())
    step 2000
    step;aten::mm 6000
    """

    def __init__(self, stacks: Mapping[tuple[str, ...], Cost]) -> None:
        self.stacks = dict(stacks)
        self._root = _Frame()
        for stack, cost in self.stacks.items():
            frame = self._root
            frame.total += cost.own
            for label in stack:
                frame = frame.inside.setdefault(label, _Frame())
                frame.total += cost.own
            frame.own += cost.own
            frame.calls += cost.calls

    @property
    def total(self) -> int:
        """Return the time of all calls in nanoseconds, each moment counted once."""
        return self._root.total

    @property
    def rows(self) -> int:
        """Return how deep calls are nested."""
        return max(map(len, self.stacks), default=0)

    def boxes(self) -> list[Box]:
        """Return the drawn boxes: parents before the boxes below them, from left to right."""
        if not self.total:
            return []
        found: list[Box] = []
        waiting = [(self._root, -1, 0.0)]
        while waiting:
            frame, row, left = waiting.pop()
            if row + 1 == _ROWS:
                continue
            narrow: list[_Frame] = []
            for label, inner in frame.inside.items():
                width = inner.total / self.total
                if width < _LEAST:
                    narrow.append(inner)
                    continue
                tip = self._tip(label, inner, row + 1)
                # The namespace of nearly all operators would take the space of their names.
                found.append(Box(row + 1, left, width, label.removeprefix("aten::"), tip, _fill(label)))
                waiting.append((inner, row + 1, left))
                left += width
            time = sum(inner.total for inner in narrow)
            if time / self.total >= _LEAST:
                label = f"{len(narrow):,} more"
                tip = f"{label}: {self._time(time)}"
                found.append(Box(row + 1, left, time / self.total, label, tip, _MORE))
        return found

    def _tip(self, label: str, frame: _Frame, row: int) -> str:
        parts = [self._time(frame.total)]
        if frame.inside:
            parts.append(f"{show_time(frame.own)} of it its own")
        if frame.calls:
            parts.append(show_number_of("call", frame.calls))
        if frame.inside and row + 1 == _ROWS:
            parts.append("calls inside are not drawn")
        return f"{label}: {', '.join(parts)}"

    def _time(self, time: int) -> str:
        return f"{show_time(time)}, {show_share(time / self.total)}"

    def svg(self, width: int = 960) -> str:
        """Return a picture of a width in pixels as SVG, which needs nothing else."""
        boxes = self.boxes()
        height = _HEIGHT * (1 + max((box.row for box in boxes), default=-1)) + 2
        parts = [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}"'
                f' viewBox="0 0 {width} {height}" font-family="{escape(_FONT)}" font-size="{_SIZE}" fill="{_INK}">'
            ),
            f'<title>{escape(repr(self)[1:-1])}</title>\n<rect width="100%" height="100%" fill="#ffffff"/>',
        ]
        for box in boxes:
            left, across = 1 + box.left * (width - 2), box.width * (width - 2)
            text = _cut(box.label, across - 2 * _PAD)
            parts.append(
                f'<g transform="translate({left:.2f} {1 + _HEIGHT * box.row})"><title>{to_markup(box.tip)}</title>'
                f'<rect width="{max(across - 1, 0.5):.2f}" height="{_HEIGHT - 1}" rx="2" fill="{box.fill}"/>'
                + (f'<text x="{_PAD}" y="14">{to_markup(text)}</text>' if text else "")
                + "</g>"
            )
        return "\n".join([*parts, "</svg>\n"])

    def drawing(self) -> str:
        """Return the picture as an element of HTML as wide as its place, for a fragment of `dispatch_core.display`."""
        boxes = self.boxes()
        if not boxes:
            return to_note("no time was measured")
        parts = []
        for box in boxes:
            place = f"left:{100 * box.left:.3f}%;width:{100 * box.width:.3f}%;top:{_HEIGHT * box.row}px"
            text = to_markup(box.label) if box.width >= _NAMED else ""
            parts.append(f'<div style="{place};background:{box.fill}" title="{to_markup(box.tip)}">{text}</div>')
        height = _HEIGHT * (1 + max(box.row for box in boxes))
        what = f"flame graph of {show_time(self.total)}"
        body = "\n".join(parts)
        return f'<div class="dispatch-flame" role="group" aria-label="{what}" style="height:{height}px">{body}</div>'

    def html(self) -> str:
        """Return the picture as a piece of HTML that needs nothing else."""
        return to_fragment("flame graph", [show_time(self.total)], [self.drawing()])

    def folded_stacks(self) -> str:
        """Return a line for each stack with its own nanoseconds, as speedscope and ``flamegraph.pl`` read them."""
        lines = (
            f"{';'.join(each.replace(';', ',') for each in stack)} {cost.own}" for stack, cost in self.stacks.items()
        )
        return "\n".join(lines)

    def save(self, path: str | Path) -> Path:
        """Write the form that the suffix names: .svg, .html, .txt or .folded; return the path.

        Raises ``ArgumentError`` for another suffix.
        """
        return write_form(self, path, _FORMS)

    def _repr_html_(self) -> str:
        return self.html()

    def __repr__(self) -> str:
        return f"<FlameGraph: {show_time(self.total)}, {show_number_of('row', self.rows)}>"


_FORMS: Final[dict[str, Callable[[FlameGraph], str]]] = {
    ".svg": FlameGraph.svg,
    ".html": lambda graph: to_page("flame graph", graph.html()),
    ".txt": FlameGraph.folded_stacks,
    ".folded": FlameGraph.folded_stacks,
}


def make_flame_graph(events: Iterable[CallEvent], threads: Mapping[int, str]) -> FlameGraph:
    """Return the flame graph of events of a profile; where there are several threads, each has a box of its own.

    An event's caller is the last one of its thread before it that is less deep.
    """
    # A sort keeps the order of events of equal times, a caller before the calls inside.
    ordered = sorted(events, key=lambda event: (event.start, event.depth))
    first = dict.fromkeys(event.thread for event in ordered)
    heads: dict[int, tuple[str, ...]] = {
        thread: (to_printable(threads.get(thread, f"thread {thread}")),) if len(first) > 1 else () for thread in first
    }
    open_calls: dict[int, list[tuple[int, tuple[str, ...]]]] = {thread: [] for thread in first}
    costs: dict[tuple[str, ...], Cost] = {}
    for event in ordered:
        callers = open_calls[event.thread]
        while callers and callers[-1][0] >= event.depth:
            callers.pop()
        outer = callers[-1][1] if callers else heads[event.thread]
        stack = (*outer, to_printable(f"{event.kind}: {event.name}" if event.kind in STAGES else event.name))
        callers.append((event.depth, stack))
        before = costs.get(stack, Cost(0, 0))
        # Calls of tasks that take turns in one thread may count each other's time.
        costs[stack] = Cost(before.own + max(event.self_duration, 0), before.calls + 1)
    return FlameGraph(costs)


def _fill(label: str) -> str:
    if label.partition(": ")[0] in STAGES:
        return _STAGE
    return _OPERATORS[crc32(label.encode()) % len(_OPERATORS)] if "::" in label else _REGION


def _cut(label: str, space: float) -> str:
    """Return as much of a label as has room, and nothing rather than two letters."""
    letters = int(space / (_SIZE * _LETTER))
    if len(label) <= letters:
        return label
    return f"{label[: letters - 1]}…" if letters > 2 else ""
