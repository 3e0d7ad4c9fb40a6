"""Which recorded steps run, when, and in which order.

Note [A step that has begun]
    A step is `done` as soon as it begins: a kernel or a callback that asks for values while it runs does not run it once
    more. Its arguments are released when it has ended. So an interrupted step is `done` and has its
    arguments; it is put back, unless it writes to memory: like a call that is interrupted, it may or may not have written,
    and must not write twice.

Note [Whole plans]
    A loop records the same calls again and again. The fingerprint of the records is taken as they are; where a plan is kept
    for it, that runs and no steps are made. It knows which steps are not observable, because the structure tells. From the
    third time on a guard recognises the records (Note [Guards] in `guards`).

Note [Unread errors]
    Reading a value that a failed step would have made or written raises the step's error, each time. Errors that nothing
    has raised are raised by the next flush: the first, with the others as notes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import groupby
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from dispatch_core.arrays.indices import SEVERAL
from dispatch_core.arrays.late_arrays import IN_USE
from dispatch_core.arrays.thread_device import work_on
from dispatch_core.layers.stages import active, stage
from dispatch_core.surroundings.logs import Log

from ..program import guards
from ..program import plan as plans
from ..program.fingerprints import ProgramFingerprint, fingerprint
from ..program.known_records import KnownRecords
from ..record.blocks import paused
from ..record.errors import (
    PipelineError,
    error_of,
    has_poisoned_arrays,
    missing_error,
    step_error,
    without_traceback,
)
from ..record.liveness import RANDOM, observable_steps, required_steps
from ..record.pending import Pending, storage_key
from ..record.steps import Step, masks_of_kernels
from .executors import Executor, mark_failed, place_of
from .late_results import compute_kept, watch_results
from .limits import MANY
from .step_queue import StepQueue
from .stream_changes import StreamChanges, is_elsewhere

if TYPE_CHECKING:
    from dispatch_core.keys import context

    from ..program.model import PlanOptions
    from ..program.plan import Plan
    from ..record.steps import RecordedCall

_LOG: Final = Log("pipelines")


class Scheduler(StepQueue):
    """Runs the recorded steps that are needed."""

    #: The scheduler that recorded in this context before; its steps come before all of this one's.
    outer: Scheduler | None = None

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        #: How many runs are under way, each inside the one before.
        self._running = 0
        #: The errors of steps that have failed since the last flush.
        self._failed: tuple[PipelineError, ...] = ()
        self._executor: Executor | None = None

    @property
    def executor(self) -> Executor:
        """What runs the steps; made for the first of them."""
        found = self._executor
        if found is None:
            found = self._executor = Executor(self.options, self.stats)
        return found

    def check_limits(self) -> None:
        """Flush if the last call has reached a limit, or if the block has ended meanwhile, in another thread."""
        count = len(self.steps) if self.limits.has_bytes else self.waiting
        if self.limits.are_many(count):
            self.drop_unobservable()
        if not self.is_open or self.limits.are_reached(count):
            _LOG.debug("flush of %d calls: %s", count, "a limit is reached" if self.is_open else "its block has ended")
            self.flush()
        self.count_remaining()

    # The steps before a read or a write.

    def compute(self, wanted: Iterable[Any]) -> None:
        """Run the steps that must run before the values in ``wanted`` can be read.

        Raises the error of a step that failed, where one of the values depends on it.
        """
        wanted = tuple(wanted)
        if any(map(_is_missing, wanted)):
            self.stats.boundaries["result"] += 1
            _LOG.debug("a result is read, and %d calls wait", self.waiting)
        self.run_before(wanted, ())

    def run_before(self, reads: Sequence[Any], writes: Sequence[Any]) -> None:
        """Run the steps that must run before some values are read and others are written to.

        Raises the error of a step that failed, where one of the values that are read depends on it.
        """
        with self.lock:
            self._run_required(reads, writes)
            for value in reads:
                error = error_of(value)
                if error is None and _is_missing(value) and value.session is self:
                    error = missing_error(value)
                if error is not None:
                    raise without_traceback(error)

    def _run_required(self, reads: Sequence[Any], writes: Sequence[Any]) -> None:
        self.executor.publish_results()
        chosen: Sequence[Step] = ()
        if self.orders_streams and not self._running:
            chosen = observable_steps(self.steps[:])
        elif self.steps and (writes or self.has_effects or any(map(_is_missing, reads))):
            chosen = required_steps(self.steps[:], reads, writes)
        if self.outer is not None:
            self.outer._run_before_steps(chosen, reads, writes)
        if chosen:
            late = watch_results(chosen)
            with stage("flush", "read"):
                self._run(chosen)
                if late and not self._running:
                    chosen = ()
                    compute_kept(late)
            if len(self.steps) >= MANY:
                self.drop_unobservable()

    def _run_before_steps(self, steps: Sequence[Step], reads: Sequence[Any] = (), writes: Sequence[Any] = ()) -> None:
        """Run the steps that must run before an inner scheduler runs ``steps``, and its caller reads and writes."""
        with self.lock:
            random = [RANDOM] if any(step.is_random for step in steps) else []
            read = [value for step in steps for value in step.inputs()]
            written = [value for step in steps for value in step.writes()]
            self._run_required([*reads, *read, *random], [*writes, *written, *random])

    # Flushing.

    @property
    def is_idle(self) -> bool:
        """Whether nothing has ever been recorded that a flush would look at; an open profile sees all flushes."""
        return self._executor is None and not (self.records or self._steps or self._failed) and active.get() is None

    def flush(self) -> None:
        """Run every step that is observable, and drop the rest.

        Raises the first error that nothing has raised yet; see Note [Unread errors].
        """
        if self.is_idle:
            self.stats.flushes += 1
            return
        with self.lock:
            if active.get() is None:
                self._flush()
            else:
                with stage("flush", "flush"):
                    self._flush()

    def _flush(self) -> None:
        """Flush, with the lock held."""
        self.stats.flushes += 1
        if self._running:
            self.executor.publish_results()
        late = watch_results((*self.records, *self._steps)) if IN_USE else None
        if not (self._run_whole() or self.is_empty):
            self._flush_steps()
        if late and not self._running:
            compute_kept(late)
        if self._failed:
            self._raise_unread()

    def _raise_unread(self) -> None:
        """Raise the errors of failed steps that nothing has raised; see Note [Unread errors]."""
        failed, self._failed = self._failed, ()
        unread = [error for error in failed if not error.has_been_raised]
        for error in failed:
            error.release_arrays()
        if unread:
            first, *others = unread
            for other in others:
                first.add_note(f"Another step failed in the same flush: {other}")
                other.has_been_raised = True
            raise without_traceback(first)

    def _flush_steps(self) -> None:
        """Run the observable steps, and drop the rest."""
        steps = self.steps[:]
        chosen = observable_steps(steps)
        if self.outer is not None and chosen:
            self.outer._run_before_steps(chosen)
        self._run(chosen)
        # Calls that a callback has recorded are not among these.
        self.drop(steps, chosen)

    def _run_whole(self) -> bool:
        """Run all records by one plan; return False where there can be none. See Note [Whole plans]."""
        if len(self.records) < 2 or self._steps or self._running or self.orders_streams or has_poisoned_arrays():
            return False
        if is_elsewhere(self.streams_left):
            return False
        executor = self.executor
        if not (executor.allows_whole_plans and (self.outer is None or self.outer.is_empty)):
            return False
        kind = _class_of(self.records[0]) if SEVERAL[0] else None
        started = perf_counter_ns()
        try:
            if active.get() is None:
                known = self._find_whole_plan(executor.planning)
            else:
                with stage("plan", "find"):
                    known = self._find_whole_plan(executor.planning)
        except TypeError:  # An argument that is not hashable.
            known = None
        stats = self.stats
        planned = perf_counter_ns()
        stats.plan_time += planned - started
        if known is None:
            return False
        plan, found = known
        failed = False
        self._running += 1
        try:
            with paused(found.state):
                failed = executor.run_plan(plan, found) if kind is None else executor.run_whole(plan, found, kind)
            if not found.has_steps:
                self.remove_records(found.count)
        except BaseException:
            self._put_back(found.steps)
            raise
        finally:
            self._running -= 1
            if failed:
                self._keep_failures(found.steps)
            self.remove_ended()
            stats.impl_time += perf_counter_ns() - planned
        return True

    def _find_whole_plan(self, planning: PlanOptions) -> tuple[Plan, ProgramFingerprint | KnownRecords] | None:
        """Find the plan for these records, by a guard, or by a fingerprint that gets a guard then, or make it."""
        records, stats = self.records[:], self.stats
        known = guards.find(records, planning)
        if known is not None:
            stats.cache_hits += 1
            return known[0], KnownRecords(self, records, *known[1:])
        devices = {(kind.device, kind.index) for kind in map(_class_of, records)}
        take = partial(_first_steps, self, len(records))
        taken = fingerprint(records, planning, take=take) if len(devices) == 1 else None
        if taken is None:
            return None
        kept_plan = plans.find(taken.key)
        if kept_plan is not None:
            stats.cache_hits += 1
            guards.keep(records, taken, kept_plan, planning)
            return kept_plan, taken
        stats.cache_misses += 1
        _LOG.debug("a plan is made for %d calls, whose like has not run before", len(records))
        with paused(taken.state):  # A planner may run kernels on stand-ins.
            device = _class_of(records[0]).device
            place = place_of(_class_of(records[0]))
            with nullcontext() if place is None else work_on(*place):
                return plans.make(taken, device, planning), taken

    # Running.

    def _run(self, steps: Sequence[Step]) -> None:
        """Run steps that were chosen, each under the masks of its call."""
        if self._running:
            steps = self._find_startable(steps)
        if not steps:
            return
        failed = False
        self._running += 1
        try:
            is_ordered = self.orders_streams or is_elsewhere(self.streams_left)
            with StreamChanges(steps, self.streams_left) if is_ordered else nullcontext() as changes:
                for state, group in _split_by_masks(steps):
                    with paused(state):
                        failed |= self.executor.run(group, changes)
        except BaseException:
            self._put_back(steps)
            raise
        finally:
            self._running -= 1
            if failed:
                self._keep_failures(steps)
            self.remove_ended()

    def _find_startable(self, steps: Sequence[Step]) -> Sequence[Step]:
        """Leave out the steps that cannot run before one ends that has begun; see Note [A step that has begun]."""
        waiting = [step for step in self.steps if step.done and step.values]
        found = []
        missing: set[int] = set()
        read: set[Hashable] = set()
        written: set[Hashable] = set()
        for step in (*waiting, *steps):
            inputs = {storage_key(value) for value in step.inputs()}
            changes = {storage_key(value) for value in step.writes()}
            if step.done or not (
                missing.isdisjoint(map(id, step.inputs())) and written.isdisjoint(inputs) and read.isdisjoint(changes)
            ):
                missing.update(map(id, step.outputs))
                read |= inputs
                written |= changes
            else:
                found.append(step)
        return found

    def _put_back(self, steps: Sequence[Step]) -> None:
        """Put interrupted steps back into the queue; see Note [A step that has begun]."""
        for step in steps:
            if step.done and step.written:
                step.values = ()
            elif step.values:
                step.done = False

    def _keep_failures(self, steps: Sequence[Step]) -> None:
        """Keep the errors of steps for the next flush."""
        for step in steps:
            error = step.error
            if isinstance(error, PipelineError) and not any(error is known for known in self._failed):
                self._failed = *self._failed, error

    def recover_after_fork(self) -> None:
        """Make the steps usable in a forked process, in which another thread may have been running them."""
        if not self.lock.take_from_others():
            return
        self.executor.publish_results()
        self.executor.runs.clear()
        self._is_removing, self._running = False, 0
        for step in self.steps:
            if step.done and step.values:
                if step.written:
                    fault = RuntimeError("the process was forked while another thread ran it")
                    mark_failed(step, step_error(step, fault))
                else:
                    step.done = False


def _split_by_masks(steps: Sequence[Step]) -> Iterable[tuple[context.State | None, Sequence[Step]]]:
    """Split steps into runs that were recorded under the same masks."""
    first = steps[0].state
    if all(step.state == first for step in steps):
        return ((first, steps),)
    groups = [tuple(group) for _, group in groupby(steps, lambda step: masks_of_kernels(step.state))]
    return [(group[0].state, group) for group in groups]


def _first_steps(queue: StepQueue, count: int) -> Sequence[Step]:
    return queue.steps[:count]


def _class_of(record: RecordedCall) -> type[Step]:
    return record[0] if isinstance(record, tuple) else type(record)


def _is_missing(value: object) -> bool:
    return isinstance(value, Pending) and value.value is None
