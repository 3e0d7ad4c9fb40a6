"""Running recorded steps by a plan, or one by one where one fails: steps that depend on a failed one are left out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import groupby
from operator import attrgetter
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from dispatch_core.arrays import access, owners
from dispatch_core.arrays.indices import SEVERAL
from dispatch_core.arrays.launches import LOGS, here
from dispatch_core.arrays.thread_device import work_on
from dispatch_core.calls import call_trace, conformance
from dispatch_core.display.progress_reports import reporter
from dispatch_core.layers.stages import active, stage, watch

from ..program import plan as plans
from ..program.fingerprints import ProgramFingerprint, describe_kernel_of, fingerprint
from ..program.model import DEFAULTS, Node, PlanOptions
from ..record.blocks import paused
from ..record.errors import describe_call, error_of, has_poisoned_arrays, poison, step_error
from ..record.pending import Pending, storage_key
from ..record.stats import Stats
from ..record.steps import Step

if TYPE_CHECKING:
    from dispatch_core.keys.table import DispatchKey

    from ..program.known_records import KnownRecords
    from ..program.plan import Part, Plan
    from .stream_changes import StreamChanges

#: Called after steps have run.
Report = Callable[[], None]


class Executor:
    """Runs steps of a scheduler by plans, or step by step where there is no plan, or where one fails."""

    def __init__(self, options: Mapping[str, Any], stats: Stats) -> None:
        self.options, self.stats = options, stats
        #: The user's options of plans.
        plain = options["fuse"] and options["check_indices"]
        self.planning = DEFAULTS if plain else PlanOptions(options["fuse"], options["check_indices"])
        #: Whether steps run by plans: no trace of single steps is asked for.
        self.allows_plans = not options["trace"]
        #: Whether all records may run by one plan, without a report of single steps or a count of their bytes.
        self.allows_whole_plans = self.allows_plans and options["progress"] is options["max_bytes"] is None
        #: The plans that are being run.
        self.runs: list[PlanRun] = []

    def run(self, steps: Sequence[Step], changes: StreamChanges | None = None) -> bool:
        """Run steps, each after those that it needs; return whether one has failed.

        With ``changes`` they run on the streams of their calls. An error that the option ``progress`` raises ends the run;
        the steps that are left are not done.
        """
        failed = False
        stats, report = self.stats, self._make_report(len(steps))
        planning = stats.plan_time
        started = perf_counter_ns()
        try:
            for device, group in _by_device(_gather_indices(steps) if SEVERAL[0] and changes is None else steps):
                if changes is not None:
                    changes.begin(group)
                if (place := _find_place(group)) is None:
                    failed |= self._run_group(device, group, report)
                else:
                    with work_on(*place):
                        failed |= self._run_group(device, group, report)
        finally:
            stats.impl_time += perf_counter_ns() - started - (stats.plan_time - planning)
        return failed

    def _run_group(self, device: DispatchKey, steps: Sequence[Step], report: Report | None) -> bool:
        """Run steps for one device, by a plan where there can be one; return whether one has failed."""
        is_plain = self.allows_plans and len(steps) > 1 and not steps[0].orders_streams
        plan = self._find_plan(device, steps) if is_plain else None
        return self.run_one_by_one(steps, report) if plan is None else self.run_plan(*plan, report)

    def run_whole(self, plan: Plan, found: ProgramFingerprint | KnownRecords, kind: type[Step]) -> bool:
        """Run the plan of all records, which are for the device of the class ``kind``; return whether a step has failed."""
        place = place_of(kind)
        if place is None:
            return self.run_plan(plan, found)
        with work_on(*place):
            return self.run_plan(plan, found)

    def run_plan(self, plan: Plan, found: ProgramFingerprint | KnownRecords, report: Report | None = None) -> bool:
        """Run a plan on the values of a fingerprint; return whether a step has failed."""
        run = PlanRun(plan, found, self)
        self.runs.append(run)
        try:
            return run(report)
        finally:
            self.runs.remove(run)

    def run_one_by_one(self, steps: Sequence[Step], report: Report | None) -> bool:
        """Run each step's own kernel; return whether one has failed."""
        failed = False
        for step in steps:
            # A value that a report or a kernel has read may have needed this step already.
            if not step.done:
                if self.options["trace"]:
                    call_trace.write(f"pipeline: {describe_call(step)}{', ' if step.line else ''}{step.line}")
                with stage("impl", step.name, step.outputs):
                    if (error := _attempt(step)) is None:
                        step.values = ()
                    else:
                        mark_failed(step, error)
                self.stats.executed += 1
            failed |= step.error is not None
            if report is not None:
                report()
        return failed

    def publish_results(self) -> None:
        """Publish the results of plans whose kernels or callbacks have called."""
        for run in self.runs:
            run.publish_results()

    def planned_groups(self, steps: Sequence[Step]) -> list[list[Step]]:
        """Return which of the steps would run together if they ran now."""
        found = []
        for device, group in _by_device(_gather_indices(steps) if SEVERAL[0] else steps):
            if len(group) < 2:
                continue
            place = _find_place(group)
            # A planner may run kernels on stand-ins.
            with paused(group[0].state), nullcontext() if place is None else work_on(*place):
                plan = self._find_plan(device, group)
            if plan is not None:
                found += [[group[index] for index in part.nodes] for part in plan[0].parts if len(part.nodes) > 1]
        return found

    def _make_report(self, total: int) -> Report | None:
        """Make the function that reports how many of ``total`` steps have run from now on, in this run or inside it."""
        progress, stats = self.options["progress"], self.stats
        if progress is None:
            return None
        before = stats.executed
        report = reporter(progress, total)
        return lambda: report(stats.executed - before)

    def _find_plan(self, device: DispatchKey, steps: Sequence[Step]) -> tuple[Plan, ProgramFingerprint] | None:
        """Find the plan for steps, or make it; none where something that they need has failed."""
        stats = self.stats
        started = perf_counter_ns()
        try:
            with stage("plan", "find"):
                found = None if has_poisoned_arrays() else fingerprint(steps, self.planning)
                if found is None:
                    return None
                plan = plans.find(found.key)
                if plan is not None:
                    stats.cache_hits += 1
                else:
                    stats.cache_misses += 1
                    plan = plans.make(found, device, self.planning)
                return plan, found
        except TypeError:  # An argument that cannot be a key.
            return None
        finally:
            stats.plan_time += perf_counter_ns() - started


