"""Streams and events, as users have them, and as the interface says them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_core import ops
from dispatch_core.runtime import current_stream

from ..agreement import TestedDevice
from ..comparing import DisagreementError, compare_values
from ..drawing import Array, Draw
from ..placing import get, put
from .absence import require
from .holding import LATE, hold_commands, open_gate

#: How many rounds of work are queued before a question.
ROUNDS: Final = 20


def floats(device: TestedDevice, *shape: int) -> Array:
    """Draw values of the widest dtype that the device has."""
    name = next(name for name in ("float64", "float32", "float16") if name in device.dtypes)
    return Draw(5).f(*shape).astype(name)


def work(array: Any, rounds: int = ROUNDS, one: Any = 1) -> Any:
    """Queue additions of one, of which each needs the one before."""
    for _ in range(rounds):
        array = ops.aten.add(array, one)
    return array


def _say(condition: bool, text: str) -> None:
    if not condition:
        raise DisagreementError(text)


def check_streams(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Make streams current, wait for them, and compare the results of work on two that are ordered by waiting."""
    [streams] = require(interface, "streams")
    default, other = streams.default(0), streams.create(0, 0)
    _say(default == streams.default(0), "default(0) answers with two streams that are not equal")
    _say(other != default, "create(0, 0) answers with the default stream")
    _say(streams.create(0, 0) != other, "create(0, 0) answers twice with the same stream")
    _say(isinstance(hash(other), int), "streams cannot be hashed")
    before = streams.current(0)
    try:
        former = streams.exchange(0, other)
        _say(former == before, f"exchange() returns {former!r}, and the current stream was {before!r}")
        _say(streams.current(0) == other, "after exchange() another stream is current than the one given")
        seen: list[Any] = []
        thread = threading.Thread(target=lambda: seen.append(streams.current(0)))
        thread.start()
        thread.join()
        _say(seen == [default], "another thread's current stream is not the default one")
    finally:
        streams.exchange(0, before)
    _say(streams.current(0) == before, "exchange() does not make the former stream current again")
    values = floats(device, 1025)
    stream = dc.Stream(device.name)
    with stream:
        made = work(put(values, device.name))
    stream.synchronize()
    _say(stream.query(), "a stream is not done after synchronize()")
    compare_values("", "the result of work on a stream", get(made), values + ROUNDS)
    if interface.events is not None:
        with stream:
            made = work(put(values, device.name))
        current_stream(device.name).wait_stream(stream)
        compare_values("", "work after another stream's", get(work(made, 1)), values + ROUNDS + 1)
    return 10


def check_events(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Record events after work: they are done when it is, not before; times run forwards."""
    events, streams = require(interface, "events", "streams")
    stream = streams.current(0)
    never = dc.Event(device.name)
    _say(never.query(), "an event that was never recorded is not done")
    count = 1
    if interface.queue is not None:
        count += _check_delayed_event(device, interface)
    event = events.create(0)
    values = floats(device, 257)
    made = work(put(values, device.name))
    events.record(event, stream)
    events.synchronize(event)
    _say(events.query(event), "an event is not done after synchronize()")
    events.wait(event, stream)
    compare_values("", "work before an event", get(made), values + ROUNDS)
    if interface.timed_event is not None:
        start, end = interface.timed_event(0), interface.timed_event(0)
        events.record(start, stream)
        work(put(values, device.name))
        events.record(end, stream)
        events.synchronize(end)
        elapsed = events.elapsed_time(start, end)
        _say(isinstance(elapsed, float) and elapsed >= 0, f"elapsed_time(start, end) is {elapsed!r} milliseconds")
        back = events.elapsed_time(end, start)
        _say(back <= 0, f"elapsed_time(end, start) is {back!r} milliseconds")
        count += 2
    return count + 3


def _check_delayed_event(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Hold back the device's commands: an event after them is not done before they are."""
    values = floats(device, 65)
    array, one = put(values, device.name), put(np.ones_like(values), device.name)
    with hold_commands(device, interface) as held:
        made = work(array, 3, one)
    event = interface.events.create(0)
    interface.events.record(event, interface.streams.current(0))
    is_late = held.is_on
    if is_late and interface.events.query(event) and held.is_on:
        raise DisagreementError("an event is done before the commands that were queued before it")
    interface.events.synchronize(event)
    if is_late and not held.gate.is_set():
        raise DisagreementError("synchronize(event) returns before the commands that were queued before it are done")
    held.gate.wait()
    compare_values("", "work that was held back", get(made), values + 3)
    return 2


def check_waiting(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Tell a stream to wait for an event of another one, whose work is late: what it is given afterwards runs later.

    Until then the other stream has work to do.
    """
    events, streams = require(interface, "events", "streams")
    for rounds, size in LATE:
        first, second = streams.create(0, 0), streams.create(0, 0)
        values = -1.5 * floats(device, size)
        array, one = put(values, device.name), put(np.ones_like(values), device.name)
        dc.synchronize(device.name)
        with hold_commands(device, interface) as held, on_stream(streams, first):
            made = work(array, rounds, one)
        is_late = held.is_on
        try:
            if is_late and streams.query(first) and held.is_on:
                raise DisagreementError("query(stream) says that a stream is done, and commands wait on it")
            event = events.create(0)
            events.record(event, first)
            events.wait(event, second)
            with on_stream(streams, second):
                later = work(made, 1, one)
            if is_late and streams.query(second) and held.is_on:
                raise DisagreementError(
                    "query(stream) says that a stream is done which was told to wait for an event, and the commands"
                    " before the event are not done: wait(event, stream) does not hold back the stream's later work"
                )
        finally:
            open_gate(device, held)
        where = "work on a stream that was told to wait for an event, wait(event, stream), after late work on another"
        compare_values("", where, get(later), values + rounds + 1)
        if is_late:
            break
    return 3


@contextmanager
def on_stream(streams: Any, stream: Any) -> Iterator[None]:
    """Make a stream of the first device current for a block."""
    before = streams.exchange(0, stream)
    try:
        yield
    finally:
        streams.exchange(0, before)
