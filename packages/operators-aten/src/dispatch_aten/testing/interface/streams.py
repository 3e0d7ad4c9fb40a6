"""Streams and events, as users have them, and as the interface says them."""

from __future__ import annotations

import threading
import time
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_core import ops

from ..agreement import TestedDevice
from ..comparing import DisagreementError, compare_values
from ..drawing import Array, Draw
from ..placing import get, put
from .absence import require

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
        dc.current_stream(device.name).wait_stream(stream) if hasattr(dc, "current_stream") else stream.synchronize()
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
    gate = threading.Event()
    submit: Any = interface.queue

    def hold(function: Any, *arguments: Any) -> Any:
        def run(*given: Any) -> Any:
            gate.wait(_HELD)
            return function(*given)

        return submit(run, *arguments)

    values = floats(device, 65)
    array, one = put(values, device.name), put(np.ones_like(values), device.name)
    opener = threading.Timer(_SHORT, gate.set)
    interface.queue = hold
    opener.start()
    began = time.monotonic()
    try:
        made = work(array, 3, one)
        is_queued = time.monotonic() - began < _SHORT / 2 and not gate.is_set()
        event = interface.events.create(0)
        interface.events.record(event, interface.streams.current(0))
        if is_queued and interface.events.query(event) and not gate.is_set():
            raise DisagreementError("an event is done before the commands that were queued before it")
        interface.events.synchronize(event)
        if is_queued and not gate.is_set():
            raise DisagreementError(
                "synchronize(event) returns before the commands that were queued before it are done"
            )
    finally:
        gate.set()
        interface.queue = submit
    compare_values("", "work that was held back", get(made), values + 3)
    return 2


#: How long commands are held back, and how long they wait at most, in seconds.
_SHORT: Final = 0.3
_HELD: Final = 5.0
