"""A device of two indices, on NumPy's arrays, which writes down what its streams and memory are asked."""

import gc
import threading

import numpy as np

import dispatch_core as dc
from dispatch_aten.decompositions import required_kernels
from dispatch_aten.dtypes import BY_NAME
from dispatch_backend_cpu.kernels import KERNELS as CPU


class Sheet:
    """An array in the memory of one of the devices."""

    def __init__(self, values, index):
        self.values, self.index = values, index


class NoRoomError(Exception):
    """The device's own error."""


class Device:
    """The device as its plugin would have it: the thread's index and streams, a log, and the bytes that are held."""

    def __init__(self, name="slate", count=2):
        self.name, self.count = name, count
        self.log = []
        self.local = threading.local()
        self.made = 0
        self.room = 1 << 20

    # Indices.
    def current(self):
        return getattr(self.local, "index", 0)

    def exchange_index(self, index):
        before, self.local.index = self.current(), index
        return before

    # Streams.
    def default(self, index):
        return 100 * index

    def create(self, index, priority=0):
        self.made += 1
        return 100 * index + self.made

    def _streams(self):
        if not hasattr(self.local, "streams"):
            self.local.streams = {}
        return self.local.streams

    def current_stream(self, index):
        return self._streams().get(index, self.default(index))

    def exchange(self, index, stream):
        before = self.current_stream(index)
        self._streams()[index] = stream
        return before

    def query(self, handle):
        return True

    def synchronize(self, handle):
        self.log.append(f"synchronize {handle}")

    def record(self, array, stream):
        assert isinstance(array, Sheet)
        self.log.append(f"record {array.values.shape} on {stream}")

    # Memory.
    def count_bytes(self, index):
        sheets = [each for each in gc.get_objects() if type(each) is Sheet and each.index == index]
        return sum({id(each.values): each.values.nbytes for each in sheets}.values())

    def stats(self, index):
        held = self.count_bytes(index)
        return {
            "allocated_bytes.all.current": held,
            "allocated_bytes.all.peak": 2048,
            "reserved_bytes.all.current": 4096,
            "num_ooms": 1,
        }

    def info(self, index):
        return 100, 1000 + index

    def reset_peaks(self, index):
        self.log.append(f"reset peaks {index}")

    def allocate_pinned(self, nbytes):
        memory = bytearray(nbytes)
        self.log.append(f"pinned {nbytes}")
        return memory

    def upload(self, values, index):
        assert index == self.current()
        self.log.append(f"upload to {index}")
        return self.make_array(values.copy(), index)

    def make_array(self, values, index, is_view=False):
        if not is_view and values.nbytes > self.room:
            raise NoRoomError(f"no room for {values.nbytes} bytes")
        return Sheet(values, index)

    # Kernels.
    def compute(self, name):
        kernel = CPU.get(name)
        packet, _, overload = name.partition(".")
        run = kernel or getattr(getattr(dc.ops.aten, packet), overload or "default")

        def call(*args, device=None, **kwargs):
            index = self.current() if device is None or device.index is None else device.index
            for value in (*args, *kwargs.values()):
                for each in value if isinstance(value, (list, tuple)) else [value]:
                    index = each.index if isinstance(each, Sheet) else index
            given = {key: inner(each) for key, each in kwargs.items()}
            if device is not None:
                given["device"] = dc.Device("cpu")
            found = run(*map(inner, args), **given)
            same = {id(inner(each)): each for each in args if isinstance(each, Sheet)}
            return self._wrap(found, index, same)

        return call

    def _wrap(self, found, index, same):
        if isinstance(found, (list, tuple)):
            return type(found)(self._wrap(each, index, same) for each in found)
        if isinstance(found, (np.ndarray, np.generic)):
            values = np.asarray(found)
            is_view = any(memory_of(each.values) == memory_of(values) for each in same.values())
            return same.get(id(found)) or self.make_array(values, index, is_view)
        return found

    def kernels(self, registry):
        key = dc.device_key(self.name)
        for kernel in required_kernels(mutable=True, strided=True):
            if kernel.namespace == "prims":
                continue
            registry.register_kernel(f"aten::{kernel.name}", key, self.compute(kernel.name))
        registry.register_kernel("prims::device_get", key, lambda self: self.values.copy())
        registry.register_kernel("prims::device_put", key, self.put)

    def put(self, data, *, device=None):
        index = self.current() if device is None or device.index is None else device.index
        self.log.append(f"put on {index}")
        return self.make_array(np.array(data), index)

    def interface(self, **parts):
        events = Events(self)
        return dc.DeviceInterface(
            **{
                "properties": lambda index: {"name": f"Slate {index}", "total_memory": 1000},
                "current": self.current,
                "exchange": self.exchange_index,
                "synchronize": lambda index: self.log.append(f"synchronize all of {index}"),
                "streams": Streams(self),
                "events": events,
                "timed_event": events.create,
                "memory": self,
                "empty_cache": lambda: self.log.append("empty cache"),
                "out_of_memory": NoRoomError,
                "host_allocator": self.allocate_pinned,
                "upload": self.upload,
                "functions": {"draw": lambda: "drawn"},
                **parts,
            }
        )

    def info_of_backend(self):
        array = dc.ArrayType(
            Sheet,
            shape=lambda sheet: sheet.values.shape,
            dtype=lambda sheet: BY_NAME[sheet.values.dtype.name],
            strides=lambda sheet: tuple(step // (sheet.values.itemsize or 1) for step in sheet.values.strides),
            storage=lambda sheet: memory_of(sheet.values),
            storage_offset=lambda sheet: 0,
            device_index=lambda sheet: sheet.index,
            current_device=self.current,
        )
        return dc.BackendInfo(self.name, array_types=(array,))

    def register(self, **parts):
        interface = self.interface(**parts)
        return dc.register_backend(
            self.info_of_backend(),
            self.kernels,
            device_interface=lambda: interface,
            device_count=lambda: self.count,
        )


class Streams:
    """The streams of a device, whose handles are numbers."""

    def __init__(self, device):
        self.default, self.create, self.exchange = device.default, device.create, device.exchange
        self.current, self.query, self.synchronize = device.current_stream, device.query, device.synchronize
        self.record = device.record


class Events:
    """Its events: marks with a time."""

    def __init__(self, device):
        self.log, self.made = device.log, 0

    def create(self, index):
        self.made += 1
        return f"event {self.made}"

    def record(self, event, stream):
        self.log.append(f"record {event} in {stream}")

    def wait(self, event, stream):
        self.log.append(f"{stream} waits for {event}")

    def query(self, event):
        return True

    def synchronize(self, event):
        self.log.append(f"synchronize {event}")

    def elapsed_time(self, start, end):
        return 1.5


def inner(value):
    if isinstance(value, (list, tuple)):
        return type(value)(map(inner, value))
    return value.values if isinstance(value, Sheet) else value


def memory_of(values):
    while isinstance(values.base, np.ndarray):
        values = values.base
    return id(values)
