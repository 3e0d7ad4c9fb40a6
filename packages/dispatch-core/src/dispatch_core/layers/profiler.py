"""The Profiler layer: a fallback under the Profiler key that times every call and passes it on."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter_ns
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from .. import devkit
from ..arrays import access, owners
from ..arrays.layouts import find_layout
from ..devices import Device
from ..errors import ArgumentError
from ..interrupts import Guard, by_subscript, whole
from ..keys import context
from ..keys.keyset import DispatchKeySet
from ..keys.table import DispatchKey
from ..operators.overloads import OpOverload
from ..operators.registries import Registry, the_registry
from .device_times import DeviceTimes
from .profile_events import CallEvent, EventKind, OperatorStats, group_events
from .stages import StageKind, active

if TYPE_CHECKING:
    from ..devkit import FlameGraph
    from ..display import DataTable

__all__ = ["CallEvent", "OperatorStats", "profile"]

_NO_KEYS: Final = DispatchKeySet()
_PIPELINE: Final = DispatchKey.Pipeline.value


@dataclass(slots=True)
class ProfileSession:
    """The part of a context's active profile that the layer needs."""

    registry: Registry
    events: list[CallEvent]
    stages: list[CallEvent]
    #: Thread → its name when it first called.
    threads: dict[int, str]
    record_shapes: bool
    profile_memory: bool
    #: Thread → the call under way; a context may be copied to other threads.
    parents: dict[int, CallEvent | None] = field(default_factory=dict)
    #: id of a result of a recorded call → the call.
    recorded: dict[int, CallEvent] = field(default_factory=dict)
    #: A task that was started in the block may outlive it, with the block's context.
    is_open: bool = True
    #: The times of devices, where they were asked for.
    device_times: DeviceTimes | None = None
    #: Returns the number of the thread that calls.
    identify: Callable[[], int] = threading.get_ident

    def begin(
        self,
        name: str,
        into: list[CallEvent],
        kind: EventKind,
        keys: DispatchKeySet = _NO_KEYS,
        shapes: tuple[tuple[int, ...], ...] = (),
    ) -> tuple[CallEvent, CallEvent | None]:
        """Record the begin of an event inside the one that is under way in this thread; return both."""
        thread = self.identify()
        try:
            parent = self.parents[thread]
        except KeyError:
            parent = None
            self.threads[thread] = threading.current_thread().name
        depth = 0 if parent is None else parent.depth + 1
        event = CallEvent(name, perf_counter_ns(), depth, keys, shapes, thread, kind=kind)
        into.append(event)
        self.parents[thread] = event
        return event, parent

    def end(self, event: CallEvent, parent: CallEvent | None) -> None:
        """Record the end of an event."""
        event.duration = perf_counter_ns() - event.start
        self.parents[event.thread] = parent
        if parent is not None:
            parent.children += event.duration
            parent.children_memory += event.memory
            # The results of a call are its own or those of calls inside it.
            parent.memory = max(parent.memory, parent.children_memory)

    @contextmanager
    def stage(self, kind: StageKind, name: str, made: Iterable[object] = ()) -> Iterator[None]:
        """Measure a stage of a pipeline; ``made`` are the values that recorded calls stand for."""
        if not self.is_open:
            yield
            return
        calls = {id(call): call for each in made if (call := self.recorded.get(id(each))) is not None}
        event, parent = self.begin(name, self.stages, kind)
        event.recorded = tuple(calls.values())
        times = self.device_times
        begun = times.begin(event) if times is not None and kind == "impl" else None
        try:
            yield
        finally:
            if times is not None:
                times.end(event, parent, begun)
            self.end(event, parent)


#: How many rows a notebook shows.
_SHOWN: Final = 40
_set_session: Final = by_subscript(active.set)


@contextmanager
def region(name: str) -> Iterator[None]:
    """Name a part of a program in the profile that is open; without one, do nothing.

    Raises ``ArgumentError`` for a name that is not a string.
    """
    if not isinstance(name, str):
        raise ArgumentError(f"region: the name must be a string, not {type(name).__qualname__}")
    session = _open_session()
    if session is None:
        yield
        return
    event, parent = session.begin(name, session.events, "region")
    try:
        yield
    finally:
        if session.device_times is not None:
            session.device_times.end(event, parent, None)
        session.end(event, parent)


