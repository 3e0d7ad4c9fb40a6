"""A device with two indices whose commands run late, in order on each stream; and switches for its faults."""

import json
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import paired_devices as twins

import dispatch_core as dc
from dispatch_aten.generator import hold_engine
from dispatch_aten.shapes import RULES, TensorMeta
from dispatch_aten.testing.agreement import TestedDevice

#: The kernels whose commands are queued; all others wait for every command.
QUEUED = ("add.Tensor", "mul.Tensor", "exp")
#: The values of memory that no command has written to.
UNWRITTEN = 77
_here = threading.local()
#: The arrays that live.
LIVE = weakref.WeakSet()
_began = twins.Twin.__init__


class Stream:
    """Commands that run one after another."""

    def __init__(self, index):
        self.index, self.pool, self.commands = index, ThreadPoolExecutor(1), []

    def submit(self, function, *arguments):
        command = self.pool.submit(function, *arguments)
        self.commands = [each for each in self.commands if not each.done()] + [command]
        return command

    def finish(self):
        for command in list(self.commands):
            command.result()


class Full(Exception):
    """There is no memory left."""


class Engine:
    """Numbers that come in pairs, of which the second is kept."""

    def __init__(self, faults):
        self.faults = faults
        self.seed(0)

    def seed(self, number):
        self.number, self.count, self.pair = number, 0, None

    def get_state(self):
        return json.dumps([self.number, self.count, self.pair]).encode()

    def set_state(self, state):
        number, count, pair = json.loads(bytes(state))
        self.number, self.count = number, count
        if "half of a state" not in self.faults:
            self.pair = pair

    def draw(self):
        if self.pair is not None:
            found, self.pair = self.pair, None
            return found
        self.count += 1
        found, self.pair = np.random.default_rng([self.number, self.count]).random(2).tolist()
        return found


