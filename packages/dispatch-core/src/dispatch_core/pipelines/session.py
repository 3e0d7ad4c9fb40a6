"""A pipeline while it is open: the steps recorded so far, and what is known of their arguments.

Note [Records become steps]
    A recorder appends a tuple for each call, which is the quickest object that CPython makes, and takes no lock. Everything
    else happens under the lock (`lock`): what looks at the steps, to run some, first makes steps of the records. So a call
    that is recorded meanwhile is never lost, and each value is computed once.

Note [A step that has begun]
    A step is `done` as soon as it begins: whoever asks for values while it runs, a kernel or a callback, does not run it
    once more. Its arguments are let go when it has ended. So an interrupted step is known by both, and is put back, unless
    it writes to memory: like a call that is interrupted, it may or may not have written, and must not write twice.

Note [Whole plans]
    A loop records the same again and again. What was noted is surveyed as it is; where a plan is kept for it, and somebody
    could observe each step when the plan was made, which the structure tells, then all of it runs, and no steps are made.
    From the third time on a guard recognises it (Note [Guards] in `guards`).

Note [Who is told of an error]
    The values that a failed step would have made or written raise its error whenever they are asked for. Who asks is told
    so. An error that nobody was told of is raised by the next flush: the first, with the others as notes.
"""

from __future__ import annotations

import math
import os
import sys
import weakref
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from time import perf_counter_ns
from typing import Any, Final

from .. import forks
from ..arrays import access, owners
from ..arrays.lent_memory import BEFORE, LENT
from ..interrupts import whole
from ..keys import context
from ..keys.table import DispatchKey
from ..operators import call_trace
from . import guards
from . import plan as plans
from .array_specs import UNKNOWN, intern_spec, read_spec
from .blocks import Block, current, paused, tidy
from .errors import (
    PipelineError,
    described,
    error_of,
    has_poisoned_arrays,
    missing_error,
    step_error,
    without_traceback,
)
from .liveness import RANDOM, are_all_observable, observable_steps, required_steps, storage_keys_in
from .lock import PipelineLock, forget_others
from .materialization import materialize_value, to_step_argument
from .pending import Pending, storage_key
from .plan import Plan
from .program import ProgramFingerprint, fingerprint
from .run import PlanRun, mark, run_steps, with_arrays
from .stats import Stats
from .steps import RecordedCall, Step, to_step

__all__ = ["Session", "current"]


