"""A report as a page of HTML, which needs no other file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from ..outcomes import STATUSES, Outcome, count
from ..report import Report

_STYLE: Final = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #222; }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .2em .7em; border-bottom: 1px solid #ddd; }
td { overflow-wrap: anywhere; white-space: pre-line }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.failed, .unexpected { background: #fbd5d5 } .passed { background: #dff3df } .expected { background: #fdf2c4 }
.missing { background: #e8e8ef } .not-run { background: #f4f4f4; color: #555 }
summary { cursor: pointer; padding: .3em 0; font-weight: 600 }
"""


def as_html(report: Report) -> str:
    """Return a page with the counts by kind, the costs of missing kernels, and every check."""
    origin = f" of {report.distribution} {report.version}" if report.distribution else ""
    title = escape(f"Device {report.device}{origin}")
    kinds = report.by_kind()
    parts = [
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>",
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1>",
        f"<p><b>Incomplete: stopped in {escape(report.stopped)}.</b></p>" * bool(report.stopped),
        f"<p>{'Faults were found.' if report.faults else 'No faults.'} {len(report.outcomes):,} checks",
        f"in {report.seconds:.1f} s.</p>",
        "<h2>What is claimed</h2>",
        _table(["", ""], [_row([name, text]) for name, text in _claims(report)]),
        "<h2>What holds</h2>",
        _table(
            ["status", "checks", "meaning"],
            [_status_row(name, found) for name, found in count(report.outcomes).items()],
        ),
    ]
    if report.faults:
        parts.append("<h2>Faults</h2>")
        for group in report.groups:
            parts.append(_outcomes([group.main]))
            if group.others:
                head = f"{len(group.others):,} more that run {escape(group.kernel)}"
                others = [fault for fault in group.faults if fault is not group.main]
                parts.append(f"<details><summary>{head}</summary>{_outcomes(others)}</details>")
    parts += ["<h2>Kinds of operators</h2>", _kinds_table(kinds)]
    if report.costs:
        rows = [_row([name, str(len(checks)), ", ".join(checks)], numbers={1}) for name, checks in report.costs.items()]
        parts += ["<h2>Missing kernels, and what each costs</h2>", _table(["kernel", "operators", "which"], rows)]
    parts.append("<h2>Every check</h2>")
    for kind, outcomes in kinds.items():
        parts.append(f"<details><summary>{escape(kind or 'the kit’s parts')} ({len(outcomes)})</summary>")
        parts += [_outcomes(outcomes), "</details>"]
    parts += [f"<p>{escape(note)}</p>" for note in report.notes]
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _claims(report: Report) -> Iterator[tuple[str, str]]:
    yield "versions", ", ".join(f"{name} {number}" for name, number in report.versions.items())
    yield "run", ", ".join(f"{name} {value}" for name, value in report.run.items() if value not in (None, []))
    yield "dtypes", ", ".join(report.claims.dtypes)
    yield "operators", ", ".join(f"{number:,} {name}" for name, number in report.kernels.items())
    yield "interface", ", ".join(report.claims.parts) or "none"
    yield "not claimed", ", ".join(report.claims.lacks)


def _status_row(status: str, number: int) -> str:
    return _row([status, f"{number:,}", STATUSES[status]], status, {1})


def _outcomes(outcomes: Iterable[Outcome]) -> str:
    rows = [
        _row(
            [
                each.check,
                each.status,
                each.kernel,
                str(each.samples or ""),
                "\nat ".join(filter(None, [each.reason, each.place])),
            ],
            each.status,
            {3},
        )
        for each in outcomes
    ]
    return _table(["check", "status", "kernel", "samples", "reason"], rows)


def _kinds_table(kinds: dict[str, list[Outcome]]) -> str:
    rows = []
    for kind, outcomes in kinds.items():
        found = count(outcomes)
        cells = [kind or "the kit’s parts", *(str(found.get(status) or "") for status in STATUSES)]
        rows.append(_row(cells, numbers=set(range(1, len(cells)))))
    return _table(["kind", *STATUSES], rows)


def _row(cells: list[str], status: str = "", numbers: set[int] | None = None) -> str:
    shown = [
        f"<td class='n'>{escape(cell)}</td>" if numbers and index in numbers else f"<td>{escape(cell)}</td>"
        for index, cell in enumerate(cells)
    ]
    return f"<tr class='{status.replace(' ', '-')}'>{''.join(shown)}</tr>"


def _table(head: list[str], rows: Iterable[str]) -> str:
    names = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
