"""Tables and charts of the figures that ``benchmarks/collect.py`` has kept: times as multiples of torch's, which is 1.

Rows that were measured with the compiled packages, too, show both: ``0.77 / 0.26``.

The charts are made when the site is built; the tables stand in the pages, where GitHub shows them (``tools/figures.py``).
"""

from __future__ import annotations

import html
import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["TABLES", "calls", "groups", "results", "rows", "shown", "steps"]

#: The ratio without the compiled packages, and with them where that was measured.
Ratios = tuple[float, ...]

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results.json"
SIZES = ("1", "1,000", "1,000,000")
#: Widths of a chart in its own units: the names, the bars, and the height of a bar.
NAMES, BARS, HEIGHT = 300, 400, 20


@cache
def results() -> dict[str, dict[str, Any]]:
    """Return what is kept of each benchmark."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def method() -> str:
    """Return the table that says which versions were measured, when, and on what kind of machine."""
    lines = []
    for name, kept in results().items():
        versions = ", ".join(f"{each} {version}" for each, version in kept["versions"].items())
        command = f"python benchmarks/bench_{name}.py {kept['options']}".strip()
        lines.append(f"| `{command}` | {kept['day']} | {kept['machine']} | {versions} |")
    return "\n".join(["| benchmark | day | machine | versions |", "| --- | --- | --- | --- |", *lines])


def calls() -> str:
    """Return the chart of single calls."""
    return chart("Time of single calls as a multiple of torch’s", _ratios("calls"))


def steps() -> str:
    """Return the chart of training steps."""
    return chart("Time of a training step as a multiple of torch’s", _ratios("steps"))


def groups() -> str:
    """Return the chart of the geometric means of groups of calls, with 1,000 elements."""
    small = {group: sizes["1,000"] for group, sizes in _means().items() if "1,000" in sizes}
    return chart("Calls with 1,000 elements, geometric mean of each group", small)


def rows() -> str:
    """Return the tables of every call, by group, in blocks that open."""
    parts = []
    found: dict[str, dict[str, dict[str, Ratios]]] = {}
    for row in results()["breadth"]["rows"]:
        call, size = _split(row["name"])
        found.setdefault(row["group"], {}).setdefault(call, {})[size] = _ratio(row)
    for group, each in found.items():
        lines = [(f"`{call}`", *map(sizes.get, SIZES)) for call, sizes in each.items()]
        text = _table(("call", *SIZES), lines).replace("\n", "\n    ")
        parts.append(f'??? note "{group}: {len(each)} calls"\n\n    {text}')
    return "\n\n".join(parts)


def _ratio(row: Mapping[str, Any]) -> Ratios:
    return (row["ratio"], row["compiled"]) if "compiled" in row else (row["ratio"],)


def _ratios(benchmark: str) -> dict[str, Ratios]:
    return {row["name"]: _ratio(row) for row in results()[benchmark]["rows"]}


def _means() -> dict[str, dict[str, Ratios]]:
    """Return the geometric mean of each group of calls for each size."""
    by_group: dict[str, dict[str, list[Ratios]]] = {}
    for row in results()["breadth"]["rows"]:
        _, size = _split(row["name"])
        by_group.setdefault(row["group"], {}).setdefault(size, []).append(_ratio(row))
    return {
        group: {size: tuple(map(statistics.geometric_mean, zip(*found, strict=True))) for size, found in sizes.items()}
        for group, sizes in by_group.items()
    }


def _table_of_calls() -> str:
    return _table(("call", "times torch’s"), _ratios("calls").items())


def _table_of_groups() -> str:
    titles = ("group of calls", *(f"{size} element{'s' * (size != '1')}" for size in SIZES))
    return _table(titles, [(group, *map(sizes.get, SIZES)) for group, sizes in _means().items()])


def _table_of_steps() -> str:
    """Return a line for each program, with a column for each way to run its step."""
    by_program: dict[str, dict[str, Ratios]] = {}
    for name, ratio in _ratios("steps").items():
        program, _, way = name.rpartition(", ")
        by_program.setdefault(program, {})[way] = ratio
    ways = ("eager", "in a pipeline", "captured")
    return _table(("training step", *ways), [(name, *map(found.get, ways)) for name, found in by_program.items()])


def _table_of_chains() -> str:
    """Return a line for each size of the chain of ten operators, in a pipeline and captured, with NumPy alone and Numba."""
    found = _ratios("pipeline")
    ways = [(beginning, form) for beginning in ("", "captured ") for form in ("NumPy", "Numba")]
    titles = [f"{'captured' if beginning else 'in a pipeline'}, {form}" for beginning, form in ways]
    sizes = ("1", "1,000", "100,000", "10,000,000")
    lines = [
        (size, *(found.get(f"{beginning}chain of ten, {size} elements, {form} / torch") for beginning, form in ways))
        for size in sizes
    ]
    note = "At 10,000,000 elements most of torch's time is the system's, which finds new memory for each result."
    return f"{_table(('elements', *titles), lines)}\n\n{note}"


def _table_of_dispatch() -> str:
    """Return a line for each call of a packet, with a column for each dispatcher beside it, its only overload the last."""
    by_call: dict[str, dict[str, Ratios]] = {}
    for name, ratio in _ratios("dispatch").items():
        call, _, pair = name.partition(": packet / ")
        if pair:
            by_call.setdefault(call, {})[pair] = ratio
    others = ("singledispatch", "plum", "multipledispatch", "overload")
    return _table(("call", *others), [(call, *map(found.get, others)) for call, found in by_call.items()])


def chart(title: str, ratios: Mapping[str, Ratios]) -> str:
    """Return bars on a logarithmic axis, as SVG in the page's own colours; the line is torch's time.

    The second bar of a row, a thinner one, is that with the compiled packages.
    """
    every = [ratio for each in ratios.values() for ratio in each]
    least, most = math.floor(math.log2(min(0.5, *every))), math.ceil(math.log2(max(2, *every)))
    one = _place(1, least, most)
    height = sum(len(each) for each in ratios.values()) * HEIGHT + 24
    parts = [
        f'<svg class="chart" viewBox="0 0 {NAMES + BARS + 50} {height}" role="img" aria-label="{html.escape(title)}">',
    ]
    for power in range(least, most + 1):
        x = _place(2.0**power, least, most)
        label = f"{2**power}" if power >= 0 else f"1/{2**-power}"
        parts.append(f'<line class="{"one" if power == 0 else "grid"}" x1="{x}" x2="{x}" y1="0" y2="{height - 18}"/>')
        parts.append(f'<text x="{x}" y="{height - 4}" text-anchor="middle">{label}</text>')
    lines = [(name, place, ratio) for name, each in ratios.items() for place, ratio in enumerate(each)]
    for number, (name, place, ratio) in enumerate(lines):
        y, x = number * HEIGHT - 4 * place, _place(ratio, least, most)
        kind, (left, right) = ("faster" if ratio <= 1 else "slower"), sorted((one, x))
        width, middle = max(1.5, right - left), y + HEIGHT / 2 + 4
        label, edge = ("compiled", 6) if place else (name, 4)
        parts.append(f'<text x="{NAMES - 8}" y="{middle}" text-anchor="end">{html.escape(label)}</text>')
        bar = f'x="{left}" y="{y + edge}" width="{width:.1f}" height="{HEIGHT - 2 * edge}" rx="2"'
        parts.append(f'<rect class="{kind}" {bar}/>')
        end = ("end", left - 5) if ratio <= 1 else ("start", right + 5)
        parts.append(
            f'<text class="value" x="{end[1]:.1f}" y="{middle}" text-anchor="{end[0]}">{shown((ratio,))}</text>'
        )
    return "\n".join([*parts, "</svg>"])


def _place(ratio: float, least: int, most: int) -> float:
    """Return where a ratio stands on the axis."""
    return round(NAMES + 34 + (BARS - 34) * (math.log2(ratio) - least) / (most - least), 1)


def _split(name: str) -> tuple[str, str]:
    """Return a row's call and its number of elements."""
    call, _, size = name.rpartition(" ")
    return call, size


def shown(ratios: Ratios | None) -> str:
    """Return ratios with two decimal places; those of ten and more without."""
    return " / ".join(f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}" for ratio in ratios or ())


def _table(titles: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table; a cell that is None is empty."""
    cells = [[_cell(cell) for cell in line] for line in lines]
    ruler = ["---", *["--:"] * (len(titles) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [titles, ruler, *cells])


def _cell(value: Any) -> str:
    return shown(value) if value is None or isinstance(value, tuple) else str(value).replace("|", "\\|")


#: The tables that pages name in ``<!-- table: NAME -->``.
TABLES: dict[str, Callable[[], str]] = {
    "calls": _table_of_calls,
    "chains": _table_of_chains,
    "dispatch": _table_of_dispatch,
    "groups": _table_of_groups,
    "method": method,
    "steps": _table_of_steps,
}