def _by_device(steps: Sequence[Step]) -> Iterator[tuple[DispatchKey, Sequence[Step]]]:
    """Cut steps into runs for one device each, those left out that were needed meanwhile."""
    first = steps[0] if steps else None
    if first and all(map(partial(_is_beside, first), steps)):
        yield first.device, steps
    else:
        for (device, _, _), group in groupby(steps, attrgetter("device", "index", "orders_streams")):
            yield device, [step for step in group if not step.done]


def _gather_indices(steps: Sequence[Step]) -> Sequence[Step]:
    """Return steps that were recorded by turns for devices of one type device by device, so that a plan has more of them.

    They need none of each other's results: only copies go from one device to another, and these run at once. Those that draw
    random numbers or order streams keep their places, and so do all where an array that is written to fits every index.
    """
    for step in steps:
        is_tied = step.device is not steps[0].device or step.is_random or step.orders_streams
        if is_tied or any(access.device(each).index is None for each in step.writes()):
            return steps
    return sorted(steps, key=lambda step: step.index or 0)


def _is_beside(first: Step, step: Step) -> bool:
    """Return whether a step runs with the first of a group, and is not done."""
    is_there = step.mask == first.mask and step.index == first.index
    return is_there and step.orders_streams == first.orders_streams and not step.done


