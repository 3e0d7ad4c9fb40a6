"""Parts of written pages that are made when the site is built: a line ``<!-- made: NAME -->`` stands where one goes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import benchmark_pages
import coverage_pages

ROOT = Path(__file__).parents[2]
_MARK = re.compile(r"^<!-- made: (?P<name>[\w-]+) -->$", re.MULTILINE)


def fill(markdown: str) -> str:
    """Return a page's text with the parts that its marks name. Raises KeyError for a name that there is not."""
    return _MARK.sub(lambda found: PARTS[found["name"]](), markdown)


def table(titles: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a Markdown table."""
    lines = [[*titles]]
    lines += [["---"] * len(lines[0])]
    lines += [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def entry_points() -> str:
    """Return the table of the entry points of this project's distributions."""
    rows = []
    for path in sorted(ROOT.glob("packages/*/pyproject.toml")):
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        for group, entries in project.get("entry-points", {}).items():
            rows += [(f"`{group}`", f"`{name}`", f"`{value}`", project["name"]) for name, value in entries.items()]
    return table(("group", "name", "value", "distribution"), sorted(rows))


def picture_of_a_call() -> str:
    """Return the picture of a call as a part of the page, so that it has the page's colours; the narrow one beside it."""
    parts = []
    for name, classes in {"call": "picture wide", "call_narrow": "picture narrow"}.items():
        drawing = (ROOT / "docs" / "assets" / f"{name}.svg").read_text(encoding="utf-8")
        joined = "".join(line.strip() for line in drawing.splitlines())
        parts.append(f'<div class="{classes}" data-search-exclude>{joined}</div>')
    return "\n\n".join(parts)


PARTS: dict[str, Callable[[], str]] = {
    "benchmark-calls": benchmark_pages.calls,
    "benchmark-groups": benchmark_pages.groups,
    "benchmark-rows": benchmark_pages.rows,
    "benchmark-steps": benchmark_pages.steps,
    "coverage-devices": coverage_pages.devices,
    "coverage-names": coverage_pages.names,
    "coverage-reasons": coverage_pages.reasons,
    "coverage-summary": coverage_pages.summary,
    "entry-points": entry_points,
    "picture-call": picture_of_a_call,
}
