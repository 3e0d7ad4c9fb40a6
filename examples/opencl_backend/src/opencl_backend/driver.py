"""The OpenCL devices of this machine, and their streams and events; nothing here knows about arrays."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from typing import Any, Final, NamedTuple

import pyopencl as cl

import dispatch_core as dc


class Driver(NamedTuple):
    """A context, which owns memory and programs for all of its devices."""

    context: Any
    devices: tuple[Any, ...]


@functools.cache
def find_devices() -> tuple[Any, ...]:
    """Return the first platform's devices that compute in double precision; a single processor is two halves.

    Raises ``cl.Error`` where no driver is installed.
    """
    for platform in cl.get_platforms():
        found = [device for device in platform.get_devices() if device.double_fp_config]
        if len(found) == 1 and (half := found[0].max_compute_units // 2):
            try:
                return tuple(found[0].create_sub_devices([cl.device_partition_property.EQUALLY, half]))[:2]
            except cl.Error:
                pass  # a processor that cannot be divided
        if found:
            return tuple(found)
    return ()


@functools.cache
def driver() -> Driver:
    """Open the devices, once in the process."""
    if _lost:
        raise dc.BackendError(
            "opencl was opened before this process was forked, and cannot be used in the child",
            hint="start processes by 'spawn', or open the device in the child alone",
        )
    os.register_at_fork(after_in_child=_lose)
    return Driver(cl.Context(list(find_devices())), find_devices())


def _lose() -> None:
    """Refuse the devices from now on: the threads of a driver are not in a forked process, and waiting would not end."""
    _lost.append(True)
    driver.cache_clear()


def is_open() -> bool:
    """Return whether the devices have been opened."""
    return driver.cache_info().currsize > 0


class Stream:
    """A queue that does its work in order, one command after the other."""

    def __init__(self, index: int) -> None:
        self.index = index
        profile = cl.command_queue_properties.PROFILING_ENABLE
        self.queue = cl.CommandQueue(driver().context, driver().devices[index], profile)
        #: The last command: as a stream is in order, all are done when this one is.
        self.last: Any = None
        _streams.add(self)


class Event:
    """A mark in a stream: the command that ends when all work before it has ended."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.command: Any = None


class _Thread(threading.local):
    """The current device and streams of a thread."""

    def __init__(self) -> None:
        self.index = 0
        self.streams: dict[int, Stream] = {}


_thread: Final = _Thread()
#: Has an entry in a process that was forked after its parent had opened the devices.
_lost: Final[list[bool]] = []
#: Every stream that lives, because a device is synchronized when all of its streams are.
_streams: Final[weakref.WeakSet[Stream]] = weakref.WeakSet()


def current_device() -> int:
    """Return the index of the thread's device."""
    return _thread.index


def exchange_device(index: int) -> int:
    """Make another device the thread's, and return the former."""
    before, _thread.index = _thread.index, index
    return before


def synchronize(index: int | None = None) -> None:
    """Wait until all streams of a device are done, by default those of all devices."""
    for stream in list(_streams):
        if index in (None, stream.index):
            stream.queue.finish()


def _is_done(command: Any) -> bool:
    return bool(command.command_execution_status == cl.command_execution_status.COMPLETE)


class Streams:
    """The functions of streams that the device's interface asks for."""

    @staticmethod
    @functools.cache
    def default(index: int) -> Stream:
        """Return the stream that threads use until they choose another."""
        return Stream(index)

    @staticmethod
    def create(index: int, priority: int = 0) -> Stream:
        """Return a new stream; OpenCL's queues have no priorities without an extension."""
        return Stream(index)

    @staticmethod
    def current(index: int) -> Stream:
        """Return the thread's stream on a device."""
        return _thread.streams.get(index) or Streams.default(index)

    @staticmethod
    def exchange(index: int, stream: Stream) -> Stream:
        """Make a stream the thread's, and return the former."""
        before = Streams.current(index)
        _thread.streams[index] = stream
        return before

    @staticmethod
    def query(stream: Stream) -> bool:
        """Return whether a stream has no work left."""
        return stream.last is None or _is_done(stream.last)

    @staticmethod
    def synchronize(stream: Stream) -> None:
        """Wait until a stream has no work left."""
        stream.queue.finish()

    @staticmethod
    def record(array: Any, stream: Stream) -> None:
        """Do nothing: memory remembers the commands that use it, on whichever stream."""


class Events:
    """The functions of events; each command of a queue with profiling knows its times."""

    @staticmethod
    def create(index: int) -> Event:
        """Return a new event."""
        return Event(index)

    @staticmethod
    def record(event: Event, stream: Stream) -> None:
        """Mark the end of the stream's work."""
        event.command = stream.last = cl.enqueue_marker(stream.queue)
        stream.queue.flush()

    @staticmethod
    def wait(event: Event, stream: Stream) -> None:
        """Make the stream's later work wait for the event."""
        stream.last = cl.enqueue_barrier(stream.queue, wait_for=[event.command])
        stream.queue.flush()

    @staticmethod
    def query(event: Event) -> bool:
        """Return whether the work before the event is done."""
        return _is_done(event.command)

    @staticmethod
    def synchronize(event: Event) -> None:
        """Wait until the work before the event is done."""
        event.command.wait()

    @staticmethod
    def elapsed_time(start: Event, end: Event) -> float:
        """Return the milliseconds between two events."""
        return float(end.command.profile.end - start.command.profile.end) / 1e6
