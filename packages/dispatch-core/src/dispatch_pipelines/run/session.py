"""A pipeline as blocks and recorders use it: it is opened, records calls, and ends."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from dispatch_core import forks
from dispatch_core.arrays import access, owners
from dispatch_core.arrays.late_arrays import LISTENERS
from dispatch_core.arrays.lent_memory import BEFORE, LENT, is_lent
from dispatch_core.interrupts import whole
from dispatch_core.keys import context
from dispatch_core.keys.table import DispatchKey
from dispatch_core.surroundings.logs import DEBUG, Log

from ..record.array_specs import keep_spec, read_spec
from ..record.blocks import Block, current, paused, tidy
from ..record.callers import caller_location
from ..record.errors import before_read, has_poisoned_arrays
from ..record.liveness import RANDOM, storage_keys_in
from ..record.materialization import materialize_value, to_step_argument
from ..record.pending import Pending, describe, known_spec, known_storage_key, storage_key
from ..record.steps import Step, step_type
from .executors import with_arrays
from .lock import forget_others
from .scheduler import Scheduler
from .stream_changes import OwnStreams

if TYPE_CHECKING:
    from ..capture.capturing import Recording

_LOG: Final = Log("pipelines")
#: Bytes of lent memory that are copied for a call.
MOST_COPIED: Final = 1 << 16


class Session(Scheduler):
    """A pipeline's blocks, and the calls that are recorded in them."""

    outer: Session | None
    #: Refers to the object that holds ``__exit__`` while a block is open; see Note [Abandoned pipelines] in `blocks`.
    handle: weakref.ref[object] | None = None
    #: Whether `close` or `abandon` has ended its blocks. A generator in a cycle is closed after its handle is gone.
    is_closed = False
    #: Whether it was opened, and has not been flushed since by the end of its last block.
    is_unfinished = False
    #: The record of a captured function's call for its replays, while it is made; see `capturing`.
    recording: Recording | None = None
    #: Whether views of arrays that are there wait, too, and writes to any: in a captured function's call they do.
    defers_all = False

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        #: Whether the user promises not to write to memory that tensors share.
        self.ignores_lent: bool = options["inputs_unchanged"]
        #: The threads in open blocks of streams, and the one whose changes of streams are recorded; see `stream_changes`.
        self.stream_threads: list[int] = []
        self.streams_of = 0
        #: The blocks that are open, in all contexts.
        self.blocks: list[Block] = []
        _sessions.add(weakref.ref(self, _sessions.discard))

    # Questions of the recorders, to which a captured function's call has answers of its own.

    def meet(self, values: tuple[Any, ...], unread: Collection[int]) -> tuple[Any, ...]:
        """Return the arguments of a call as steps keep them; the values at the places ``unread`` do not matter to it."""
        return values

    def ask(self, rule: Callable[..., Any], values: Iterable[Any]) -> None:
        """Find out on which live numbers among the arguments a shape rule's answer depends."""

    def put(self, operator: str, make: Callable[..., Any], values: tuple[Any, ...]) -> Any:
        """Make an array of the host's data."""
        return make(*values)

    def check_eager(self, operator: str, why: str) -> None:
        """Refuse a call that runs at once, where it must be recorded."""

    # Opening and ending.

    def open(self, outer: Session | None) -> None:
        """Begin to record inside another session, or inside none."""
        self.outer, self.is_closed, self.is_unfinished, self.is_open = outer, False, True, True
        self.streams_left.clear()
        self.count_remaining()

    def shut(self) -> None:
        """Stop recording: calls that another thread records from now on run at once."""
        self.is_open, self.remaining, self.handle = False, 0, None
        if not (self.records or self._steps):
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
        if _LOG.is_on(DEBUG):
            _LOG.debug("flush of %d calls: the block ends", self.waiting)
        try:
            self.flush()
        except Exception:
            self.is_unfinished = self.is_open
            raise
        self.is_unfinished = self.is_open

    def close(self) -> None:
        """End all blocks of the pipeline, in every thread and task, and flush: ``dc.current_pipeline().close()``.

        For a pipeline that an interrupt has left open while a name keeps it alive. Leaving its blocks does nothing then.
        Raises as `flush` does.
        """
        self.abandon()
        try:
            self.finish()
        finally:
            tidy()

    # Recording.

    def take(self, value: object) -> tuple[Any, Any, Hashable]:
        """Return an argument as a step keeps it, its array spec and, where other values may share its memory, its key."""
        if not isinstance(value, Pending):
            _, spec, key = keep_spec(value)
            return value, spec, key
        value = to_step_argument(value, self)
        return value, describe(value), known_storage_key(value)

    def take_list(self, tensors: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...]]:
        """Return the arguments in a list of tensors as a step keeps them, and their array specs."""
        values = [to_step_argument(access.to_data(tensor), self) for tensor in tensors]
        return values, tuple([known_spec(value) for value in values])

    @staticmethod
    def has_lent(values: Sequence[Any]) -> bool:
        """Return whether memory of one of the values may be lent."""
        return any(storage_key(value) in LENT for value in values if value is not None)

    def copy_lent(self, made: type[Pending], array: object, spec: object) -> Pending | None:
        """Return a copy of an array that the user may write to, as a computed value; None where the call cannot wait.

        See Note [Copies of lent memory] in `recording`.
        """
        if (self.has_effects or self.outer is not None or has_poisoned_arrays()) and self._may_change(array):
            return None
        reader = owners.ARRAY_TYPES[type(array)]
        if reader.copy_span is None:
            return None
        try:
            found = reader.copy_span((array,), MOST_COPIED)
        except Exception as error:  # noqa: BLE001  # see Note [Readers belong to vendors] in `access`
            fault = access.unread(reader, "copy_span", error)
            raise fault from fault.__cause__
        if found is None:
            return None
        self.stats.copies += 1
        copy = made()
        copy.meta, copy.session, copy.value = spec, self, found[0]
        copy.shared = copy.error = None
        return copy

    def copy_all_lent(self, made: type[Pending], values: Sequence[Any]) -> list[Any] | None:
        """Return arguments with copies of the arrays that the user may write to; see `copy_lent`.

        Arrays in one memory share a copy, where they do not lie far apart in a large one.
        """
        memories: dict[Hashable, dict[int, Any]] = {}
        for each in values:
            key = None if each is None else known_storage_key(each)
            if key is not None and is_lent(key):
                if isinstance(each, Pending):
                    return None
                memories.setdefault(key, {})[id(each)] = each
        copied: dict[int, Any] = {}
        for arrays in map(list, map(dict.values, memories.values())):
            found = None
            if len(arrays) > 1 and not self._may_change(arrays[0]):
                found = access.copy_span(arrays, MOST_COPIED)
            if found is None:
                copies = [self.copy_lent(made, array, read_spec(array)) for array in arrays]
            else:
                self.stats.copies += 1
                copies = []
                for array, value in zip(arrays, found, strict=True):
                    copy = made.of(read_spec(array), None, self)
                    copy.value = value
                    copies.append(copy)
            if None in copies:
                return None
            copied.update(zip(map(id, arrays), copies, strict=True))
        return [copied.get(id(each), each) for each in values]

    def _may_change(self, array: Any) -> bool:
        """Return whether a recorded call writes to the memory of an array, or some call has failed to write."""
        if has_poisoned_arrays():
            return True
        session: Any = self
        while session is not None:
            if session.written_keys and storage_key(array) in session.written_keys:
                return True
            session = session.outer
        return False

    def add(self, step: Step) -> None:
        """Keep a step for later; once it reaches a limit, flush, this step included."""
        # Asked before another thread may run the step, which lets go of its values.
        written = [known_storage_key(each) for each in step.writes()] if step.written and step.values else ()
        self.records.append(step)
        if step.written or step.is_random:
            # Only after the step itself: see `remove_ended`.
            self.has_effects = True
            self.written_keys.update(written)
        if len(self.records) >= self.remaining:
            self.check_limits()

    def own_streams(self) -> OwnStreams:
        """Return a guard for a block of a stream."""
        return OwnStreams(self)

    def order(self, entry: Any, key: DispatchKey, values: tuple[Any, ...]) -> None:
        """Record that the current stream of a device changes, or an event, by an operator of ``streams``."""
        if self.recording is not None and self.recording.is_open:
            values = self.recording.streams.translate(values[0], values, entry.name, self.recording.guard)
        kind = step_type(entry, key.value, (), device=key, orders_streams=True)
        self.orders_streams = True
        self.add(kind.of(values, (), *caller_location()))

    def run_eagerly(self, step: Step, why: str) -> Any:
        """Run a step that cannot be recorded, after the steps that it needs, under the masks of the call."""
        reads = tuple(step.inputs())
        for value in reads:
            if isinstance(value, Pending) and value.session is not self:
                value.session.compute((value,))
        random = (RANDOM,) if step.is_random else ()
        self.run_before((*reads, *random), (*step.writes(), *random))
        values = tuple(map(with_arrays, step.values))
        with paused(context.current()):
            found = step.entry.explicit_table[step.mask](*values)
        self.stats.count_eager(step.name, why)
        _LOG.debug("%s has run at once: %s", step.name, why)
        return found

    def touches(self, key: Hashable) -> bool:
        """Return whether a recorded call reads or writes memory; a look without the lock, as others may be recording."""
        records = [record[1] if isinstance(record, tuple) else record.values for record in self.records[:]]
        return any(key in storage_keys_in(values) for values in (*records, *[step.values for step in self._steps[:]]))

    #: Return the array of a pending value; the way from a value to the steps that it needs.
    materialize = staticmethod(materialize_value)


_sessions: Final[set[weakref.ref[Session]]] = set()


def _living() -> list[Session]:
    # A list of the references is there at once, whatever other threads add meanwhile.
    return [session for reference in list(_sessions) if (session := reference()) is not None]


def _materialize_memory(array: object) -> None:
    """Run the steps of every pipeline that read or write the memory of an array, because the user gets it."""
    if _sessions:
        key = storage_key(array)
        for session in _living():
            if session.touches(key):
                session.run_before((), (array,))
    before_read(array)


BEFORE.append(_materialize_memory)


def _count_computed(operator: str, arrays: int) -> None:
    session = current()
    if session is not None:
        session.stats.computed[operator] += arrays


LISTENERS.append(_count_computed)


forks.FIRST.append(lambda: [session.lock for session in _living()])


def _after_fork() -> None:
    forget_others()
    for session in _living():
        session.recover_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
