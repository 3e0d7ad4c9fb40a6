"""The report on one device: everything that was checked, as data."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

import dispatch_core as dc
from dispatch_core.errors import BackendError
from dispatch_core.tools import examine

from ..operators import ATEN, KIND_OF
from .agreement import TestedDevice, check_operator
from .marks import Mark, apply, check_use
from .outcomes import Outcome, count


@dataclass(frozen=True, slots=True)
class Report:
    """The outcomes for a device, and where it comes from."""

    device: str
    distribution: str
    version: str
    dtypes: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...]
    seconds: float

    @property
    def faults(self) -> list[Outcome]:
        """Return the outcomes that fail the run."""
        return [outcome for outcome in self.outcomes if outcome.is_fault]

    @property
    def costs(self) -> dict[str, list[str]]:
        """Return each operator without a kernel that was needed, and the operators that it costs."""
        found: dict[str, list[str]] = {}
        for outcome in self.outcomes:
            for name in outcome.missing:
                found.setdefault(name, []).append(outcome.check)
        return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))

    def by_kind(self) -> dict[str, list[Outcome]]:
        """Return the outcomes of operators by the operators' kind, and all others under ""."""
        found: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes:
            found.setdefault(KIND_OF.get(outcome.check.removeprefix("aten::"), ""), []).append(outcome)
        return dict(sorted(found.items()))

    def as_data(self) -> dict[str, Any]:
        """Return the report for JSON."""
        head = {"device": self.device, "distribution": self.distribution, "version": self.version}
        return {
            **head,
            "fine": not self.faults,
            "seconds": round(self.seconds, 2),
            "dtypes": list(self.dtypes),
            "counts": count(self.outcomes),
            "costs": self.costs,
            "notes": list(self.notes),
            "checks": [asdict(outcome) for outcome in self.outcomes],
        }


def verify(
    name: str,
    *,
    only: Sequence[str] = (),
    marks: Iterable[Mark] = (),
    limit: int | None = None,
    tell: Callable[[Outcome], None] = lambda outcome: None,
) -> Report:
    """Check a device against the cpu and against its shape rules, and return the report.

    ``only`` are patterns of checks' names, ``limit`` is a number of samples for each operator, ``tell`` hears each outcome.

    >>> verify("cpu", only=["aten::relu"], limit=2).faults
    []
    """
    began, marks = time.perf_counter(), tuple(marks)
    device = TestedDevice.find(name)
    state = dc.backends()[name]
    notes: list[str] = []
    outcomes: list[Outcome] = []
    for outcome in _checks(device, only, limit, notes):
        outcomes.append(apply(marks, outcome))
        tell(outcomes[-1])
    if not only:
        outcomes += [check_that_it_was_used(device, outcomes), *check_use(marks, outcomes)]
    return Report(
        name,
        state.distribution,
        state.version,
        tuple(sorted(device.dtypes)),
        tuple(outcomes),
        tuple(notes),
        time.perf_counter() - began,
    )


def _checks(device: TestedDevice, only: Sequence[str], limit: int | None, notes: list[str]) -> Iterator[Outcome]:
    def is_wanted(check: str) -> bool:
        return not only or any(fnmatchcase(check, pattern) for pattern in only)

    if is_wanted("static"):
        yield from check_statically(device.name, notes)
    for operator in ATEN:
        if is_wanted(f"aten::{operator.name}"):
            yield check_operator(device, operator.name, limit=limit)


def check_statically(name: str, notes: list[str]) -> Iterator[Outcome]:
    """Yield the doctor's findings on names, signatures and versions, and add its notes to ``notes``."""
    try:
        findings = examine(60.0, [name])
    except BackendError as error:
        yield Outcome("static", "not run", str(error))
        return
    for finding in findings:
        notes += finding.notes
        reason = "\n".join(filter(None, [finding.reason, finding.output]))
        yield Outcome("static", "passed" if finding.fine else "failed", reason)


def check_that_it_was_used(device: TestedDevice, outcomes: Iterable[Outcome]) -> Outcome:
    """Check that kernels of the device's own were compared, so that nothing passes because the cpu did the work."""
    own = [outcome for outcome in outcomes if outcome.kernel == "own" and outcome.samples]
    calls = sum(outcome.samples for outcome in own)
    if own:
        return Outcome("device was used", "passed", f"{len(own)} kernels of its own, in {calls:,} samples")
    return Outcome("device was used", "failed", f"no kernel of device {device.name!r} was called with success")
