"""A run of all checks: the environment here, the rest in a process that is replaced where a check ends it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dispatch_aten.testing.outcomes import Outcome
from dispatch_aten.testing.running import RunSettings, WorkerPool
from dispatch_core import BackendError

from . import cells, child, draws, functions, memory, steps, streams
from .environment import check_driver, check_environment, find_environment
from .watch import last_function

PARTS: Final = ("environment", "functions", "device", "memory", "streams", "random", "operators", "steps")
"""The parts of a run, in their order."""

#: After so many processes that ended or hung, in a row or in all, the rest is not run: the chip needs help first.
_MOST_IN_A_ROW: Final = 6
_MOST_LOST: Final = 60
_SEED: Final = 4


@dataclass(slots=True)
class CheckRun:
    """The facts and outcomes of a run."""

    options: dict[str, Any]
    environment: dict[str, Any] = field(default_factory=dict)
    device: dict[str, Any] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    seconds: float = 0.0
    is_stopped: bool = False

    @property
    def faults(self) -> list[Outcome]:
        """The outcomes that failed."""
        return [outcome for outcome in self.outcomes if outcome.is_fault]

    def of_part(self, part: str) -> list[Outcome]:
        """Return the outcomes of a part."""
        return [outcome for outcome in self.outcomes if part_of(outcome) == part]


def part_of(outcome: Outcome) -> str:
    """Return the part that an outcome belongs to.

    >>> part_of(Outcome("operators: add.Tensor float32", "passed"))
    'operators'
    """
    return outcome.check.partition(":")[0]


def run_checks(
    *,
    is_quick: bool = False,
    timeout: float = 60.0,
    begin: Callable[[int], Callable[[Outcome], None]] = lambda count: lambda outcome: None,
) -> CheckRun:
    """Run all checks and return their outcomes; after Ctrl-C those until then.

    A check may take ``timeout`` seconds. ``begin`` gets the number of checks on the device, and returns a function that
    hears of each outcome.
    """
    began = time.perf_counter()
    run = CheckRun({"quick": is_quick, "timeout": timeout})
    run.environment = find_environment()
    run.outcomes += check_environment(run.environment)
    if run.environment["toolkit"]:
        with tempfile.TemporaryDirectory(prefix="dispatch-check-") as folder:
            options = {"folder": folder, "quick": is_quick}
            # NumPy has bfloat16 where this module is imported.
            modules = ("ml_dtypes",) if run.environment["packages"].get("ml-dtypes") else ()
            settings = RunSettings("npu", None, _SEED, modules, timeout, child.RUNNER, options)
            try:
                _run_parts(run, settings, begin)
            except KeyboardInterrupt:
                run.is_stopped = True
        run.outcomes.append(check_driver(run.environment, can_open="memory" in run.device))
    run.seconds = time.perf_counter() - began
    return run


def _run_parts(run: CheckRun, settings: RunSettings, begin: Callable[[int], Callable[[Outcome], None]]) -> None:
    folder, is_quick = settings.options["folder"], settings.options["quick"]
    with closing(WorkerPool(settings, 1)) as pool:
        first = [f"functions: {library}" for library in functions.LIBRARIES]
        run.outcomes += _run_in(pool, folder, [*first, "device: chip"])
        run.device = child.read_facts(folder)
        parts = {"memory": memory.CHECKS, "streams": streams.CHECKS, "random": draws.CHECKS}
        checks = [f"{part}: {name}" for part, named in parts.items() for name in named]
        if run.environment["packages"].get("dispatch-backend-cpu"):
            family = run.device.get("family") or "910B"
            found = cells.list_cells(family, is_quick=is_quick)
            checks += [f"operators: {operator} {dtype}" for operator, dtype in found]
            checks += [f"steps: {' '.join(step)}" for step in steps.STEPS]
        else:
            reason = "dispatch-backend-cpu is not installed"
            run.outcomes += [Outcome(check, "not run", reason) for check in ("operators: all", "steps: all")]
        if "memory" not in run.device:
            run.outcomes += [Outcome(check, "not run", "no device can be opened") for check in checks]
            return
        tell = begin(len(checks))
        for outcome in _run_in(pool, folder, checks):
            run.outcomes.append(outcome)
            tell(outcome)


def _run_in(pool: WorkerPool, folder: str, checks: Sequence[str]) -> Iterator[Outcome]:
    """Yield the outcomes of checks; those after a device that is lost for good are not run."""
    left, lost, in_a_row, reason = dict.fromkeys(checks), 0, 0, ""
    try:
        for outcome in pool.run(checks):
            left.pop(outcome.check, None)
            if outcome.reason.startswith("the process "):
                lost, in_a_row = lost + 1, in_a_row + 1
                yield _name_function(outcome, folder)
            else:
                in_a_row = 0
                yield outcome
            if in_a_row >= _MOST_IN_A_ROW or lost >= _MOST_LOST:
                reason = f"{in_a_row if in_a_row >= _MOST_IN_A_ROW else lost} processes ended or hung before"
                break
    except BackendError as error:
        reason = f"no further process can work: {error}"
    if reason:
        pool.close()
    for check in left:
        yield Outcome(check, "not run", reason)


def _name_function(outcome: Outcome, folder: str) -> Outcome:
    """Add the function that a process ran when it was lost, or a hint where the device did not even open."""
    function = last_function(folder)
    if part_of(outcome) == "device":
        return replace(outcome, reason=f"{outcome.reason}\nHint: npu-smi info tells whether the chip answers")
    if not function:
        return outcome
    return replace(outcome, reason=f"{outcome.reason}, while {function} ran", kernels=(function,))