class Session:
    """The steps that were recorded while a pipeline is open, and what is known of their arguments."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        #: What has been recorded since somebody looked; see Note [Records become steps].
        self.records: list[RecordedCall] = []
        self._steps: list[Step] = []
        #: How often records were taken.
        self._times_taken = 0
        self.stats = Stats()
        self.is_open = False
        #: Whether the user does not write to memory that he shares with tensors.
        self.ignores_lent: bool = options["inputs_unchanged"]
        #: The blocks that are open, in all contexts.
        self.blocks: list[Block] = []
        #: Refers to the object that holds ``__exit__`` while a block is open; see Note [Abandoned pipelines] in `blocks`.
        self.handle: weakref.ref[object] | None = None
        #: Whether `close` or `abandon` has ended its blocks. A generator in a circle is closed after its handle is gone.
        self.is_closed = False
        #: Whether it was opened, and what it recorded has not been run since by the end of its last block.
        self.is_unfinished = False
        #: Held while steps run; see Note [Records become steps].
        self.lock = PipelineLock()
        #: The session that recorded in this context before; its steps come before all of this one's.
        self.outer: Session | None = None
        #: Whether one of the steps may write to an argument or draw random numbers.
        self.has_effects = False
        self._most_steps: int | None = options["max_ops"]
        self._most_bytes: int | None = options["max_bytes"]
        #: Whether steps run as plans have it, with nobody who wants to hear of each.
        self._takes_plans = options["progress"] is None and not options["trace"] and self._most_bytes is None
        #: Bytes of the results of the steps that wait, where there is a limit.
        self._bytes = 0
        #: The errors of steps that have failed since the last flush.
        self._failed: list[PipelineError] = []
        self._is_tidying = False
        #: How many runs are under way, each inside the one before.
        self._running = 0
        #: The plans that are being run.
        self._runs: list[PlanRun] = []
        #: The structure of what was noted, where there was no plan for all of it.
        self._key: tuple[Any, ...] | None = None
        #: With how many steps those that nobody can observe are looked for.
        self._many = _MANY
        #: With how many records somebody has to look whether a limit is reached.
        self.remaining = 0
        _sessions.add(weakref.ref(self, _sessions.discard))

    def open(self, outer: Session | None) -> None:
        """Begin to record inside another session, or inside none."""
        self.outer, self.is_closed, self.is_unfinished, self.is_open = outer, False, True, True
        self.remaining = self._count_remaining()

    def shut(self) -> None:
        """Keep nothing any more: what is recorded from now on, in another thread, runs at once."""
        self.is_open, self.remaining, self.handle = False, 0, None
        if self.is_empty:
            self.is_unfinished = False

    @whole
    def abandon(self, _handle: object = None) -> None:
        """End all blocks, and run nothing: this is called where the handle dies."""
        try:
            self._end_blocks()
        except BaseException:
            # See Note [Where an array dies] in `interrupts`.
            self._end_blocks()
            raise

    def _end_blocks(self) -> None:
        self.is_closed = True
        for block in self.blocks:
            block.is_open = block.takes_records = False
        self.blocks.clear()
        self.shut()
        tidy()

    def finish(self) -> None:
        """Flush at the end of the last block, or after it where that was interrupted."""
        try:
            self.flush()
        except Exception:
            self.is_unfinished = self.is_open
            raise
        self.is_unfinished = self.is_open

    def close(self) -> None:
        """End all blocks of the pipeline, in every thread and task, and flush: ``dc.current_pipeline().close()``.

        For a pipeline that an interrupt has left open while a name keeps it alive. Leaving its blocks does nothing then.
        Raises what `flush` raises.
        """
        self.abandon()
        try:
            self.finish()
        finally:
            tidy()

    def _count_remaining(self) -> int:
        if not self.is_open or self._most_bytes is not None:
            return 0
        return min(self._most_steps or self._many, self._many) - len(self._steps)

    @property
    def steps(self) -> list[Step]:
        """What is recorded and has not run."""
        if self.records:
            with self.lock:
                self.take_records()
        return self._steps

    @property
    def is_empty(self) -> bool:
        """Whether everything that is recorded has run."""
        return not (self.records or self._steps)

    @property
    def waiting(self) -> int:
        """How many steps are recorded and have not run."""
        return len(self.records) + len(self._steps)

    def take_records(self) -> None:
        """Make steps of the records. Call it with the lock held."""
        while self.records:
            times_taken = self._times_taken
            made = list(map(to_step, self.records))
            taken = slice(len(made))
            if times_taken == self._times_taken:
                # None of these lets a finaliser run, which might look at the record, too.
                self._times_taken = times_taken + 1
                self._steps[_END], self.records[taken] = made, ()
                self.stats.recorded += len(made)
                if self._most_bytes is not None:
                    self._bytes += sum(map(_bytes, made))
        self.remaining = self._count_remaining()

    # Recording.

    def describe(self, plan: Any, values: Sequence[Any]) -> list[Any]:
        """Return the arguments with meta arrays in the place of arrays and pending values."""
        found = [
            self.describe_one(value) if parameter.tensors else value
            for parameter, value in zip(plan.parameters, values, strict=True)
        ]
        if plan.device_index is not None:
            found[plan.device_index] = None
        return found

    def describe_one(self, value: Any) -> Any:
        """Return the meta array of an array or a pending value; of a list, those of its elements.

        Raises ``NotImplementedError`` for an array that no meta array can describe.
        """
        if isinstance(value, Pending):
            return value.meta
        if isinstance(value, (list, tuple)):
            return [self.describe_one(item) for item in value]
        if value is None:
            return None
        found = read_spec(value)
        if found is UNKNOWN:
            raise NotImplementedError("no shape rule")
        return found

    def row_major(self, meta: Any) -> Any:
        """Return a meta array like another, with its elements in row-major order at the beginning of its memory."""
        sizes = access.shape(meta)
        return intern_spec(_meta_array(sizes, access.row_major_strides(sizes), access.dtype(meta)))

    def take(self, value: Any) -> tuple[Any, Any]:
        """Return an argument as a step keeps it, and its layout."""
        if not isinstance(value, Pending):
            return value, read_spec(value)
        value = to_step_argument(value, self)
        return value, self.describe_one(value)

    def take_list(self, tensors: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...]]:
        """Do the same for a list of tensors."""
        values = [to_step_argument(access.to_data(tensor), self) for tensor in tensors]
        return values, tuple([self.describe_one(value) for value in values])

    @staticmethod
    def has_lent(values: Sequence[Any]) -> bool:
        """Tell whether memory of one of the values may be lent."""
        return any(storage_key(value) in LENT for value in values if value is not None)

    def add(self, step: Step) -> None:
        """Keep a step for later; once it reaches a limit, flush, this step included."""
        self.records.append(step)
        if step.written or step.is_random:
            # Only after the step itself: see _tidy.
            self.has_effects = True
        if len(self.records) >= self.remaining:
            self.check_limits()

    def check_limits(self) -> None:
        """Flush if a limit is reached with the last step, or if the block has ended meanwhile, in another thread."""
        count = len(self.steps)
        if count >= self._many:
            self._forget_unseen()
        if (
            not self.is_open
            or (self._most_steps is not None and count >= self._most_steps)
            or (self._most_bytes is not None and self._bytes >= self._most_bytes)
        ):
            self.flush()
        self.remaining = self._count_remaining()

    def run_eagerly(self, step: Step, why: str) -> Any:
        """Run a step that cannot be recorded, after everything that it needs, under the masks of the call."""
        reads = tuple(step.inputs())
        for value in reads:
            if isinstance(value, Pending) and value.session is not self:
                value.session.compute((value,))
        random = (RANDOM,) if step.is_random else ()
        self._run_for((*reads, *random), (*step.writes(), *random))
        values = tuple(map(with_arrays, step.values))
        with paused(context.current()):
            found = step.entry.explicit_table[step.mask](*values)
        self.stats.count_eager(step.name, why)
        return found

    # Running.

    def compute(self, wanted: Iterable[Any]) -> None:
        """Run what has to run before the values in ``wanted`` can be read.

        Raises the error of a step that failed, where one of the values depends on it.
        """
        wanted = tuple(wanted)
        if any(map(_is_missing, wanted)):
            self.stats.boundaries["result"] += 1
        self._run_for(wanted, ())

    def touches(self, key: Hashable) -> bool:
        """Tell whether what is recorded reads or writes memory; a look without the lock, as others may be recording."""
        records = [record[1] if isinstance(record, tuple) else record.values for record in self.records[:]]
        return any(key in storage_keys_in(values) for values in (*records, *[step.values for step in self._steps[:]]))

    def run_before_write(self, changed: Sequence[Any]) -> None:
        """Run what has to run before others write to the memory of values."""
        self._run_for((), changed)

    def _run_for(self, wanted: Sequence[Any], changed: Sequence[Any]) -> None:
        """Run what has to run before some values are read and others are written to; raise where one cannot be read."""
        with self.lock:
            self._compute(wanted, changed)
            for value in wanted:
                error = error_of(value)
                if error is None and _is_missing(value) and value.session is self:
                    error = missing_error(value)
                if error is not None:
                    raise without_traceback(error)

    def _compute(self, reads: Sequence[Any], writes: Sequence[Any]) -> None:
        self._publish_results()
        chosen: Sequence[Step] = ()
        if self.steps and (writes or self.has_effects or any(map(_is_missing, reads))):
            chosen = required_steps(self.steps[:], reads, writes)
        if self.outer is not None:
            self.outer._prepare(chosen, reads, writes)
        if chosen:
            self._run(chosen)
            if len(self.steps) >= _MANY:
                self._forget_unseen()

    def flush(self) -> None:
        """Run everything that somebody can still observe, and forget the rest.

        Raises the first error that nobody was told of; see Note [Who is told of an error].
        """
        with self.lock:
            self.stats.flushes += 1
            self._publish_results()
            if not (self._is_whole() and self._run_records()):
                self._flush_steps()
            failed, self._failed = self._failed, []
            untold = [error for error in failed if not error.is_told]
            for error in failed:
                error.forget_arrays()
            if untold:
                first, *others = untold
                for other in others:
                    first.add_note(f"Another step failed in the same flush: {other}")
                    other.is_told = True
                raise without_traceback(first)

    def _is_whole(self) -> bool:
        """Tell whether all that is recorded are records, which may run by one plan; see Note [Whole plans]."""
        if not self._takes_plans or self._steps or self._running or len(self.records) < 2 or has_poisoned_arrays():
            return False
        return self.outer is None or self.outer.is_empty

    def _recognised(self) -> tuple[Plan, ProgramFingerprint] | None:
        """Find the plan that was made for what is noted, by a guard or by a fingerprint, which is noted in a guard then."""
        records = self.records[:]
        take = partial(self._first_steps, len(records))
        fuse = self.options["fuse"]
        known = guards.find(records, fuse=fuse)
        if known is not None:
            plan, values, kept = known
            found = ProgramFingerprint(records, take)
            found.values, found.pending = values, kept
            return plan, found
        if are_all_observable(records) is False:
            return None
        taken = fingerprint(records, fuse=fuse, take=take)
        if taken is None:
            return None
        kept_plan = plans.cached(taken.key)
        if kept_plan is None or not kept_plan.is_whole:
            self._key = taken.key
            return None
        guards.keep(records, taken, kept_plan, fuse=fuse)
        return kept_plan, taken

    def _first_steps(self, count: int) -> Sequence[Step]:
        return self.steps[:count]

    def _run_records(self) -> bool:
        """Run what was noted, if there is a plan that runs all of it; see Note [Whole plans]."""
        started = perf_counter_ns()
        try:
            known = self._recognised()
        except TypeError:  # An argument that cannot be a key.
            known = None
        stats = self.stats
        planned = perf_counter_ns()
        stats.plan_time += planned - started
        if known is None:
            return False
        plan, found = known
        run = PlanRun(plan, found, stats)
        self._runs.append(run)
        failed = False
        self._running += 1
        try:
            with paused(found.state):
                failed = run(None)
            if not found.has_steps:
                self._forget_records(found.count)
        except BaseException:
            self._put_back(found.steps)
            raise
        finally:
            self._runs.remove(run)
            self._running -= 1
            if failed:
                self._keep_failures(found.steps)
            self._tidy()
            stats.cache_hits += 1
            stats.impl_time += perf_counter_ns() - planned
        return True

    def _forget_records(self, count: int) -> None:
        taken = slice(count)
        # See `take_records`.
        self._times_taken += 1
        del self.records[taken]
        self.stats.recorded += count

    def _flush_steps(self) -> None:
        """Run what somebody can observe, and forget the rest; note where a plan runs all that was surveyed."""
        key, self._key = self._key, None
        steps = self.steps[:]
        chosen = observable_steps(steps)
        if self.outer is not None and chosen:
            self.outer._prepare(chosen)
        self._run(chosen)
        # What a callback has recorded is not among these.
        self._drop(steps, chosen)
        if key is not None and len(chosen) == len(steps):
            plan = plans.cached(key)
            if plan is not None:
                plan.is_whole = True

    def _prepare(self, steps: Sequence[Step], reads: Sequence[Any] = (), writes: Sequence[Any] = ()) -> None:
        """Run what has to run before another session runs ``steps`` and its caller reads and writes."""
        with self.lock:
            random = [RANDOM] if any(step.is_random for step in steps) else []
            read = [value for step in steps for value in step.inputs()]
            written = [value for step in steps for value in step.writes()]
            self._compute([*reads, *read, *random], [*writes, *written, *random])

    def _forget_unseen(self) -> None:
        """Forget what nobody can observe any more, and look again when there are twice as many steps."""
        with self.lock:
            steps = self.steps[:]
            self._drop(steps, observable_steps(steps))
            self._many = max(_MANY, 2 * len(self.steps))

    def _drop(self, steps: Sequence[Step], chosen: Sequence[Step]) -> None:
        """Forget those of ``steps`` that are not among ``chosen``."""
        kept = set(map(id, chosen))
        for step in steps:
            if not step.done and id(step) not in kept:
                # A step and its results refer to each other; what they keep alive is to go now.
                step.done, step.values, step.outputs = True, (), ()
                self.stats.dropped += 1
        self._tidy()

    #: Give the array of a pending value; the way from a value to what runs it.
    array_of = staticmethod(materialize_value)

    def _startable(self, steps: Sequence[Step]) -> Sequence[Step]:
        """Leave out what cannot run before a step ends that has begun; see Note [A step that has begun]."""
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

    def _run(self, steps: Sequence[Step]) -> None:
        """Run steps that were chosen, each under the masks of its call."""
        if self._running:
            steps = self._startable(steps)
        if not steps:
            return
        failed = False
        self._running += 1
        try:
            for state, group in _by_masks(steps):
                with paused(state):
                    if self.options["trace"]:
                        failed |= self._trace(group)
                    else:
                        progress, fuse = self.options["progress"], self.options["fuse"]
                        failed |= run_steps(group, self.stats, self._runs, progress, fuse=fuse)
        except BaseException:
            self._put_back(steps)
            raise
        finally:
            self._running -= 1
            if failed:
                self._keep_failures(steps)
            self._tidy()

    def _put_back(self, steps: Sequence[Step]) -> None:
        """Let steps that were interrupted run later; see Note [A step that has begun]."""
        for step in steps:
            if step.done and step.written:
                step.values = ()
            elif step.values:
                step.done = False

    def _publish_results(self) -> None:
        """See what has been made by plans that a kernel or a callback has interrupted, to be here."""
        for run in self._runs:
            run.publish_results()

    def _trace(self, steps: Sequence[Step]) -> bool:
        """Run steps one by one, with a line before each."""
        failed = False
        for step in steps:
            if not step.done:
                place = f", {step.line}" if step.line else ""
                call_trace.write(f"pipeline: {described(step)}{place}")
                failed |= run_steps((step,), self.stats, self._runs)
        return failed

    def _keep_failures(self, steps: Sequence[Step]) -> None:
        for step in steps:
            error = step.error
            if isinstance(error, PipelineError) and not any(error is known for known in self._failed):
                self._failed.append(error)

    def _tidy(self) -> None:
        """Take out the steps that have ended; see Note [Records become steps]."""
        if self._is_tidying:
            # A finaliser that asked for a value. Steps that are done may stay in the list for a while.
            return
        self._is_tidying = True
        try:
            if not self.is_empty:
                # What has begun stays until it ends: others may depend on it.
                self._steps[:] = [step for step in self.steps if step.values or not step.done]
            # In this order, because steps may be noted at any moment: too often yes is slow, too often no would be wrong.
            self.has_effects = False
            if not self.is_empty and any(step.written or step.is_random for step in self.steps[:]):
                self.has_effects = True
            if self._most_bytes is not None:
                self._bytes = sum(map(_bytes, self.steps[:]))
            self.remaining = self._count_remaining()
        finally:
            self._is_tidying = False

    def after_fork(self) -> None:
        """Be usable in a forked process, whatever another thread was doing with it."""
        if not self.lock.take_from_others():
            return
        self._publish_results()
        self._runs.clear()
        self._is_tidying, self._running = False, 0
        for step in self.steps:
            if step.done and step.values:
                if step.written:
                    mark(step, step_error(step, RuntimeError("the process was forked while another thread ran it")))
                else:
                    step.done = False


_END: Final = slice(sys.maxsize, None)
#: Fewer steps than these are not searched for what nobody can observe.
_MANY: Final = 512
_sessions: Final[set[weakref.ref[Session]]] = set()


def _living() -> list[Session]:
    # A list of the references is there at once, whatever other threads add meanwhile.
    return [session for reference in list(_sessions) if (session := reference()) is not None]


def _materialize_memory(array: Any) -> None:
    """Run what waits to read or write the memory of an array, whoever has recorded it: it is handed out."""
    if _sessions:
        key = storage_key(array)
        for session in _living():
            if session.touches(key):
                session.run_before_write((array,))


BEFORE.append(_materialize_memory)


forks.FIRST.append(lambda: [session.lock for session in _living()])


def _after_fork() -> None:
    forget_others()
    for session in _living():
        session.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _by_masks(steps: Sequence[Step]) -> Iterable[tuple[context.State | None, Sequence[Step]]]:
    """Cut steps into runs that were recorded under the same masks."""
    first = steps[0].state
    if all(step.state == first for step in steps):
        return ((first, steps),)
    return [(state, tuple(group)) for state, group in groupby(steps, attrgetter("state"))]


def _meta_array(shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> Any:
    make = owners.KEY_TYPES[DispatchKey.Meta][0].empty
    assert make is not None
    return make(shape, strides, dtype)


def _is_missing(value: Any) -> bool:
    return isinstance(value, Pending) and value.value is None


def _bytes(step: Step) -> int:
    """Return how much memory the results of a step take up; views take none."""
    plan = step.entry.plan
    if plan is None or any(result.kind == "view" for result in plan.results):
        return 0
    total = 0
    for output in step.outputs:
        if output is not None:
            total += math.prod(output.shape) * getattr(output.dtype, "itemsize", 1)
    return total