def place_of(kind: type[Step]) -> tuple[str, int] | None:
    """Return the device, by name and index, that steps of a class work on; None where one of its type alone is in use.

    Steps that were recorded while that was so work on the first.
    """
    if kind.index is None and not (SEVERAL[0] and SEVERAL[0] & kind.device):
        return None
    return owners.KEY_DEVICES[kind.device.backend], kind.index or 0


def _find_place(steps: Sequence[Step]) -> tuple[str, int] | None:
    return place_of(type(steps[0])) if steps else None


class PlanRun:
    """One run of a plan.

    Its steps are marked done when it ends, all at once. A kernel or a progress report that asks for values meanwhile makes
    the run publish its results; then it may run the steps that are left before the plan comes to them.
    """

    __slots__ = ("_begun", "_ended", "_executor", "_found", "_is_disturbed", "_plan", "_published", "_stats")

    def __init__(self, plan: Plan, found: ProgramFingerprint | KnownRecords, executor: Executor) -> None:
        self._plan, self._found, self._executor, self._stats = plan, found, executor, executor.stats
        #: How many parts have begun, have ended, and have given their results to the values that represent them.
        self._begun = self._ended = self._published = 0
        self._is_disturbed = False

    def __call__(self, report: Report | None) -> bool:
        """Run the plan; return whether a step has failed."""
        values = self._found.values
        is_new = not self._plan.is_compared
        raised: Exception | None = None
        is_wrong = False
        try:
            for part in self._plan.parts if active.get() is None else map(self._watch, self._plan.parts):
                self._begun += 1
                if LOGS:
                    step = self._found.steps[part.nodes[-1]]
                    here.place = None if step.code is None else (step.code, step.instruction)
                try:
                    part.run(values)
                except Exception as error:  # noqa: BLE001  # kept until the result is read
                    raised = error
                    break
                if is_new and (raised := part.find_mismatch(values)) is not None:
                    is_wrong = True
                    break
                self._ended += 1
                if part.frees:
                    for index in part.frees:
                        values[index] = None
                if report is not None:
                    self._publish_ended()
                    report()
                if self._is_disturbed:
                    break
            else:
                self._plan.is_compared = True
                if not self._published:
                    self._publish_all()
                    return False
        except BaseException:
            self.publish_results()
            raise
        finally:
            if LOGS:
                here.place = None
        return self._run_rest(raised, report, is_wrong=is_wrong)

    def _watch(self, part: Part) -> Part:
        """Return a part that an open profile measures, and whose recorded calls it knows by their results."""
        pending = self._found.pending
        made = [pending[value.index] for _, value in part.made if value.index in pending]
        return part.with_run(watch("impl", part.name, part.run, made))

    def _warn_of(self, part: Part, raised: Exception) -> None:
        """Warn once that a planned step raises, where the kernels of its nodes do not."""
        if self._plan.has_warned or any(self._found.steps[index].error is not None for index in part.nodes):
            return
        self._plan.has_warned = True
        warnings.warn(
            f"A planned step raised {type(raised).__name__}: {raised}; its nodes' kernels, run one by one, did not\n"
            f"{part.describe()}",
            RuntimeWarning,
            stacklevel=2,
        )

    def publish_results(self) -> None:
        """Show callers inside the run its results, and the steps that have begun and not ended."""
        self._is_disturbed = True
        self._publish_ended()
        for part in self._plan.parts[self._ended : self._begun]:
            for index in part.nodes:
                self._found.steps[index].done = True

    def _run_rest(self, raised: Exception | None, report: Report | None, *, is_wrong: bool) -> bool:
        """Run the steps that are left one by one, so that an error in a group names its step.

        A group that has run, and was ``wrong``, may have written to memory, and does not run again.
        """
        steps = self._found.steps
        self._publish_ended()
        for index in self._plan.dropped:
            if not steps[index].done:
                steps[index].drop()
                self._stats.dropped += 1
        retried: Part | None = None
        if raised is not None:
            part = self._plan.parts[self._ended]
            begun = [steps[index] for index in part.nodes]
            if len(begun) == 1 or is_wrong:
                error = step_error(begun[-1], raised)
                for step in begun:
                    step.done = True
                    self._stats.executed += 1
                    mark_failed(step, error)
            else:
                for step in begun:
                    step.done = False
                retried = part
        failed = self._executor.run_one_by_one([step for step in steps if not step.done], report)
        if raised is not None and retried is not None:
            self._warn_of(retried, raised)
        return failed or raised is not None

    def _publish_ended(self) -> None:
        """Set the pending values of the parts that have ended."""
        found, stats = self._found, self._stats
        for part in self._plan.parts[self._published : self._ended]:
            for index in part.nodes:
                step = found.steps[index]
                for output in step.outputs:
                    if output is not None:
                        output.value = found.values[found.slot_of(output)]
                        if output.value is not None:
                            # Before a view of it is asked for its storage key; see Note [Storage keys] in `pending`.
                            storage_key(output)
                step.done = True
                step.values = ()
                stats.executed += 1
                stats.fused += len(part.nodes) > 1
            self._published += 1

    def _publish_all(self) -> None:
        """Do the same for a whole plan, quickly."""
        found, plan, stats = self._found, self._plan, self._stats
        values = found.values
        for index, pending in found.pending.items():
            if (value := values[index]) is not None:
                pending.value = value
                if pending.shared is not None:
                    # Before a view of it is asked for its storage key; see Note [Storage keys] in `pending`.
                    storage_key(pending)
        if found.has_steps:
            for step in found.steps:
                step.done = True
                step.values = ()
        self._published = self._ended
        dropped = len(plan.dropped)
        stats.executed += found.count - dropped
        if dropped:
            stats.dropped += dropped
        stats.fused += plan.fused
        stats.bytes_saved += plan.saved


