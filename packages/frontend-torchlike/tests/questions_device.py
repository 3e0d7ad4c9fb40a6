"""A device with every part of the interface, for questions as users ask them: two indices, streams, events, memory.

Its arrays and kernels are those of `paired_devices`. A stream has work from a launch until it is waited for, and a clock of
milliseconds; each index has 64 MiB, beyond which the vendor's own error is raised.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter

import numpy as np
import paired_devices
from paired_devices import Twin

import dispatch_core as dc
from dispatch_backend_cpu.arrays import storage
from dispatch_backend_cpu.kernels import KERNELS

NAME = "twin"
ROOM = 64 << 20


class NoRoomError(Exception):
    """The vendor's own error for want of memory."""


class VendorError(Exception):
    """What the device reports after a kernel has returned."""


class Lane:
    """A stream: its index, the work that it was given and that was waited for, the milliseconds that it has taken."""

    def __init__(self, index, priority=0):
        self.index, self.priority = index, priority
        self.given = self.waited = 0
        self.time = 0.0
        #: Copies to the host that have not ended: the work before each, the target and the values.
        self.copies = []

    def end(self, given):
        """End the work up to a number."""
        self.waited = max(self.waited, given)
        for each in [each for each in self.copies if each[0] <= self.waited]:
            each[1][...] = each[2]
            self.copies.remove(each)


class Mark:
    """An event: the stream, its work and its time when the event was recorded."""

    lane, given, time = None, 0, 0.0


class State:
    """The device: streams, bytes by index, the reports that wait, and the buffers of host memory."""

    def reset(self):
        self.defaults = [Lane(0), Lane(1)]
        self.thread = threading.local()
        self.held, self.peak, self.ooms, self.counted = Counter(), Counter(), Counter(), set()
        self.reports, self.fails, self.number, self.waits = [], False, 0, []
        self.pinned, self.uploads, self.downloads, self.recorded, self.crossed = [], 0, 0, [], []

    def list_streams(self):
        if not hasattr(self.thread, "streams"):
            self.thread.streams = {}
        return self.thread.streams

    def count(self, twin):
        """Count the bytes of the memory that an array lies in, until it is gone."""
        memory = storage(twin.array)
        key = id(memory)
        if key in self.counted:
            return
        if self.held[twin.index] + memory.nbytes > ROOM:
            self.ooms[twin.index] += 1
            raise NoRoomError(f"the card has no room for {memory.nbytes} bytes")
        self.counted.add(key)
        self.held[twin.index] += memory.nbytes
        self.peak[twin.index] = max(self.peak[twin.index], self.held[twin.index])
        weakref.finalize(memory, self.free, key, twin.index, memory.nbytes)

    def free(self, key, index, nbytes):
        self.counted.discard(key)
        self.held[index] -= nbytes

    def launch(self):
        lane = Streams.current(paired_devices.current())
        lane.given += 1
        lane.time += 1.0
        if self.fails:
            self.fails = False
            self.reports.append((self.number, lane, VendorError("the card is too hot")))


state = State()


class Streams:
    """The functions of its streams."""

    @staticmethod
    def default(index):
        return state.defaults[index]

    @staticmethod
    def create(index, priority=0):
        return Lane(index, priority)

    @staticmethod
    def current(index):
        return state.list_streams().get(index, state.defaults[index])

    @staticmethod
    def exchange(index, stream):
        before, state.list_streams()[index] = Streams.current(index), stream
        return before

    @staticmethod
    def query(stream):
        return stream.waited == stream.given

    @staticmethod
    def synchronize(stream):
        stream.end(stream.given)

    @staticmethod
    def record(array, stream):
        state.recorded.append((array.array.shape, stream))


class Events:
    """The functions of its events."""

    @staticmethod
    def create(index):
        return Mark()

    @staticmethod
    def record(event, stream):
        event.lane, event.given, event.time = stream, stream.given, stream.time

    @staticmethod
    def wait(event, stream):
        state.waits.append((event.lane, stream))
        stream.time = max(stream.time, event.time)

    @staticmethod
    def query(event):
        return event.lane.waited >= event.given

    @staticmethod
    def synchronize(event):
        event.lane.end(event.given)

    @staticmethod
    def elapsed_time(start, end):
        return end.time - start.time


class Memory:
    """The figures of its memory."""

    @staticmethod
    def stats(index):
        return {
            "allocated_bytes.all.current": state.held[index],
            "allocated_bytes.all.peak": state.peak[index],
            "reserved_bytes.all.current": state.held[index],
            "reserved_bytes.all.peak": state.peak[index],
            "num_ooms": state.ooms[index],
        }

    @staticmethod
    def info(index):
        return ROOM - state.held[index], ROOM

    @staticmethod
    def reset_peaks(index):
        state.peak[index] = state.held[index]


def _twins(found):
    if isinstance(found, Twin):
        yield found
    elif isinstance(found, (list, tuple)):
        for each in found:
            yield from _twins(each)


def _launching(kernel):
    def launch(*args, **kwargs):
        found = kernel(*args, **kwargs)
        for twin in _twins(found):
            state.count(twin)
        state.launch()
        return found

    return launch


def _read(self):
    values = paired_devices._device_get(self)
    Streams.synchronize(Streams.current(self.index))
    return values


def _allocate(nbytes):
    memory = np.zeros(nbytes, np.uint8)
    state.pinned.append(memory)
    return memory


def _upload(array, index):
    state.uploads += 1
    twin = Twin(array.copy(), index)
    state.count(twin)
    state.launch()
    return twin


def _download(twin, host):
    state.downloads += 1
    state.launch()
    lane = Streams.current(paired_devices.current())
    lane.copies.append((lane.given, host, twin.array.copy()))


def _synchronize(index):
    for lane in {state.defaults[index], Streams.current(index)}:
        Streams.synchronize(lane)


def _take_reports():
    found, state.reports = state.reports, []
    return found


@dc.KernelTraits(crosses_devices=True)
def _copy(self, src, non_blocking=False):
    if self.index != src.index:
        state.crossed.append((src.index, self.index))
    state.launch()
    KERNELS["copy_"](self.array, src.array)
    return self


def _break_next():
    state.fails = True


def register(**parts):
    """Register the device; the handle takes it back."""
    state.reset()
    interface = dc.DeviceInterface(
        **{
            "properties": lambda index: {"name": f"Twin card {index}", "total_memory": ROOM, "cores": 64},
            "current": paired_devices.current,
            "exchange": paired_devices.exchange,
            "synchronize": _synchronize,
            "streams": Streams,
            "events": Events,
            "timed_event": Events.create,
            "memory": Memory,
            "empty_cache": lambda: None,
            "out_of_memory": NoRoomError,
            "host_allocator": _allocate,
            "upload": _upload,
            "download": _download,
            "address": lambda twin: twin.array.ctypes.data,
            "launched": lambda number: setattr(state, "number", number),
            "reports": _take_reports,
            "functions": {"firmware": lambda: "1.2", "break_next": _break_next},
            **parts,
        }
    )
    # The host computes linear algebra.
    made = {name: _launching(kernel) for name, kernel in paired_devices.make_kernels().items() if "linalg" not in name}
    return paired_devices.register(
        made | {"prims::device_get": _read, "copy_": _copy}, fallback="host", device_interface=lambda: interface
    )
