"""Tables and charts of the figures that ``benchmarks/collect.py`` has kept: times as multiples of torch's, which is 1."""

from __future__ import annotations

import html
import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["calls", "groups", "method", "rows", "steps"]

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results.json"
SIZES = ("1", "1,000", "1,000,000")
#: Widths of a chart in its own units: the names, the bars, and the height of a bar.
NAMES, BARS, HEIGHT = 300, 400, 20


@cache
def results() -> dict[str, dict[str, Any]]:
    """Return what is kept of each benchmark."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def method() -> str:
    """Return the lines that say which versions were measured, and when."""
    lines = []
    for name, kept in results().items():
        versions = ", ".join(f"{each} {version}" for each, version in kept["versions"].items())
        command = f"python benchmarks/bench_{name}.py {kept['options']}".strip()
        lines.append(f"| `{command}` | {kept['day']} | {versions} |")
    return "\n".join(["| benchmark | day | versions |", "| --- | --- | --- |", *lines])


def calls() -> str:
    """Return the chart and the table of single calls."""
    found = {row["name"]: row["ratio"] for row in results()["calls"]["rows"]}
    title = "Time of single calls as a multiple of torch’s"
    return f"{chart(title, found)}\n\n{_table(('call', 'times torch’s'), found.items())}"


def steps() -> str:
    """Return the chart and the table of training steps."""
    found = {row["name"]: row["ratio"] for row in results()["steps"]["rows"]}
    title = "Time of a training step as a multiple of torch’s"
    return f"{chart(title, found)}\n\n{_table(('training step', 'times torch’s'), found.items())}"


def groups() -> str:
    """Return the chart and the table of the geometric means of groups of calls, for each size."""
    by_group: dict[str, dict[str, list[float]]] = {}
    for row in results()["breadth"]["rows"]:
        _, size = _split(row["name"])
        by_group.setdefault(row["group"], {}).setdefault(size, []).append(row["ratio"])
    means = {
        group: {size: statistics.geometric_mean(found) for size, found in sizes.items()}
        for group, sizes in by_group.items()
    }
    small = {group: sizes["1,000"] for group, sizes in means.items() if "1,000" in sizes}
    lines = [(group, *(_shown(sizes.get(size)) for size in SIZES)) for group, sizes in means.items()]
    titles = ("group of calls", *(f"{size} element{'s' * (size != '1')}" for size in SIZES))
    return f"{chart('Calls with 1,000 elements, geometric mean of each group', small)}\n\n{_table(titles, lines)}"


def rows() -> str:
    """Return the tables of every call, by group, in blocks that open."""
    parts = []
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row in results()["breadth"]["rows"]:
        call, size = _split(row["name"])
        found.setdefault(row["group"], {}).setdefault(call, {})[size] = row["ratio"]
    for group, each in found.items():
        lines = [(f"`{call}`", *(_shown(sizes.get(size)) for size in SIZES)) for call, sizes in each.items()]
        text = _table(("call", *SIZES), lines).replace("\n", "\n    ")
        parts.append(f'??? note "{group}: {len(each)} calls"\n\n    {text}')
    return "\n\n".join(parts)


def chart(title: str, ratios: Mapping[str, float]) -> str:
    """Return bars on a logarithmic axis, as SVG in the page's own colours; the line is torch's time."""
    least = math.floor(math.log2(min(0.5, *ratios.values())))
    most = math.ceil(math.log2(max(2, *ratios.values())))
    one = _place(1, least, most)
    height = HEIGHT * len(ratios) + 24
    parts = [
        f'<svg class="chart" viewBox="0 0 {NAMES + BARS + 50} {height}" role="img" aria-label="{html.escape(title)}">',
    ]
    for power in range(least, most + 1):
        x = _place(2.0**power, least, most)
        label = f"{2**power}" if power >= 0 else f"1/{2**-power}"
        parts.append(f'<line class="{"one" if power == 0 else "grid"}" x1="{x}" x2="{x}" y1="0" y2="{height - 18}"/>')
        parts.append(f'<text x="{x}" y="{height - 4}" text-anchor="middle">{label}</text>')
    for number, (name, ratio) in enumerate(ratios.items()):
        y, x = number * HEIGHT, _place(ratio, least, most)
        kind, (left, right) = ("faster" if ratio <= 1 else "slower"), sorted((one, x))
        width, middle = max(1.5, right - left), y + HEIGHT / 2 + 4
        parts.append(f'<text x="{NAMES - 8}" y="{middle}" text-anchor="end">{html.escape(name)}</text>')
        parts.append(f'<rect class="{kind}" x="{left}" y="{y + 4}" width="{width:.1f}" height="{HEIGHT - 8}" rx="2"/>')
        end = ("end", left - 5) if ratio <= 1 else ("start", right + 5)
        parts.append(f'<text class="value" x="{end[1]:.1f}" y="{middle}" text-anchor="{end[0]}">{_shown(ratio)}</text>')
    return "\n".join([*parts, "</svg>"])


def _place(ratio: float, least: int, most: int) -> float:
    """Return where a ratio stands on the axis."""
    return round(NAMES + 34 + (BARS - 34) * (math.log2(ratio) - least) / (most - least), 1)


def _split(name: str) -> tuple[str, str]:
    """Return a row's call and its number of elements."""
    call, _, size = name.rpartition(" ")
    return call, size


def _shown(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def _table(titles: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    shown = [
        [_shown(cell) if isinstance(cell, float) else str(cell).replace("|", "\\|") for cell in line] for line in lines
    ]
    ruler = ["---", *["--:"] * (len(titles) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [titles, ruler, *shown])
