"""Streams: queues that do their work in order. The device's interface takes this module for its functions."""

from __future__ import annotations

import functools
import threading
import weakref
from typing import Any, Final

import pyopencl as cl

from . import driver

_thread: Final = threading.local()


class Stream:
    """A queue of a device."""

    #: Every stream that lives, because a device is synchronized when all of its streams are.
    living: Final[weakref.WeakSet[Stream]] = weakref.WeakSet()

    def __init__(self, index: int) -> None:
        self.index, device = index, driver.find_devices()[index]
        self.queue = cl.CommandQueue(driver.open_context(), device, cl.command_queue_properties.PROFILING_ENABLE)
        #: The last command: as a stream is in order, all are done when this one is.
        self.last: Any = None
        Stream.living.add(self)


#: The stream that threads use until they choose another.
default: Final = functools.cache(Stream)


def create(index: int, priority: int = 0) -> Stream:
    """Return a new stream; without an extension OpenCL's queues have no priorities."""
    return Stream(index)


def current(index: int) -> Stream:
    """Return the thread's stream on a device."""
    return getattr(_thread, "streams", {}).get(index) or default(index)


def exchange(index: int, stream: Stream) -> Stream:
    """Make a stream the thread's, and return the former."""
    before = current(index)
    _thread.streams = {**getattr(_thread, "streams", {}), index: stream}
    return before


def is_done(command: Any) -> bool:
    """Return whether a command has ended."""
    return bool(command.command_execution_status == cl.command_execution_status.COMPLETE)


def query(stream: Stream) -> bool:
    """Return whether a stream has no work left."""
    return stream.last is None or is_done(stream.last)


def synchronize(stream: Stream) -> None:
    """Wait until a stream has no work left."""
    stream.queue.finish()


def synchronize_device(index: int) -> None:
    """Wait until everything on a device is done."""
    for stream in list(Stream.living):
        if stream.index == index:
            synchronize(stream)


def record(array: Any, stream: Stream) -> None:
    """Do nothing: a block of memory remembers the commands that use it, on whichever stream."""
