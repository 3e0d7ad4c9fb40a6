"""The Profiler layer: a fallback under the Profiler key that times every call and passes it on."""

from __future__ import annotations

import json
import os
import threading
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Final, Literal, Self

from ..arrays import access, owners
from ..errors import ArgumentError
from ..interrupts import Guard, by_subscript, whole
from ..keys import context
from ..keys.keyset import DispatchKeySet
from ..keys.table import DispatchKey
from ..operators.overloads import OpOverload
from ..operators.registries import Registry, the_registry


@dataclass(slots=True)
class CallEvent:
    """One call: times in nanoseconds, the keys it arrived with, and the shapes of its tensor arguments."""

    name: str
    start: int
    depth: int
    keys: DispatchKeySet
    shapes: tuple[tuple[int, ...], ...]
    thread: int
    duration: int = 0
    #: The part of the duration that recorded calls inside this one took.
    children: int = 0

    @property
    def self_duration(self) -> int:
        """Return the time that no recorded call inside this one took, in nanoseconds."""
        return self.duration - self.children


@dataclass(slots=True)
class OperatorStats:
    """All calls of one operator, or those with equal shapes or keys: how many, and how long in nanoseconds."""

    name: str
    calls: int = 0
    total: int = 0
    self_total: int = 0
    #: The device and layout keys of the calls.
    keys: set[str] = field(default_factory=set)
    #: The shapes of the tensor arguments where calls are grouped by them, else None.
    shapes: tuple[tuple[int, ...], ...] | None = None


@dataclass(slots=True)
class _Session:
    """The part of a context's active profile that the layer needs."""

    registry: Registry
    events: list[CallEvent]
    record_shapes: bool
    #: Thread → the call under way; a context may be copied to other threads.
    parents: dict[int, CallEvent | None] = field(default_factory=dict)
    #: A task that was started in the block may outlive it, with the block's context.
    is_open: bool = True


_session: Final[ContextVar[_Session | None]] = ContextVar("dispatch_core.profile", default=None)
_set_session: Final = by_subscript(_session.set)


