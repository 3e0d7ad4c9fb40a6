"""Running recorded steps by a plan, and one by one where something fails: what depends on a failed step is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from ..keys import DispatchKey
from ..masks import exclude_keys
from . import plan as plans
from .errors import step_error
from .graph import Pending, Step, place_of
from .program import Survey, device_of, survey
from .progress import reporter

if TYPE_CHECKING:
    from .plan import Part, Plan
    from .stats import Stats

__all__ = ["quiet", "run_steps", "with_arrays"]

#: Called after steps have run.
Report = Callable[[], None]


def quiet() -> exclude_keys:
    """Return a guard that keeps what runs inside it from being recorded."""
    return exclude_keys(DispatchKey.Pipeline)


def run_steps(
    steps: Sequence[Step],
    stats: Stats,
    progress: Callable[[int, int], object] | None = None,
    *,
    fuse: bool = True,
) -> Step | None:
    """Run steps, each after what it needs; return the first, in the order of the record, that failed.

    What ``progress`` raises ends the run; the steps that are left are not done.
    """
    first = None
    report = None if progress is None else _reporting(progress, len(steps), stats)
    planning = stats.plan_time
    started = perf_counter_ns()
    try:
        with quiet():
            for device, run in _by_device(steps):
                plan, found = _planned(device, run, stats, fuse=fuse) if len(run) > 1 else (None, None)
                if plan is not None and found is not None:
                    failed = _by_plan(plan, found, stats, report)
                else:
                    failed = _one_by_one(run, stats, report)
                first = first or failed
    finally:
        stats.impl_time += perf_counter_ns() - started - (stats.plan_time - planning)
    return first


def _reporting(progress: Callable[[int, int], object], total: int, stats: Stats) -> Report:
    """Make the function that tells how many of ``total`` steps have run from now on, for whomever."""
    before = stats.executed
    tell = reporter(progress, total)
    return lambda: tell(stats.executed - before)


def _by_device(steps: Sequence[Step]) -> Iterator[tuple[DispatchKey, Sequence[Step]]]:
    """Cut steps into runs for one device each, those left out that were needed meanwhile."""
    if steps and all(step.mask == steps[0].mask for step in steps):
        yield device_of(steps[0]), steps
    else:
        for device, run in groupby(steps, device_of):
            yield device, [step for step in run if not step.done]


def _planned(
    device: DispatchKey, steps: Sequence[Step], stats: Stats, *, fuse: bool
) -> tuple[Plan | None, Survey | None]:
    """Find the plan for steps, or make it; none where something that they need has failed."""
    started = perf_counter_ns()
    plan = None
    found = survey(steps, fuse=fuse)
    if found is not None:
        try:
            plan = plans.cached(found.key)
        except TypeError:  # An argument that cannot be a key.
            return None, None
        if plan is not None:
            stats.cache_hits += 1
        else:
            stats.cache_misses += 1
            plan = plans.make(found, device, fuse=fuse)
    stats.plan_time += perf_counter_ns() - started
    return plan, found


def _by_plan(plan: Plan, found: Survey, stats: Stats, report: Report | None) -> Step | None:
    values, steps, parts = found.values, found.steps, plan.parts
    values += plan.constants
    raised = None
    ran = 0
    try:
        for part in parts:
            try:
                part.run(values)
            except Exception as error:  # noqa: BLE001  # kept for whoever asks for the result
                raised = error
                break
            ran += 1
            for index in part.frees:
                values[index] = None
            if report is not None:
                # The report may read what is there, and with it run what comes next.
                _finish(found, parts[:ran], stats)
                report()
                if any(steps[index].done for later in parts[ran:] for index in later.nodes):
                    break
    finally:
        if ran == len(parts) and report is None:
            _finish_all(found, plan, stats)
        else:
            _finish(found, parts[:ran], stats)
    if raised is not None:
        return _after_failure(parts[ran], found, raised, stats, report)
    return None if ran == len(parts) else _one_by_one([step for step in steps if not step.done], stats, report)


def _after_failure(part: Part, found: Survey, raised: Exception, stats: Stats, report: Report | None) -> Step | None:
    """Run what is left of a plan one by one, so that what fails in a group gets its name."""
    failed = None
    if len(part.nodes) == 1:
        failed = found.steps[part.nodes[0]]
        failed.done = True
        stats.executed += 1
        _mark(failed, step_error(failed, raised))
    later = _one_by_one([step for step in found.steps if not step.done], stats, report)
    return failed or later


def _finish_all(found: Survey, plan: Plan, stats: Stats) -> None:
    """Give what a whole plan has made to the values that stand for it."""
    values = found.values
    for index, pending in found.pending.items():
        if (value := values[index]) is not None:
            pending.value = value
            place_of(pending)
        pending.step = None
    for step in found.steps:
        step.done = True
        step.values = ()
    stats.executed += len(found.steps)
    stats.fused += plan.fused
    stats.bytes_saved += plan.saved


def _finish(found: Survey, parts: Iterable[Part], stats: Stats) -> None:
    """Do the same for some parts, in any state."""
    for part in parts:
        for index in part.nodes:
            step = found.steps[index]
            if step.done:
                continue
            for output in step.outputs:
                if output is not None:
                    output.value = found.values[found.slots[id(output)]]
                    output.step = None
                    if output.value is not None:
                        place_of(output)
            step.done = True
            step.values = ()
            stats.executed += 1
            stats.fused += len(part.nodes) > 1


def _one_by_one(steps: Sequence[Step], stats: Stats, report: Report | None) -> Step | None:
    first = None
    for step in steps:
        # What a report reads may have needed this one already.
        if not step.done:
            _run_step(step)
            stats.executed += 1
        if step.error is not None and first is None:
            first = step
        if report is not None:
            report()
    return first


def _run_step(step: Step) -> None:
    step.done = True
    error = next((found for value in step.inputs() if (found := _fault(value)) is not None), None)
    found = None
    if error is None:
        try:
            found = step.entry.explicit_table[step.mask](*map(with_arrays, step.values))
        except Exception as raised:  # noqa: BLE001  # whatever it is, it is kept for whoever asks for the result
            error = step_error(step, raised)
    if error is None:
        _keep(step, found)
        step.values = ()
    else:
        _mark(step, error)


def _mark(step: Step, error: BaseException) -> None:
    """Let everything that a step would have made or written carry its error."""
    step.error = error
    for output in step.outputs:
        if output is not None:
            output.error = error
    for value in step.writes():
        if isinstance(value, Pending):
            value.memory.error = error
    step.values = ()


def _fault(value: Any) -> BaseException | None:
    return (value.error or value.memory.error) if isinstance(value, Pending) else None


def _keep(step: Step, found: Any) -> None:
    """Give the arrays that a kernel returned to the values that stand for them."""
    plan = step.entry.plan
    assert plan is not None
    outputs = iter(step.outputs)
    for result, value in zip(plan.results, (found,) if len(plan.results) == 1 else found, strict=True):
        if result.kind == "self":
            continue
        for each in value if result.is_list else (value,):
            output = next(outputs)
            if output is not None:
                output.value = each
                output.step = None


def with_arrays(value: Any) -> Any:
    """Return an argument with arrays in the place of values that have been computed."""
    if isinstance(value, Pending):
        return value.value
    if isinstance(value, list):
        return [with_arrays(item) for item in value]
    return value
