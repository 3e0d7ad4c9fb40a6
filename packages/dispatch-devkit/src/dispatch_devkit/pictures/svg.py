"""A graph as an SVG picture: dark text on light boxes, top to bottom, fused groups as boxes of boxes.

Colours and dashes are attributes, and arrow heads are paths: pictures with style sheets or marks of their own would disturb
each other on one page.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

from .layered_layout import Point, arrange, layers_of

if TYPE_CHECKING:
    from dispatch_core.inspection import Edge, Picture, Value

#: Role of a box → fill, border, text, dashes, and its words in the legend.
ROLES: Final = {
    "input": ("#fff6d6", "#b8860b", "#3d2f00", "", "input"),
    "step": ("#edf3fc", "#4a6fa5", "#14263f", "", "step"),
    "view": ("#f4effb", "#7a5ba8", "#2d1c47", "4 3", "view"),
    "write": ("#fdeee3", "#c2621b", "#4a2206", "", "writes in place"),
    "output": ("#e3f5e8", "#2f7d4f", "#0f3320", "", "seen from outside"),
    "dropped": ("#f5f5f5", "#9a9a9a", "#6b6b6b", "2 3", "dropped"),
    "group": ("#fafbff", "#8a94a6", "#3c4554", "", "fused"),
    "again": ("#fffdf5", "#cdb87a", "#5c4d1a", "", "a value from elsewhere"),
}
#: Kind of an edge → colour and dashes.
EDGES: Final = {"data": ("#5b6b82", ""), "view": ("#7a5ba8", "5 4"), "write": ("#c2621b", "5 4")}

_FONT: Final = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
#: Font size of a box's first line and of the others; a letter's width as a part of it.
_HEAD, _BODY, _LETTER = 12, 11, 0.605
_LEADING: Final = 15
_ACROSS, _DOWN, _MARGIN = 22.0, 34.0, 18.0
#: How many letters of a line and how many results of a step are shown; the tool tip has them all.
_LONGEST, _MOST = 44, 4
#: A value used this many layers below is named there in a box of its own, in place of a line across the picture.
_FAR: Final = 9
#: So is a value from more than one layer away, where at least this many edges end at the box.
_CROWD: Final = 24


@dataclass(frozen=True, slots=True)
class _DrawnBox:
    role: str
    lines: tuple[str, ...]
    tip: str
    #: The drawing inside, and its size.
    inside: str = ""
    size: Point = (0.0, 0.0)

    @property
    def extent(self) -> Point:
        """Return width and height."""
        text = max((_width(line, _BODY if index else _HEAD) for index, line in enumerate(self.lines)), default=0.0)
        height = 11 + _LEADING * len(self.lines)
        if not self.inside:
            return max(text + 20, 56.0), height
        return max(text, self.size[0]) + 24, height + self.size[1] + 12


def to_svg(graph: Picture) -> str:
    """Draw a program."""
    edges = graph.edges()
    owners, groups = contract(graph, edges)
    boxes = {("input", value.index): _input_box(value) for value in graph.inputs}
    for index, owner in owners.items():
        if owner[0] == "step":
            boxes[owner] = _step_box(graph, index)
        elif owner not in boxes:
            inside, size = _inside(graph, groups[owner[1]], edges)
            boxes[owner] = _DrawnBox("group", (f"fused, {len(groups[owner[1]])} steps",), "", inside, size)
    outer: dict[tuple[tuple[str, int], tuple[str, int], str], Edge] = {}
    for edge in edges:
        source = ("input", edge.value) if edge.source is None else owners[edge.source]
        if source != owners[edge.target]:
            outer.setdefault((source, owners[edge.target], edge.kind), edge)
    picture, (width, height) = _draw(graph, boxes, outer)
    roles = {box.role for box in boxes.values()}
    if ROLES["again"][0] in picture:
        roles.add("again")
    head, head_width = _legend(graph, roles)
    width, height = max(width, head_width) + 2 * _MARGIN, height + 2 * _MARGIN + 46
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {width:.0f} {height:.0f}" font-family="{escape(_FONT)}" font-size="{_BODY}">\n'
        f'<title>{escape(repr(graph)[1:-1])}</title>\n<rect width="100%" height="100%" fill="#ffffff"/>\n'
        f'<g transform="translate({_MARGIN:g} {_MARGIN:g})">\n{head}</g>\n'
        f'<g transform="translate({_MARGIN:g} {_MARGIN + 46:g})">\n{picture}</g>\n</svg>\n'
    )


def contract(graph: Picture, edges: Sequence[Edge]) -> tuple[dict[int, tuple[str, int]], dict[int, tuple[int, ...]]]:
    """Return for every step the box it is drawn in, and the groups that can be drawn as one box.

    A group that a value leaves and comes back to cannot: its steps are drawn alone.
    """
    groups = dict(enumerate(graph.groups))
    while True:
        owners = {index: ("step", index) for index in range(len(graph.steps))}
        owners |= {index: ("group", number) for number, members in groups.items() for index in members}
        places = {owner: place for place, owner in enumerate(dict.fromkeys(owners.values()))}
        links = {
            (places[owners[edge.source]], places[owners[edge.target]]) for edge in edges if edge.source is not None
        }
        found = layers_of(len(places), [link for link in links if link[0] != link[1]])
        broken = [number for number in groups if found[places["group", number]] is None]
        if not broken:
            return owners, groups
        for number in broken:
            del groups[number]


def role_of(graph: Picture, index: int) -> str:
    """Return how a step is drawn."""
    if index in graph.dropped:
        return "dropped"
    if graph.is_output(index):
        return "output"
    return "write" if graph.steps[index].written else "view" if graph.steps[index].views else "step"


def _inside(graph: Picture, members: Sequence[int], edges: Iterable[Edge]) -> tuple[str, Point]:
    """Draw the steps of a group; values from outside are named in boxes of their own."""
    boxes = {("step", index): _step_box(graph, index) for index in members}
    inner = {}
    for edge in edges:
        target = ("step", edge.target)
        if target in boxes:
            source = ("input", edge.value) if edge.source is None else ("step", edge.source)
            if source not in boxes:
                source = ("again", len(boxes))
                boxes[source] = _again_box([graph.values[edge.value]])
            inner[source, target, edge.kind] = edge
    return _draw(graph, boxes, inner)


def _draw(
    graph: Picture,
    boxes: dict[tuple[str, int], _DrawnBox],
    edges: dict[tuple[tuple[str, int], tuple[str, int], str], Edge],
) -> tuple[str, Point]:
    """Draw boxes and edges; return that and its width and height."""
    names = list(boxes)
    places = {name: place for place, name in enumerate(names)}
    layers = layers_of(len(names), [(places[source], places[target]) for source, target, _ in edges])
    drawn = [boxes[name] for name in names]
    links = []
    coming = Counter(target for _, target, _ in edges)
    far: dict[int, dict[int, str]] = {}
    for (source, target, kind), edge in edges.items():
        start, end = places[source], places[target]
        if (layers[end] or 0) - (layers[start] or 0) > (_FAR if coming[target] <= _CROWD else 1):
            far.setdefault(end, {})[edge.value] = kind
        else:
            links.append((start, end, kind, edge.value))
    for end, values in far.items():
        links += [
            (len(drawn), end, kind, value) for kind, value in {kind: value for value, kind in values.items()}.items()
        ]
        drawn.append(_again_box([graph.values[value] for value in values]))
    layout = arrange([box.extent for box in drawn], [link[:2] for link in links], across=_ACROSS, down=_DOWN)
    routes = _with_ports(links, layout.routes, drawn)
    parts = []
    for kind, (colour, dashes) in EDGES.items():
        chosen = [(link, route) for link, route in zip(links, routes, strict=True) if link[2] == kind]
        if chosen:
            parts.append(f'<g fill="none" stroke="{colour}" stroke-width="1.3"{_dashes(dashes)}>')
            parts += [_curve(route, str(graph.values[link[3]])) for link, route in chosen]
            parts.append(f'</g>\n<g fill="{colour}">')
            parts += [f'<path d="M{x:.1f} {y:.1f}l-3.5 -7h7z"/>' for x, y in (route[-1] for _, route in chosen)]
            parts.append("</g>")
    parts += [_draw_box(box, centre) for box, centre in zip(drawn, layout.centres, strict=True)]
    return "\n".join(parts) + "\n", (layout.width, layout.height)


def _with_ports(
    links: Sequence[tuple[int, int, str, int]], routes: Sequence[list[Point]], boxes: Sequence[_DrawnBox]
) -> list[list[Point]]:
    """Spread the ends of edges at the same box side by side, in the order in which they come."""
    ends: dict[int, list[int]] = {}
    for number, link in enumerate(links):
        ends.setdefault(link[1], []).append(number)
    found = [list(route) for route in routes]
    for box, numbers in ends.items():
        numbers.sort(key=lambda number: routes[number][-3][0])
        apart = min(16.0, (boxes[box].extent[0] - 16) / len(numbers))
        for place, number in enumerate(numbers):
            shift = apart * (place - (len(numbers) - 1) / 2)
            found[number][-2:] = [(x + shift, y) for x, y in routes[number][-2:]]
    return found


def _curve(route: Sequence[Point], tip: str) -> str:
    (x, y), *rest = route
    # The last bit is the arrow's head.
    rest[-1] = (rest[-1][0], rest[-1][1] - 6)
    path = [f"M{x:.1f} {y:.1f}"]
    for end, bottom in rest:
        middle = (y + bottom) / 2
        if abs(end - x) < 0.05:
            path.append(f"V{bottom:.1f}" if bottom > y else "")
        else:
            path.append(f"C{x:.1f} {middle:.1f} {end:.1f} {middle:.1f} {end:.1f} {bottom:.1f}")
        x, y = end, bottom
    return f'<path d="{"".join(path)}"><title>{tip}</title></path>'


def _draw_box(box: _DrawnBox, centre: Point) -> str:
    width, height = box.extent
    left, top = centre[0] - width / 2, centre[1] - height / 2
    fill, stroke, ink, dashes, _ = ROLES[box.role]
    radius = height / 2 if box.role in ("input", "again") else 5
    border = f'fill="{fill}" stroke="{stroke}" stroke-width="{2 if box.role == "output" else 1.2}"'
    parts = [
        f'<g transform="translate({left:.1f} {top:.1f})" fill="{ink}" text-anchor="middle">',
        f"<title>{escape(box.tip)}</title>" if box.tip else "",
        f'<rect width="{width:.1f}" height="{height:.1f}" rx="{radius:.1f}" {border}{_dashes(dashes)}/>',
    ]
    for number, line in enumerate(box.lines):
        style = "" if number else f' font-size="{_HEAD}" font-weight="bold"'
        parts.append(f'<text x="{width / 2:.1f}" y="{18 + _LEADING * number}"{style}>{escape(_cut(line))}</text>')
    if box.inside:
        x, y = (width - box.size[0]) / 2, 11 + _LEADING * len(box.lines)
        parts.append(f'<g transform="translate({x:.1f} {y:.1f})">\n{box.inside}</g>')
    return "".join(parts) + "</g>"


def _step_box(graph: Picture, index: int) -> _DrawnBox:
    step = graph.steps[index]
    made = _few([f"{each} {each.type}" for each in step.outputs if each is not None])
    made += _few([f"writes {each} {each.type}" for each in step.written])
    tip = f"{graph.text(index)}  # {', '.join(graph.notes(index))}"
    return _DrawnBox(role_of(graph, index), (step.name, *made), tip)


def _input_box(value: Value) -> _DrawnBox:
    shared = () if value.place == value.index else (f"memory of %{value.place}",)
    return _DrawnBox("input", (str(value), value.type, *shared), "")


def _again_box(values: Sequence[Value]) -> _DrawnBox:
    """Return a box that names values from elsewhere, drawn where one step uses them."""
    if len(values) == 1:
        return _DrawnBox("again", (str(values[0]), values[0].type), "")
    return _DrawnBox("again", tuple(_few([f"{value} {value.type}" for value in values])), ", ".join(map(str, values)))


def _few(lines: list[str]) -> list[str]:
    return lines if len(lines) <= _MOST else [*lines[: _MOST - 1], f"and {len(lines) - _MOST + 1} more"]


def _legend(graph: Picture, roles: set[str]) -> tuple[str, float]:
    """Return a heading and the legend of the colours, and their width."""
    heading = graph.heading
    parts = [f'<text x="0" y="12" font-size="{_HEAD}" font-weight="bold" fill="#14263f">{heading}</text>\n']
    x = 0.0
    for role, (fill, stroke, ink, dashes, words) in ROLES.items():
        if role in roles:
            parts.append(
                f'<rect x="{x:.1f}" y="22" width="14" height="10" rx="3" fill="{fill}" stroke="{stroke}"{_dashes(dashes)}/>'
                f'<text x="{x + 20:.1f}" y="31" fill="{ink}">{words}</text>\n'
            )
            x += 20 + _width(words, _BODY) + 18
    return "".join(parts), max(x, _width(heading, _HEAD))


def _dashes(dashes: str) -> str:
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _width(line: str, size: int) -> float:
    """Return how wide a line is: letters of one width, those of East Asia two."""
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in _cut(line)) * size * _LETTER
