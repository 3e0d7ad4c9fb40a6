"""The Profiler layer: a fallback under the Profiler key that times every call and passes it on."""

from __future__ import annotations

import json
import os
import threading
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Final, Literal, Self

from .. import arrays
from ..errors import ArgumentError
from ..keys import DispatchKey
from ..keyset import DispatchKeySet
from ..masks import include_keys
from ..ops import OpOverload
from ..registry import Registry
from ..registry import registry as process_registry

__all__ = ["Event", "OperatorStats", "profile"]


@dataclass(slots=True)
class Event:
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
    """All calls of one operator: how many, and how long in nanoseconds."""

    name: str
    calls: int = 0
    total: int = 0
    self_total: int = 0
    keys: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Session:
    """What the layer needs of the profile that is active in a context."""

    events: list[Event]
    record_shapes: bool
    parent: Event | None = None


_session: Final[ContextVar[_Session | None]] = ContextVar("dispatch_core.profile", default=None)


class profile:  # noqa: N801  # a context manager is spelled like a function
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
        self._registry = process_registry if registry is None else registry
        self._record_shapes = record_shapes
        self._guard = include_keys(DispatchKey.Profiler)
        self._tokens: list[Token[_Session | None]] = []
        self.events: list[Event] = []

    def __enter__(self) -> Self:
        with self._registry.lock:
            if DispatchKey.Profiler not in self._registry.fallbacks:
                self._registry.register_fallback(DispatchKey.Profiler, _record, with_keyset=True)
        self._tokens.append(_session.set(_Session(self.events, self._record_shapes)))
        self._guard.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._guard.__exit__(kind, error, trace)
        _session.reset(self._tokens.pop())

    def key_averages(self) -> list[OperatorStats]:
        """Return one row per operator, the one called most first."""
        rows: dict[str, OperatorStats] = {}
        for event in self.events:
            row = rows.setdefault(event.name, OperatorStats(event.name))
            row.calls += 1
            row.total += event.duration
            row.self_total += event.self_duration
            row.keys.update(key.label for key in event.keys if key.owns_arrays)
        return sorted(rows.values(), key=lambda row: (-row.calls, row.name))

    def table(self, *, sort_by: Literal["calls", "total", "self_total"] = "calls", row_limit: int | None = None) -> str:
        """Return the operators as a table, by ``sort_by`` in falling order; times in milliseconds.

        Raises ``ArgumentError`` for an unknown column.
        """
        if sort_by not in ("calls", "total", "self_total"):
            raise ArgumentError(f"profile.table: no column is named {sort_by!r}", hint="calls, total or self_total")
        rows = sorted(self.key_averages(), key=lambda row: -getattr(row, sort_by))[:row_limit]
        width = max([len("operator"), *(len(row.name) for row in rows)])
        lines = [f"{'operator':<{width}}  {'calls':>8}  {'total ms':>10}  {'self ms':>10}  keys"]
        lines += [
            f"{row.name:<{width}}  {row.calls:>8,}  {row.total / 1e6:>10.2f}  {row.self_total / 1e6:>10.2f}  "
            f"{', '.join(sorted(row.keys)) or '-'}"
            for row in rows
        ]
        return "\n".join(lines)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the calls in Chrome's trace format, which Perfetto opens; times in microseconds."""
        events = [
            {
                "name": event.name,
                "ph": "X",
                "ts": event.start / 1e3,
                "dur": event.duration / 1e3,
                "pid": os.getpid(),
                "tid": event.thread,
                "args": {"keys": [key.label for key in event.keys], "input shapes": [list(s) for s in event.shapes]},
            }
            for event in self.events
        ]
        Path(path).write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}), encoding="utf-8")


def _record(keyset: DispatchKeySet, op: OpOverload, /, *args: Any, **kwargs: Any) -> Any:
    """Time one call and pass it on below the Profiler key."""
    below = keyset - DispatchKey.Profiler
    session = _session.get()
    if session is None:
        return op.redispatch(below, *args, **kwargs)
    parent = session.parent
    event = Event(
        op.name,
        perf_counter_ns(),
        0 if parent is None else parent.depth + 1,
        below,
        _shapes(args) + _shapes(tuple(kwargs.values())) if session.record_shapes else (),
        threading.get_ident(),
    )
    session.events.append(event)
    session.parent = event
    try:
        return op.redispatch(below, *args, **kwargs)
    finally:
        event.duration = perf_counter_ns() - event.start
        session.parent = parent
        if parent is not None:
            parent.children += event.duration


def _shapes(values: tuple[Any, ...]) -> tuple[tuple[int, ...], ...]:
    found: list[tuple[int, ...]] = []
    for value in values:
        if isinstance(value, list | tuple):
            found += _shapes(tuple(value))
        elif getattr(value, "_dispatch_mask", None) is not None or type(value) in arrays.TYPE_MASKS:
            found.append(tuple(arrays.shape(value)))
    return tuple(found)