class Queued:
    """The device's parts; ``faults`` are names of the faults that it has."""

    def __init__(self, *faults):
        self.faults, self.all, self.peaks, self.kept = set(faults), [], [0, 0], 0
        self.number, self.errors = None, []
        self.engines = [Engine(self.faults), Engine(self.faults)]
        self.defaults = [self.create(0, 0), self.create(1, 0)]
        self.interface = dc.DeviceInterface(
            current=twins.current,
            exchange=twins.exchange,
            synchronize=lambda index: self.finish(),
            streams=SimpleNamespace(
                default=self.defaults.__getitem__,
                create=self.create,
                current=self.current,
                exchange=self.exchange,
                query=self.query,
                synchronize=Stream.finish,
            ),
            events=SimpleNamespace(
                create=lambda index: [],
                record=self.record,
                wait=self.wait,
                query=lambda event: all(command.done() for command in event),
                synchronize=lambda event: [command.result() for command in event],
            ),
            memory=SimpleNamespace(stats=self.read_figures, reset_peaks=self.reset_peaks),
            out_of_memory=Full,
            generator=self.find_engine,
            launched=self.launch,
            reports=self.report,
            queue=self.submit,
        )

    def submit(self, function, *arguments):
        return self.current(twins.current()).submit(function, *arguments)

    def queue(self, function, *arguments):
        return (self.interface.queue or self.submit)(function, *arguments)

    def launch(self, number):
        self.number = number

    def report(self):
        found, self.errors = self.errors, []
        return found

    def index_select(self, array, dim, index):
        """Take rows by a command, which finds a place out of range."""
        number, size = self.number, array.array.shape[dim]
        shape = [*array.array.shape]
        shape[dim] = index.array.size
        result = twins.Twin(np.full(shape, UNWRITTEN).astype(array.array.dtype), array.index)

        def work():
            if index.array.size and index.array.max() >= size:
                blamed = self.number if "numbers are read late" in self.faults else number
                self.errors.append((blamed, None, IndexError("a place out of range")))
            else:
                result.array[...] = np.take(array.array, index.array, dim)

        self.queue(work)
        return result

    def find_engine(self, index):
        if "one engine" in self.faults:
            return self.engines[0]
        return Engine(self.faults)

    def read_figures(self, index):
        index = 0 if "one figure" in self.faults else index
        now = sum(twin.array.nbytes for twin in list(LIVE) if twin.index == index) + self.kept
        self.peaks[index] = max(self.peaks[index], now)
        return {"allocated_bytes.all.current": now, "allocated_bytes.all.peak": self.peaks[index]}

    def reset_peaks(self, index):
        if "peaks stay" not in self.faults:
            self.peaks[index] = 0

    def rand(self, size, *, generator=None, dtype=None, device=None, **options):
        with hold_engine(f"twin:{twins.thread.index}", generator) as engine:
            drawn = [engine.draw() for _ in range(int(np.prod(size)))]
        return twins.Twin(np.reshape(drawn, size).astype("float32" if dtype is None else str(dtype)))

    def empty(self, size, *, dtype=None, **options):
        kind = np.dtype("float32" if dtype is None else str(dtype))
        if int(np.prod(size, dtype=object)) * kind.itemsize > 1 << 30:
            raise MemoryError("no room") if "another error" in self.faults else Full("no room")
        return twins.Twin(np.full(size, UNWRITTEN).astype(kind))

    def create(self, index, priority):
        self.all.append(Stream(index))
        return self.all[-1]

    def current(self, index):
        return getattr(_here, "streams", {}).get(index, self.defaults[index])

    def exchange(self, index, stream):
        before = self.current(index)
        _here.streams = {**getattr(_here, "streams", {}), index: stream}
        return before

    def query(self, stream):
        return "streams are done" in self.faults or all(command.done() for command in stream.commands)

    def record(self, event, stream):
        event[:] = stream.commands

    def wait(self, event, stream):
        if "events hold nothing back" not in self.faults:
            commands = list(event)
            stream.submit(lambda: [command.result() for command in commands])

    def finish(self):
        for stream in self.all:
            stream.finish()

    def queue_up(self, name, kernel):
        """Return a kernel that makes its result at once, and queues the command that computes it."""

        def run(*args, **kwargs):
            given = [each for each in args if isinstance(each, twins.Twin)]
            index, inner = given[0].index, [getattr(each, "array", each) for each in args]
            meta = RULES[name](*(describe(each) for each in args), **kwargs)
            result = twins.Twin(make_unwritten(meta.shape, str(meta.dtype)), index)
            if tuple(meta.strides) != tuple(step // result.array.itemsize for step in result.array.strides):
                self.finish()
                return kernel(*args, **kwargs)

            def work():
                result.array[...] = twins.KERNELS[name](*inner, **kwargs)

            self.queue(work)
            return result

        return run

    def wait_first(self, name, kernel):
        def run(*args, **kwargs):
            self.finish()
            return kernel(*args, **kwargs)

        return run

    def copy_(self, target, source, non_blocking=False):
        """Copy between devices in the order of the source's stream, which the core orders with the target's."""
        if target.index == source.index or "copies do not wait" in self.faults:
            if target.index == source.index:
                self.finish()
            target.array[...] = source.array
            return target
        stream = self.current(source.index)
        before = twins.exchange(source.index)
        try:
            if "copies are not waited for" in self.faults:  # they have a stream of their own
                stream.finish()
                self.exchange(source.index, self.create(source.index, 0))
            self.queue(target.array.__setitem__, ..., source.array)
        finally:
            self.exchange(source.index, stream)
            twins.exchange(before)
        return target

    def zero_(self, array):
        self.queue(array.array.fill, 0)
        return array


def make_unwritten(shape, dtype):
    # The memory of a large array is not touched, which would take as long as its command.
    return np.full(shape, UNWRITTEN).astype(dtype) if np.prod(shape) < 1000 else np.zeros(shape, dtype)


def describe(value):
    if not isinstance(value, twins.Twin):
        return value
    found = value.array
    steps = tuple(step // found.itemsize for step in found.strides)
    return TensorMeta(found.shape, steps, twins.dtype_of(found))


def make_kernels(queued):
    """Return the kernels of the paired devices, some of them queued."""
    own = twins.make_kernels()
    found = {
        name: queued.queue_up(name, kernel) if name in QUEUED else queued.wait_first(name, kernel)
        for name, kernel in own.items()
    }
    found["copy_"] = dc.KernelTraits(crosses_devices=True)(queued.copy_)
    made = {"zero_": queued.zero_, "rand.generator": queued.rand, "empty.memory_format": queued.empty}
    made["index_select"] = queued.index_select
    return {**found, **made}


@contextmanager
def device(*faults, kernels=None, count=2, **parts):
    """Register the device with faults; yield it as it is tested."""
    queued = Queued(*faults)
    for name, part in parts.items():
        setattr(queued.interface, name, part)
    info = dc.BackendInfo("twin", array_types=(twins.TWINS,))
    made = {**make_kernels(queued), **({} if kernels is None else kernels(queued))}
    twins.thread.index = 0
    twins.Twin.__init__ = lambda self, *args: (_began(self, *args), LIVE.add(self))[0]
    try:
        with dc.register_backend(info, made, device_interface=lambda: queued.interface, device_count=lambda: count):
            yield TestedDevice.find("twin")
    finally:
        twins.Twin.__init__ = _began
        _here.streams = {}
        twins.thread.index = 0
        for stream in queued.all:
            stream.pool.shutdown()
