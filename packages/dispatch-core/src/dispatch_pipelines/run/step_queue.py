"""The calls that a pipeline has recorded and not run yet.

Note [Records become steps]
    A recorder appends a tuple for each call, which is the quickest object that CPython makes, and takes no lock. Everything
    else happens under the lock (`lock`): who looks at the steps, to run some, first makes steps of the records. So a call
    that is recorded meanwhile is never lost, and each value is computed once.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from typing import Any, Final

from ..record.liveness import are_all_observable, observable_steps
from ..record.pending import known_storage_key
from ..record.stats import Stats
from ..record.steps import RecordedCall, Step, to_step
from . import limits
from .lock import PipelineLock


class StepQueue:
    """The recorded steps of a pipeline, until they have run or are dropped."""

    #: How often records were taken.
    _times_taken = 0
    #: Whether calls may be recorded.
    is_open = False
    #: Whether one of the steps may write to an argument or draw random numbers.
    has_effects = False
    #: Whether one of the steps changes the current stream, or orders streams; see Note [Streams of recorded calls] in
    #: `stream_changes`.
    orders_streams = False
    #: With how many records the limits are checked.
    remaining = 0
    _is_removing = False

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        #: The calls that have been recorded since steps were made; see Note [Records become steps].
        self.records: list[RecordedCall] = []
        self._steps: list[Step] = []
        #: The storage keys of the memory that they write to; None among them is memory that no other value shares.
        self.written_keys: set[Hashable] = set()
        #: Where calls that are recorded now will run, if their streams do not change, by device.
        self.streams_left: dict[Any, Any] = {}
        self.stats = Stats()
        #: Held while steps run; see Note [Records become steps].
        self.lock = PipelineLock()
        steps, size = options["max_ops"], options["max_bytes"]
        self.limits = limits.NONE if steps is size is None else limits.Limits(steps, size)

    @property
    def steps(self) -> list[Step]:
        """The recorded steps that have not run."""
        if self.records:
            with self.lock:
                self.take_records()
        return self._steps

    @property
    def is_empty(self) -> bool:
        """Whether all recorded steps have run."""
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
                # None of these lets a finaliser run, which might look at the steps, too.
                self._times_taken = times_taken + 1
                self._steps[_END], self.records[taken] = made, ()
                self.stats.recorded += len(made)
                self.limits.add_bytes(made)
        self.count_remaining()

    def count_remaining(self) -> None:
        """Set the number of records with which the limits are checked."""
        self.remaining = self.limits.most - len(self._steps) if self.is_open else 0

    def remove_records(self, count: int) -> None:
        """Remove the first records, which have run."""
        taken = slice(count)
        # See `take_records`.
        self._times_taken += 1
        del self.records[taken]
        self.stats.recorded += count

    def drop_unobservable(self) -> None:
        """Drop the steps that are not observable any more."""
        with self.lock:
            if not self._steps and not self.limits.has_bytes and are_all_observable(self.records[:]):
                self.limits = self.limits.postpone_search(len(self.records))
                return
            steps = self.steps[:]
            self.drop(steps, observable_steps(steps))
            self.limits = self.limits.postpone_search(len(self.steps))

    def drop(self, steps: Sequence[Step], chosen: Sequence[Step]) -> None:
        """Drop those of ``steps`` that are not among ``chosen``."""
        kept = set(map(id, chosen))
        for step in steps:
            if not step.done and id(step) not in kept:
                step.drop()
                self.stats.dropped += 1
        self.remove_ended()

    def remove_ended(self) -> None:
        """Remove the steps that have ended; see Note [Records become steps]."""
        if self._is_removing:
            # A finaliser has asked for a value. Steps that are done may stay in the list for a while.
            return
        if not (self.records or self._steps or self.limits.has_bytes):
            self.has_effects = self.orders_streams = False
            self.written_keys.clear()
            if not self.records:  # in this order, as below
                if self.is_open:
                    self.count_remaining()
                return
        self._is_removing = True
        try:
            if not self.is_empty:
                # A step that has begun stays until it ends: others may depend on it.
                self._steps[:] = [step for step in self.steps if step.values or not step.done]
            # In this order, because calls may be recorded at any moment: True too often is slow, False would be wrong.
            self.has_effects = self.orders_streams = False
            self.written_keys.clear()
            for step in () if self.is_empty else self.steps[:]:
                if step.orders_streams:
                    self.orders_streams = True
                if step.written or step.is_random:
                    self.has_effects = True
                    self.written_keys.update(map(known_storage_key, step.writes()))
            if self.limits.has_bytes:
                self.limits.recount_bytes(self.steps[:])
            self.count_remaining()
        finally:
            self._is_removing = False


_END: Final = slice(sys.maxsize, None)
