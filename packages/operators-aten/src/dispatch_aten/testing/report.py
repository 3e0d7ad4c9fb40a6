"""The report on one device: everything that was checked, as data."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.errors import BackendError
from dispatch_core.frontends import array_types
from dispatch_core.tools import examine

from ..errors import AtenError
from ..operators import ATEN, ATEN_BY_NAME, KIND_OF
from .agreement import TestedDevice, check_operator, lacks_library
from .behaviour import BEHAVIOUR, check_behaviour
from .frontends import find_adapter
from .host_copies import CHECK as HOST_COPIES
from .host_copies import check_host_copies
from .interface import PARTS, check_part
from .marks import Mark, apply, check_use
from .outcomes import Outcome, count
from .tensor_calls import check_tensor_calls

#: The checks that need neither samples nor a frontend.
_FIRST: Final = ("static", "array types", HOST_COPIES)
#: Why the parts that need tensors are not run.
NO_FRONTEND: Final = "no frontend is installed (pip install dispatch-frontend-torchlike)"


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
    #: The check within which a run was stopped by Ctrl-C; "" for one that came to its end.
    stopped: str = ""

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
            "dtypes": list(self.dtypes),
            "counts": count(self.outcomes),
            "costs": self.costs,
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
) -> Report:
    """Check a device against the cpu and against its shape rules, and return the report.

    ``only`` are patterns of checks' names, ``limit`` is a number of samples for each operator, ``tell`` hears each outcome.
    After Ctrl-C the report has the checks until then. Raises ``BackendError`` for a pattern that matches nothing.

    >>> verify("cpu", only=["aten::relu"], limit=2).faults
    []
    """
    began, marks = time.perf_counter(), tuple(marks)
    checks = wanted_checks(only)
    device = TestedDevice.find(name)
    state = dc.backends()[name]
    notes: list[str] = []
    outcomes: list[Outcome] = []
    stopped = ""
    for check in checks:
        try:
            for outcome in _outcomes_of(device, check, limit, notes):
                outcomes.append(apply(marks, outcome))
                tell(outcomes[-1])
        except KeyboardInterrupt:
            stopped = check
            break
    if not only and not stopped:
        outcomes += [check_that_it_was_used(device.name, outcomes), *check_use(marks, outcomes)]
    return Report(
        name,
        state.distribution,
        state.version,
        tuple(sorted(device.dtypes)),
        tuple(outcomes),
        tuple(notes),
        time.perf_counter() - began,
        stopped,
    )


def wanted_checks(only: Sequence[str] = ()) -> list[str]:
    """Return the names of all checks, or of those that the patterns ``only`` match.

    Raises ``BackendError``, with near names, for a pattern that matches none.

    >>> wanted_checks(["aten::relu*", "fork"])
    ['aten::relu', 'aten::relu_', 'aten::relu6', 'aten::relu6_', 'fork']
    """
    names = [*_FIRST, *list_checks()]
    for pattern in only:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise BackendError(
                f"--only {pattern!r} matches none of the {len(names):,} checks", hint=_near(pattern, names)
            )
    return [name for name in names if not only or any(fnmatchcase(name, pattern) for pattern in only)]


def _near(pattern: str, names: Sequence[str]) -> str:
    bare = pattern.strip("*?")
    near = [name for name in names if fnmatchcase(name, f"aten::{pattern}")]
    near = (near or get_close_matches(bare, names, 3, 0.7) or get_close_matches(f"aten::{bare}", names, 3, 0.7))[:3]
    told = f"near are {', '.join(map(repr, near))}; " if near else ""
    return f"{told}names are like 'aten::add.Tensor', 'tensors: add.Tensor' and {list(BEHAVIOUR)[-1]!r}"


def _outcomes_of(device: TestedDevice, check: str, limit: int | None, notes: list[str]) -> Iterator[Outcome]:
    if check == "static":
        yield from check_statically(device.name, notes)
    elif check == "array types":
        yield check_array_types(device)
    elif check == HOST_COPIES:
        yield check_host_copies(device)
    else:
        yield run_check(device, check, limit=limit)


def list_checks() -> list[str]:
    """Return the names of the checks of operators, of operators with tensors, and of programs.

    >>> [name for name in list_checks() if name.endswith(" relu") or name == "aten::relu"]
    ['aten::relu', 'tensors: relu']
    """
    names = [operator.name for operator in ATEN]
    return [*(f"aten::{name}" for name in names), *PARTS, *(f"tensors: {name}" for name in names), *BEHAVIOUR]


def run_check(device: TestedDevice, check: str, *, limit: int | None = None) -> Outcome:
    """Run one of the checks by its name; ``limit`` is a number of samples.

    >>> run_check(TestedDevice.find("cpu"), "tensors: relu").status
    'passed'
    """
    try:
        return _run_check(device, check, limit)
    except AtenError as error:
        if not lacks_library(error):
            raise
        return Outcome(check, "not run", f"the cpu says: {str(error).splitlines()[0]}")


def _run_check(device: TestedDevice, check: str, limit: int | None) -> Outcome:
    if check.startswith("aten::"):
        return check_operator(device, check.removeprefix("aten::"), limit=limit)
    if not device.has_values:
        return Outcome(check, "not run", "the device has no values")
    if check in PARTS:
        return check_part(device, check)
    adapter = find_adapter()
    if adapter is None:
        return Outcome(check, "not run", NO_FRONTEND)
    if check in BEHAVIOUR:
        return check_behaviour(device, adapter, check)
    name = check.removeprefix("tensors: ")
    if device.is_mutable and "out" in ATEN_BY_NAME[name].tags:
        return Outcome(check, "not run", "arrays that can be written to have been written to")
    return check_tensor_calls(device, adapter, name)


def check_array_types(device: TestedDevice) -> Outcome:
    """Check the descriptions of a device's arrays alone."""
    for found in array_types(device.key.value):
        if found.mutable and found.strides is not None and found.storage is None:
            text = f"ArrayType({found.type.__qualname__}) has strides, can be written to and has no `storage`"
            return Outcome("array types", "failed", f"{text}: a pipeline cannot see that views share memory")
    return Outcome("array types", "passed")


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


def check_that_it_was_used(name: str, outcomes: Iterable[Outcome]) -> Outcome:
    """Check that kernels of the device's own were compared, so that nothing passes because the cpu did the work."""
    calls = sum(outcome.calls for outcome in outcomes)
    if calls:
        return Outcome("device was used", "passed", f"{calls:,} calls of its own kernels, in the first samples alone")
    return Outcome("device was used", "failed", f"no kernel of device {name!r} was called in a check that passed")