class profile(Guard):  # noqa: N801  # a context manager is spelled like a function
    """Record every call that this thread or task makes while the block runs (source: ``torch.profiler.profile``).

    ``record_shapes`` also keeps the shapes of tensor arguments, ``profile_memory`` the bytes of new results, ``device`` the
    times that devices with timed events take, which the block waits for at its end. Calls inside
    composite operators are recorded as calls of their own, as children of the composite. In a pipeline a call takes the time
    of recording it; the `stages` are the shape rules, plans, kernels and flushes. Printed, the profile is its `table`.
    ``with dc.profile.region(name)`` gives a part of a program a name in the profile that is open, if one is.

    >>> from dispatch_core import Library, Registry
    >>> r = Registry()
    >>> library = Library("demo", "DEF", registry=r)
    >>> name = library.define("twice(int x) -> int")
    >>> _ = library.impl("twice", lambda x: 2 * x)
    >>> with profile(registry=r) as p:
    ...     with p.region("twice two"):
    ...         _ = r.dispatch("demo::twice", 2)
    >>> [(stats.name, stats.calls) for stats in p.key_averages()]
    [('demo::twice', 1), ('twice two', 1)]
    """

    region = staticmethod(region)

    def __init__(
        self,
        *,
        record_shapes: bool = True,
        profile_memory: bool = True,
        device: bool = False,
        registry: Registry | None = None,
    ) -> None:
        self._tokens = None
        self._device_times = DeviceTimes() if device else None
        self._registry = the_registry(registry)
        self._record_shapes, self._profile_memory = record_shapes, profile_memory
        #: Calls and regions, and stages of pipelines, each in the order in which they began.
        self.events: list[CallEvent] = []
        self.stages: list[CallEvent] = []
        self._threads: dict[int, str] = {}

    def __enter__(self) -> Self:
        self._registry.ensure_fallback(DispatchKey.Profiler, _record, with_keyset=True)
        session = ProfileSession(
            self._registry,
            self.events,
            self.stages,
            self._threads,
            self._record_shapes,
            self._profile_memory,
            device_times=self._device_times,
        )
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
            session = _open_session()
            if session is not None:
                session.is_open = False
                session.recorded.clear()
            context.reset_state(state)
            active.reset(token)
            self._tokens = outer
        except BaseException:
            self._finish()
            raise
        if self._device_times is not None:
            try:
                self._device_times.finish()
            except Exception:
                if error is None:
                    raise

    def key_averages(self, *, group_by_input_shape: bool = False, group_by_key: bool = False) -> list[OperatorStats]:
        """Return one row per operator and region, the one called most first (source: ``torch.profiler``, for the name).

        Rows are split further by the shapes of the tensor arguments, and by the device and layout keys, as asked.
        """
        return group_events(self.events, by_shapes=group_by_input_shape, by_keys=group_by_key)

    def table(
        self,
        *,
        sort_by: Literal[
            "calls", "total", "self_total", "mean", "memory", "self_memory", "device_total", "self_device_total"
        ] = "self_total",
        row_limit: int | None = None,
        group_by_input_shape: bool = False,
        group_by_key: bool = False,
    ) -> str:
        """Return the rows of ``key_averages``, and those of pipelines' stages, by ``sort_by`` in falling order.

        Own time is that which no recorded call inside took, and its percentages add up to 100. Memory is that of new
        results, kept or not. Raises ``ArgumentError`` for an unknown column.
        """
        return str(self._table(sort_by, row_limit, shapes=group_by_input_shape, keys=group_by_key))

    def _table(self, sort_by: str, row_limit: int | None, *, shapes: bool = False, keys: bool = False) -> DataTable:
        from .profile_table import make_table  # a profile may be read without

        every = [*self.events, *self.stages]
        rows = group_events(every, by_shapes=shapes, by_keys=keys)
        whole_time = sum(event.self_duration for event in every)
        shows_device = self._device_times is not None
        return make_table(
            rows,
            sort_by=sort_by,
            row_limit=row_limit,
            shows_shapes=shapes,
            whole=whole_time,
            shows_device=shows_device,
        )

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<profile: {', '.join(self._facts())}>"

    def _facts(self) -> list[str]:
        from ..display import show_number_of, show_size, show_time

        calls = sum(event.kind == "operator" for event in self.events)
        every = [*self.events, *self.stages]
        time, memory = sum(each.self_duration for each in every), sum(each.self_memory for each in every)
        facts = [show_number_of("call", calls), show_time(time)]
        return [*facts, show_size(memory)] if self._profile_memory else facts

    @devkit.for_notebooks
    def _repr_html_(self) -> str | None:
        parts = [self._table("self_total", _SHOWN).html()]
        graph = self.flame_graph()
        return devkit.to_fragment("profile", self._facts(), [graph.drawing(), *parts] if graph.total else parts)

    def flame_graph(self) -> FlameGraph:
        """Return the nested calls, regions and stages as a picture with widths that are times.

        It has the forms of a trace's picture: ``svg()``, ``html()`` and ``save(path)``; a notebook shows it.
        """
        return devkit.make_flame_graph([*self.events, *self.stages], self._threads)

    def export_stacks(self, path: str | os.PathLike[str]) -> None:
        """Write a line for each stack of nested calls with its own nanoseconds (source: ``torch.profiler``, for the name).

        speedscope and ``flamegraph.pl`` draw such files.
        """
        from ..files import write_text

        write_text(path, f"{self.flame_graph().folded_stacks()}\n")

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write calls, regions and stages in Chrome's trace format, which Perfetto opens; times in microseconds.

        Each thread has a track, one for each kind of stage of its pipelines, and each stream of a device one where device
        times were asked for; arrows lead from a recorded call to the
        kernel that ran it.
        """
        every = sorted([*self.events, *self.stages], key=lambda event: (event.start, event.depth))
        devkit.write_chrome_trace(path, every, self._threads)


def _open_session() -> ProfileSession | None:
    session = active.get()
    return session if isinstance(session, ProfileSession) and session.is_open else None


def _record(keyset: DispatchKeySet, op: OpOverload, /, *args: object, **kwargs: object) -> object:
    """Time one call and pass it on below the Profiler key."""
    below = keyset - DispatchKey.Profiler
    session: Any = active.get()
    if session is None or not session.is_open or op._entry.registry is not session.registry:
        return op.redispatch(below, *args, **kwargs)
    shapes = _shapes(args) + _shapes(tuple(kwargs.values())) if session.record_shapes else ()
    event, parent = session.begin(op.name, session.events, "operator", below, shapes)
    times = session.device_times
    begun = None if times is None or below.mask & _PIPELINE else times.begin(event, _named_device(op, args, kwargs))
    try:
        result = op.redispatch(below, *args, **kwargs)
        if session.profile_memory:
            event.memory = max(event.memory, _count_bytes(op, result))
        if below.mask & _PIPELINE:
            for each in result if isinstance(result, list | tuple) else (result,):
                session.recorded[id(access.to_data(each))] = event
        return result
    finally:
        if times is not None:
            times.end(event, parent, begun)
        session.end(event, parent)


def _named_device(op: OpOverload, args: tuple[object, ...], kwargs: dict[str, object]) -> Device | None:
    """Return the device that a factory's call names, on which it makes an array."""
    signature = op._entry.signature
    if signature is None or not signature.is_factory or signature.device_index is None:
        return None
    place = signature.device_index
    found = args[place] if place < len(args) else kwargs.get(signature.parameters[place].name)
    return found if isinstance(found, Device) else None


def _shapes(values: tuple[Any, ...]) -> tuple[tuple[int, ...], ...]:
    found: list[tuple[int, ...]] = []
    for value in values:
        if isinstance(value, list | tuple):
            found += _shapes(tuple(value))
        elif getattr(value, "_dispatch_mask", None) is not None or type(value) in owners.TYPE_MASKS:
            found += [tuple(access.shape(value))] if access.is_described(value) else []
    return tuple(found)


def _count_bytes(op: OpOverload, result: object) -> int:
    """Return how much memory the new results of a call take up; views, arguments and numbers take none."""
    signature = op._entry.signature
    if signature is None:
        return 0
    total = 0
    for promised, found in zip(signature.results, signature.unpack(result), strict=True):
        if promised.kind == "fresh":
            for each in found if promised.is_list else (found,):
                # The components of a tensor of a layout are counted by the calls that made them.
                if each is not None and find_layout(each) is None and access.is_described(each):
                    # A size that is not known yet is not computed for this.
                    sizes = [size or 0 for size in access.sizes_of(each)]
                    total += math.prod(sizes) * getattr(access.dtype(each), "itemsize", 1)
    return total
