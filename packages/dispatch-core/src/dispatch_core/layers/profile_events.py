"""The records of a profile: calls, named regions and stages of pipelines, and their sums."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ..keys.keyset import DispatchKeySet
from .stages import StageKind

EventKind = Literal["operator", "region"] | StageKind


@dataclass(slots=True)
class CallEvent:
    """One call, region or stage: times in nanoseconds, the keys it arrived with, and the shapes of its tensor arguments."""

    name: str
    start: int
    depth: int
    keys: DispatchKeySet
    shapes: tuple[tuple[int, ...], ...]
    thread: int
    duration: int = 0
    #: The part of the duration that recorded calls inside this one took.
    children: int = 0
    #: Bytes of the new results of this call and of recorded calls inside it, and of the latter alone.
    memory: int = 0
    children_memory: int = 0
    kind: EventKind = "operator"
    #: The kernel that ran, by its key and place, where the calls are those of a trace.
    kernel: str = ""
    #: The name of its function.
    function: str = ""
    #: Of a stage of a pipeline: the calls that it runs, where they were recorded in the same profile.
    recorded: tuple[CallEvent, ...] = ()
    #: Where device times were asked for: the stream, or "", and when a device began with the call and how long it took,
    #: recorded calls inside it included, and these alone.
    stream: str = ""
    device_start: int = 0
    device_duration: int = 0
    device_children: int = 0

    @property
    def self_device_duration(self) -> int:
        """Return the device's time that no recorded call inside this one took, in nanoseconds."""
        return max(self.device_duration - self.device_children, 0)

    @property
    def self_duration(self) -> int:
        """Return the time that no recorded call inside this one took, in nanoseconds."""
        return self.duration - self.children

    @property
    def self_memory(self) -> int:
        """Return the bytes of new results that no recorded call inside this one made."""
        return self.memory - self.children_memory


@dataclass(slots=True)
class OperatorStats:
    """All calls of one operator, or those with equal shapes or keys: how many, how long in nanoseconds, and their bytes."""

    name: str
    calls: int = 0
    total: int = 0
    self_total: int = 0
    #: The device and layout keys of the calls.
    keys: set[str] = field(default_factory=set)
    #: The shapes of the tensor arguments where calls are grouped by them, else None.
    shapes: tuple[tuple[int, ...], ...] | None = None
    #: Bytes of new results; ``self_memory`` without those that recorded calls inside these made.
    memory: int = 0
    self_memory: int = 0
    kind: EventKind = "operator"
    #: The device's time, and that without recorded calls inside these, where it was asked for.
    device_total: int = 0
    self_device_total: int = 0

    @property
    def mean(self) -> float:
        """Return the time of one call, in nanoseconds."""
        return self.total / self.calls if self.calls else 0.0


#: The kinds of events that are stages of a pipeline; tables show the kind before the name.
STAGES: Final = frozenset(["meta", "plan", "impl", "flush"])


def group_events(events: Iterable[CallEvent], *, by_shapes: bool, by_keys: bool) -> list[OperatorStats]:
    """Return the sums of events of the same name, and of equal shapes and keys as asked, the one called most first."""
    rows: dict[Any, OperatorStats] = {}
    for event in events:
        keys = {key.label for key in event.keys if key.owns_arrays}
        shapes = event.shapes if by_shapes else None
        group = event.kind, event.name, shapes, frozenset(keys) if by_keys else None
        row = rows.get(group)
        if row is None:
            row = rows[group] = OperatorStats(event.name, shapes=shapes, kind=event.kind)
        row.calls += 1
        row.total += event.duration
        row.self_total += event.self_duration
        row.memory += event.memory
        row.self_memory += event.self_memory
        row.device_total += event.device_duration
        row.self_device_total += event.self_device_duration
        row.keys |= keys
    return sorted(rows.values(), key=lambda row: (-row.calls, row.name, row.shapes or (), sorted(row.keys)))
