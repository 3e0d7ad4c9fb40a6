"""The report on one device: everything that was checked, as data."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import dispatch_core as dc

from ..operators import KIND_OF
from .agreement import TestedDevice
from .checks import STATIC, check_statically, run_check, wanted_checks
from .claims import Claims, find_claims, find_versions
from .further import SEED
from .marks import Mark, apply, check_use
from .outcomes import Outcome, count
from .running import FaultGroup, RunSettings, WorkerPool, find_groups

Outcomes: TypeAlias = Generator[Outcome, None, None]


@dataclass(frozen=True, slots=True)
class Report:
    """The outcomes for a device, and where it comes from."""

    device: str
    distribution: str
    version: str
    claims: Claims
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...]
    seconds: float
    #: The check within which a run was stopped by Ctrl-C; "" for one that came to its end.
    stopped: str = ""
    #: The options that decide which calls were made: "seed", "share", "samples".
    run: dict[str, Any] = field(default_factory=dict)

    @property
    def faults(self) -> list[Outcome]:
        """Return the outcomes that fail the run."""
        return [outcome for outcome in self.outcomes if outcome.is_fault]

    @property
    def versions(self) -> dict[str, str]:
        """Return the versions that the report is about."""
        return find_versions(self.distribution)

    @property
    def kernels(self) -> dict[str, int]:
        """Return how many operators have a kernel of the device's own, are composed of others, and have neither."""
        found = [outcome for outcome in self.outcomes if outcome.check.startswith("aten::")]
        lacking = sum(outcome.status == "missing" for outcome in found)
        own = sum(outcome.kernel == "own" for outcome in found)
        return {"own": own, "composed": len(found) - own - lacking, "missing": lacking}

    @property
    def groups(self) -> list[FaultGroup]:
        """Return the faults by their causes."""
        return find_groups(self.faults)

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
            found.setdefault(
                KIND_OF.get(outcome.check.removeprefix("aten::").removeprefix("tensors: "), ""), []
            ).append(outcome)
        return dict(sorted(found.items()))

    def as_data(self) -> dict[str, Any]:
        """Return the report for JSON."""
        head = {"device": self.device, "distribution": self.distribution, "version": self.version}
        return {
            **head,
            "fine": not self.faults and not self.stopped,
            "stopped": self.stopped,
            "seconds": round(self.seconds, 2),
            "run": self.run,
            "versions": self.versions,
            "claims": {**asdict(self.claims), "kernels": self.kernels},
            "counts": count(self.outcomes),
            "costs": self.costs,
            "groups": [
                {"kernel": group.kernel, "check": group.main.check, "others": group.others} for group in self.groups
            ],
            "notes": list(self.notes),
            "checks": [outcome.as_data() for outcome in self.outcomes],
        }


def verify(
    name: str,
    *,
    only: Sequence[str] = (),
    marks: Iterable[Mark] = (),
    limit: int | None = None,
    tell: Callable[[Outcome], None] = lambda outcome: None,
    share: float = 1.0,
    seed: int = SEED,
    jobs: int = 0,
    timeout: float = 120.0,
    modules: Sequence[str] = (),
    first: Iterable[str] = (),
    done: Iterable[Outcome] = (),
) -> Report:
    """Check a device against the cpu and against its shape rules, and return the report.

    ``only`` are patterns of checks' names, ``limit`` is a number of samples for each operator, ``tell`` hears each outcome,
    and ``share`` is the part of the operators that the seed draws, which also draws the further samples. With ``jobs``
    that many processes run the checks, and import ``modules`` first: one that ends, or takes longer than ``timeout``
    seconds, costs the check that it was at. Checks named by ``first`` run before others, ``done`` are outcomes
    of an earlier run, whose checks do not run again. After Ctrl-C the report has the checks until then.
    Raises ``BackendError`` for a pattern that matches nothing, and for processes that cannot load the device.

    >>> verify("cpu", only=["aten::relu"], limit=2).faults
    []
    """
    began, marks, outcomes = time.perf_counter(), tuple(marks), list(done)
    known, early = {outcome.check for outcome in outcomes}, set(first)
    checks = wanted_checks(only, share=share, seed=seed)
    todo = [check for check in checks if check not in known]
    todo = sorted(todo, key=lambda check: check not in early)
    notes: list[str] = []
    stopped = ""
    settings = RunSettings(name, limit, seed, tuple(modules), timeout)
    claims, found = _run(settings, todo, jobs, notes)
    with closing(found):
        try:
            for outcome in found:
                outcomes.append(apply(marks, outcome))
                tell(outcomes[-1])
        except KeyboardInterrupt:
            ran = {outcome.check for outcome in outcomes}
            stopped = next((check for check in todo if check not in ran), "")
    if not only and not stopped:
        outcomes.append(check_that_it_was_used(name, outcomes))
        if share >= 1:
            outcomes += check_use(marks, outcomes)
    order = {check: place for place, check in enumerate(checks)}
    outcomes.sort(key=lambda outcome: order.get(outcome.check, len(order)))
    state = dc.backends()[name]
    run = {"seed": seed, "share": share, "samples": limit, "only": list(only)}
    seconds = time.perf_counter() - began
    return Report(name, state.distribution, state.version, claims, tuple(outcomes), tuple(notes), seconds, stopped, run)


def _run(settings: RunSettings, checks: Sequence[str], jobs: int, notes: list[str]) -> tuple[Claims, Outcomes]:
    """Return the device's claims, and the outcomes as they come."""
    if jobs:
        pool = WorkerPool(settings, jobs)
        return pool.claims, _run_in_processes(pool, settings, checks, notes)
    device = TestedDevice.find(settings.device)
    return find_claims(device.name, device.dtypes), _run_here(device, settings, checks, notes)


def _run_here(device: TestedDevice, settings: RunSettings, checks: Sequence[str], notes: list[str]) -> Outcomes:
    for check in checks:
        if check == STATIC:
            yield from check_statically(device.name, notes)
        else:
            yield run_check(device, check, limit=settings.limit, seed=settings.seed)


def _run_in_processes(pool: WorkerPool, settings: RunSettings, checks: Sequence[str], notes: list[str]) -> Outcomes:
    with closing(pool):
        if STATIC in checks:  # it has processes of its own
            yield from check_statically(settings.device, notes)
        yield from pool.run([check for check in checks if check != STATIC])


def check_that_it_was_used(name: str, outcomes: Iterable[Outcome]) -> Outcome:
    """Check that kernels of the device's own were compared, so that nothing passes because the cpu did the work."""
    calls = sum(outcome.calls for outcome in outcomes)
    if calls:
        return Outcome("device was used", "passed", f"{calls:,} calls of its own kernels, in the first samples alone")
    return Outcome("device was used", "failed", f"no kernel of device {name!r} was called in a check that passed")
