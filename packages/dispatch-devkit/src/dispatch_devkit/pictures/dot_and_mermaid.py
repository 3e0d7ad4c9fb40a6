"""A graph in the languages of other programs that draw: Graphviz's DOT, and Mermaid."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from .svg import ROLES, role_of

if TYPE_CHECKING:
    from dispatch_core.inspection import Edge, Picture

_DASHED: Final = {"view": "#7a5ba8", "write": "#c2621b"}


def to_dot(graph: Picture) -> str:
    """Write a program in Graphviz's language."""

    def node(name: str, lines: list[str], role: str) -> str:
        fill, stroke, ink, dashes, _ = ROLES[role]
        shape = "oval" if role == "input" else "box"
        style = '"filled,dashed"' if dashes else '"filled,rounded"' if shape == "box" else "filled"
        label = "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
        return (
            f'{name} [label="{label}", shape={shape}, style={style}, fillcolor="{fill}", color="{stroke}",'
            f' fontcolor="{ink}"{", penwidth=2" if role == "output" else ""}]'
        )

    def arrow(edge: Edge, source: str, target: str) -> str:
        colour = _DASHED.get(edge.kind)
        drawn = f' [style=dashed, color="{colour}"]' if colour else ""
        return f"{source} -> {target}{drawn}"

    lines = [f"digraph {graph.title} {{", '    node [fontname="monospace", fontsize=11]', '    edge [color="#5b6b82"]']
    lines += _body(graph, node, arrow, lambda number: [f"subgraph cluster_{number} {{", '    label="fused"'], "}")
    return "\n".join([*lines, "}"]) + "\n"


def to_mermaid(graph: Picture) -> str:
    """Write a program as a Mermaid flow chart."""

    def node(name: str, lines: list[str], role: str) -> str:
        # Whatever could mean something to Mermaid or to HTML is written as a character's number.
        label = "<br>".join(re.sub(r"[^\w %:.,()\[\]]", lambda found: f"#{ord(found[0])};", line) for line in lines)
        left, right = ('(["', '"])') if role == "input" else ('["', '"]')
        return f"{name}{left}{label}{right}:::{role}"

    def arrow(edge: Edge, source: str, target: str) -> str:
        return f"{source} {'-.->' if edge.kind in _DASHED else '-->'} {target}"

    lines = ["flowchart TD"]
    lines += _body(graph, node, arrow, lambda number: [f"subgraph g{number} [fused]"], "end")
    for role, (fill, stroke, ink, dashes, _) in ROLES.items():
        dashed = f",stroke-dasharray:{dashes}" if dashes else ""
        lines.append(f"    classDef {role} fill:{fill},stroke:{stroke},color:{ink}{dashed}")
    return "\n".join(lines) + "\n"


def _body(
    graph: Picture,
    node: Callable[[str, list[str], str], str],
    arrow: Callable[[Edge, str, str], str],
    opened: Callable[[int], list[str]],
    closed: str,
) -> Iterator[str]:
    """Yield the lines for inputs, steps with their groups, and edges."""
    for value in graph.inputs:
        yield f"    {node(f'i{value.index}', [str(value), value.type], 'input')}"
    for number, members in enumerate(graph.groups):
        yield from (f"    {line}" for line in opened(number))
        for index in members:
            yield f"        {node(f's{index}', _lines(graph, index), role_of(graph, index))}"
        yield f"    {closed}"
    for index in range(len(graph.steps)):
        if index not in graph.group_of:
            yield f"    {node(f's{index}', _lines(graph, index), role_of(graph, index))}"
    for edge in graph.edges():
        source = f"i{edge.value}" if edge.source is None else f"s{edge.source}"
        yield f"    {arrow(edge, source, f's{edge.target}')}"


def _lines(graph: Picture, index: int) -> list[str]:
    step = graph.steps[index]
    made = [f"{each} {each.type}" for each in step.outputs if each is not None]
    return [step.name, *made, *(f"writes {each}" for each in step.written)]