class profile(Guard):  # noqa: N801  # a context manager is spelled like a function
    """Record every call that this thread or task makes while the block runs (source: ``torch.profiler.profile``).

    ``record_shapes`` also keeps the shapes of tensor arguments. Calls inside composite operators are recorded as calls of
    their own, as children of the composite.

    >>> from dispatch_core import Library, Registry
    >>> r = Registry()
    >>> library = Library("demo", "DEF", registry=r)
    >>> name = library.define("twice(int x) -> int")
    >>> _ = library.impl("twice", lambda x: 2 * x)
    >>> with profile(registry=r) as p:
    ...     _ = r.dispatch("demo::twice", 2)
    >>> [(stats.name, stats.calls) for stats in p.key_averages()]
    [('demo::twice', 1)]
    """

    def __init__(self, *, record_shapes: bool = True, registry: Registry | None = None) -> None:
        self._tokens = None
        self._registry = the_registry(registry)
        self._record_shapes = record_shapes
        self.events: list[CallEvent] = []

    def __enter__(self) -> Self:
        self._registry.ensure_fallback(DispatchKey.Profiler, _record, with_keyset=True)
        session = _Session(self._registry, self.events, self._record_shapes)
        state, outer = context.with_included(DispatchKey.Profiler.value), self._tokens
        try:
            self._tokens = (_set_session[session], context.set_state[state], outer)
            return self
        except BaseException:
            self._leave(outer)
            raise

    @whole
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            token, state, outer = self._tokens  # type: ignore[misc]  # a profile that is left was entered
            # A task that was started in the block may outlive it, with the block's context.
            session = _session.get()
            if session is not None:
                session.is_open = False
            context.reset_state(state)
            _session.reset(token)
            self._tokens = outer
        except BaseException:
            self._finish()
            raise

    def key_averages(self, *, group_by_input_shape: bool = False, group_by_key: bool = False) -> list[OperatorStats]:
        """Return one row per operator, the one called most first (source: ``torch.profiler``, for the name).

        Rows are split further by the shapes of the tensor arguments, and by the device and layout keys, as asked.
        """
        rows: dict[Any, OperatorStats] = {}
        for event in self.events:
            keys = {key.label for key in event.keys if key.owns_arrays}
            shapes = event.shapes if group_by_input_shape else None
            group = event.name, shapes, frozenset(keys) if group_by_key else None
            row = rows.setdefault(group, OperatorStats(event.name, shapes=shapes))
            row.calls += 1
            row.total += event.duration
            row.self_total += event.self_duration
            row.keys |= keys
        return sorted(rows.values(), key=lambda row: (-row.calls, row.name, row.shapes or (), sorted(row.keys)))

    def table(
        self,
        *,
        sort_by: Literal["calls", "total", "self_total"] = "calls",
        row_limit: int | None = None,
        group_by_input_shape: bool = False,
        group_by_key: bool = False,
    ) -> str:
        """Return the rows of ``key_averages`` as a table, by ``sort_by`` in falling order; times in milliseconds.

        Raises ``ArgumentError`` for an unknown column.
        """
        if sort_by not in ("calls", "total", "self_total"):
            raise ArgumentError(f"profile.table: no column is named {sort_by!r}", hint="calls, total or self_total")
        rows = self.key_averages(group_by_input_shape=group_by_input_shape, group_by_key=group_by_key)
        rows = sorted(rows, key=lambda row: -getattr(row, sort_by))[:row_limit]
        width = max([len("operator"), *(len(row.name) for row in rows)])
        keys = [", ".join(sorted(row.keys)) or "-" for row in rows]
        # The last column is not padded.
        wide = max([len("keys"), *map(len, keys)]) if group_by_input_shape else 0
        lines = [f"{'operator':<{width}}  {'calls':>8}  {'total ms':>10}  {'self ms':>10}  {'keys':<{wide}}"]
        for row, spelled in zip(rows, keys, strict=True):
            times = f"{row.total / 1e6:>10.2f}  {row.self_total / 1e6:>10.2f}"
            lines.append(f"{row.name:<{width}}  {row.calls:>8,}  {times}  {spelled:<{wide}}")
        if group_by_input_shape:
            shapes = ["input shapes", *(", ".join(str(list(s)) for s in row.shapes or ()) or "-" for row in rows)]
            lines = [f"{line}  {shape}" for line, shape in zip(lines, shapes, strict=True)]
        return "\n".join(lines)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the calls in Chrome's trace format, which Perfetto opens; times in microseconds.

        Calls are complete events; threads are numbered from 1 in the order in which they first called, and named.
        """
        process = os.getpid()
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        # A thread's identity does not fit the 32 bits that the format's readers have for it.
        numbers = {thread: number for number, thread in enumerate(dict.fromkeys(e.thread for e in self.events), 1)}
        events: list[dict[str, Any]] = [
            {
                "name": "thread_name",
                "ph": "M",
                "pid": process,
                "tid": number,
                "args": {"name": names.get(thread, f"thread {thread}")},
            }
            for thread, number in numbers.items()
        ]
        events += [
            {
                "name": event.name,
                "cat": "operator",
                "ph": "X",
                "ts": event.start / 1e3,
                "dur": event.duration / 1e3,
                "pid": process,
                "tid": numbers[event.thread],
                "args": {"keys": [key.label for key in event.keys], "input shapes": [list(s) for s in event.shapes]},
            }
            for event in self.events
        ]
        Path(path).write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}), encoding="utf-8")


def _record(keyset: DispatchKeySet, op: OpOverload, /, *args: Any, **kwargs: Any) -> Any:
    """Time one call and pass it on below the Profiler key."""
    below = keyset - DispatchKey.Profiler
    session = _session.get()
    if session is None or not session.is_open or op._entry.registry is not session.registry:
        return op.redispatch(below, *args, **kwargs)
    thread = threading.get_ident()
    parent = session.parents.get(thread)
    event = CallEvent(
        op.name,
        perf_counter_ns(),
        0 if parent is None else parent.depth + 1,
        below,
        _shapes(args) + _shapes(tuple(kwargs.values())) if session.record_shapes else (),
        thread,
    )
    session.events.append(event)
    session.parents[thread] = event
    try:
        return op.redispatch(below, *args, **kwargs)
    finally:
        event.duration = perf_counter_ns() - event.start
        session.parents[thread] = parent
        if parent is not None:
            parent.children += event.duration


def _shapes(values: tuple[Any, ...]) -> tuple[tuple[int, ...], ...]:
    found: list[tuple[int, ...]] = []
    for value in values:
        if isinstance(value, list | tuple):
            found += _shapes(tuple(value))
        elif getattr(value, "_dispatch_mask", None) is not None or type(value) in owners.TYPE_MASKS:
            found.append(tuple(access.shape(value)))
    return tuple(found)