def _attempt(step: Step) -> Any:
    """Run a step as a program of one node, unless something that it needs has failed; return its error, or None."""
    step.done = True
    error = next((found for value in step.inputs() if (found := error_of(value)) is not None), None)
    if error is not None:
        return error
    values = [*map(with_arrays, step.values), *step.outputs]
    if LOGS and step.code is not None:
        here.place = step.code, step.instruction
    try:
        Node.alone(type(step), len(step.values), len(step.outputs))(values)
        for output, array in zip(step.outputs, values[len(step.values) :], strict=True):
            # A place that nothing was stored in has the pending value still.
            if output is not None and array is not output:
                if output.meta not in step.compared:
                    _compare(step, output, array)
                output.value = array
                # Before a view of it is asked for its storage key; see Note [Storage keys] in `pending`.
                storage_key(output)
    except Exception as raised:  # noqa: BLE001  # every error is kept until the result is read
        return step_error(step, raised)
    finally:
        # The traceback of an error must not keep them.
        values.clear()
        if LOGS:
            here.place = None
    return None


def mark_failed(step: Step, error: Any) -> None:
    """Mark everything that a step would have made or written with its error."""
    step.error = error
    for output in step.outputs:
        if output is not None:
            output.error = error
    for value in step.writes():
        poison(value, error)
    # The error's traceback keeps the step alive, and must not keep its results.
    step.values = step.outputs = ()


def _compare(step: Step, output: Pending, array: object) -> None:
    """Compare an array that a kernel returned with its spec; once for each spec that a recorder's steps have.

    Raises ``KernelResultError`` where it differs.
    """
    meta = output.meta
    found = conformance.compare_with(array, meta)
    if found is not None:
        raise conformance.misfit_error(step.entry, found, describe_kernel_of(type(step)))
    if len(step.compared) >= _COMPARED:
        step.compared.clear()
    step.compared.add(meta)


#: How many specs a recorder knows its kernel to return, before it compares again.
_COMPARED: Final = 256


def with_arrays(value: object) -> Any:
    """Return an argument with arrays instead of values that have been computed."""
    if isinstance(value, Pending):
        return value.value
    if isinstance(value, list):
        return [with_arrays(item) for item in value]
    return value
