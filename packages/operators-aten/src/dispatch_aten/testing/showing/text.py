"""A report as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from ..outcomes import STATUSES, count
from ..report import Report

_WIDTH = 120
#: How many operators a missing kernel's cost names.
_NAMED = 6


def as_text(report: Report) -> str:
    """Return the faults, the costs of missing kernels, checks that were not run, and a table by kind of operator."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    origin = f" of {report.distribution} {report.version}" if report.distribution else ""
    result = "faults found" if report.faults else "no fault until then" if report.stopped else "fine"
    yield f"device {report.device!r}{origin}: {result}, {report.seconds:.1f} s"
    if report.stopped:
        yield f"incomplete: stopped in {report.stopped}, {len(report.outcomes):,} checks ran"
    yield from _wrap(f"with {', '.join(f'{name} {number}' for name, number in report.versions.items())}")
    if report.run.get("share", 1) < 1:
        yield f"a part of the operators: --draw {report.run['share']:g} --seed {report.run['seed']}"
    yield from _wrap(f"dtypes: {', '.join(report.claims.dtypes)}")
    if report.claims.parts:
        yield from _wrap(f"interface: {', '.join(report.claims.parts)}; without {', '.join(report.claims.lacks)}")
    for group in report.groups:
        outcome = group.main
        yield from _wrap(
            f"{outcome.status}  {outcome.check}{f' ({outcome.kernel})' * bool(outcome.kernel)}  {outcome.reason}"
        )
        if outcome.place:
            yield f"    at {outcome.place}"
        if group.others:
            count_of = f"{len(group.others):,} more that run {group.kernel}"
            yield from _wrap(f"    with {count_of}: {', '.join(group.others)}")
    yield ""
    yield from _table(report)
    if report.costs:
        yield "\nmissing kernels, and the operators that each costs"
        for name, checks in report.costs.items():
            others = [check.removeprefix("aten::") for check in checks if check != name]
            shown = ", ".join(others[:_NAMED]) + f" and {len(others) - _NAMED} more" * (len(others) > _NAMED)
            yield from _wrap(f"{name:<34} {len(checks):>4}  {shown}".rstrip())
    unrun = [outcome for outcome in report.outcomes if outcome.status == "not run"]
    if unrun:
        yield "\nnot run"
        reasons: dict[str, list[str]] = {}
        for outcome in unrun:
            reasons.setdefault(outcome.reason, []).append(outcome.check)
        for reason, checks in reasons.items():
            yield from _wrap(f"{reason}: {', '.join(checks)}")
    for note in report.notes:
        yield from _wrap(f"note: {note}")


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent="    ", break_on_hyphens=False) or [""]


def _table(report: Report) -> Iterator[str]:
    head = [*STATUSES, "own", "composed", "samples"]
    rows = []
    for kind, outcomes in [*report.by_kind().items(), ("all", list(report.outcomes))]:
        found = count(outcomes)
        own = sum(outcome.kernel == "own" for outcome in outcomes)
        composed = sum(outcome.kernel == "composed" for outcome in outcomes)
        numbers = [*(found.get(status, 0) for status in STATUSES), own, composed]
        rows.append([kind or "(the kit's parts)", *numbers, sum(outcome.samples for outcome in outcomes)])
    widths = [max(len(name), 7) for name in head]
    yield f"{'':<18}" + "".join(f"  {name:>{width}}" for name, width in zip(head, widths, strict=True))
    for name, *values in rows:
        cells = [f"{value:,}" if value else "." for value in values]
        yield f"{name:<18}" + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
