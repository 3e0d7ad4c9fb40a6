"""A device of NumPy arrays whose streams are clocks: a kernel that reads what nothing has ordered before it is a race.

Each launch on a stream has a number. A stream knows, for every other one, up to which number it has waited; an event has the
knowledge of its stream when it was recorded. An array is read too early where its maker's number is above what the stream
knows.
"""

from __future__ import annotations

import threading
from collections import Counter

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import BY_NAME
from dispatch_aten.shapes import RULES, contiguous, wrap_dims

NAME = "racing"


class Lane:
    """A stream: its index, the numbers that it has waited for, and what was launched on it."""

    def __init__(self, index, name):
        self.index, self.name = index, name
        self.clock = Counter()
        self.launched = []
        #: Milliseconds that it has worked.
        self.time = 0.0

    def __repr__(self):
        return self.name


class Mark(Counter):
    """An event: the knowledge of its stream, and the milliseconds that this had worked."""

    time = 0.0


class Grid:
    """An array: NumPy's values, and the launch that made them."""

    __slots__ = ("__weakref__", "index", "maker", "values")

    def __init__(self, values, dtype=None):
        self.values = np.array(values, dtype)
        self.maker = None
        self.index = Racing.index


class _Chosen(threading.local):
    """The streams that a thread has chosen, by index."""

    def __init__(self):
        self.streams = {}


class Racing:
    """The device's state: its index, the threads' streams, and the races."""

    index = 0
    chosen: _Chosen
    races: list
    lanes: list
    #: How kernels report that they have failed, after they have returned: by "number", by "stream" alone, or not.
    late = ""
    number = 0
    reports: list
    #: Whether ``exp`` raises.
    fails = False

    @classmethod
    def reset(cls):
        cls.index, cls.chosen, cls.races, cls.reports = 0, _Chosen(), [], []
        cls.lanes = [Lane(index, f"default {index}") for index in range(2)]

    @classmethod
    def lane(cls):
        return Streams.current(cls.index)

    @classmethod
    def launch(cls, name, read, made):
        lane = cls.lane()
        if cls.fails and name == "exp":
            raise ZeroDivisionError
        for array in read:
            if array.maker is not None:
                maker, number = array.maker
                if maker is not lane and lane.clock[maker] < number:
                    cls.races.append(f"{name} on {lane} reads what {maker} makes")
        lane.clock[lane] += 1
        lane.launched.append(name)
        if Racing.late and name == "exp" and any((array.values > 50).any() for array in read):
            number = Racing.number if Racing.late == "number" else None
            cls.reports.append((number, lane, OverflowError("a value above 50")))
        lane.time += 5.0 if name == "exp" else 1.0
        for array in made:
            array.maker = lane, lane.clock[lane]


class Streams:
    """The functions of its streams."""

    @staticmethod
    def default(index):
        return Racing.lanes[index]

    @staticmethod
    def create(index, priority=0):
        assert index == Racing.index
        return Lane(index, f"stream {len(Racing.lanes)}")

    @staticmethod
    def current(index):
        return Racing.chosen.streams.get(index) or Racing.lanes[index]

    @staticmethod
    def exchange(index, stream):
        before = Streams.current(index)
        Racing.chosen.streams[index] = stream
        return before

    @staticmethod
    def query(stream):
        return True

    @staticmethod
    def synchronize(stream):
        return None


class Event:
    """The functions of its events, which are counters."""

    @staticmethod
    def create(index):
        assert index == Racing.index
        return Mark()

    @staticmethod
    def elapsed_time(start, end):
        return end.time - start.time

    @staticmethod
    def record(event, stream):
        event.clear()
        event.update(stream.clock)
        event.time = stream.time

    @staticmethod
    def wait(event, stream):
        for lane, number in event.items():
            stream.clock[lane] = max(stream.clock[lane], number)

    @staticmethod
    def query(event):
        return True

    @staticmethod
    def synchronize(event):
        return None


def exchange(index):
    before, Racing.index = Racing.index, index
    return before


def _describe(value):
    return contiguous(value.values.shape, BY_NAME[value.values.dtype.name]) if isinstance(value, Grid) else value


def _grids(values):
    for value in values:
        if isinstance(value, Grid):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _grids(value)


def _launching(name, kernel):
    def launch(*args, **kwargs):
        found = kernel(*args, **kwargs)
        Racing.launch(name, [*_grids(args)], [*_grids([found])])
        return found

    return launch


def _make_kernel(name, function):
    def kernel(*args, **kwargs):
        dtype = RULES[name](*map(_describe, args), **kwargs).dtype.short
        inner = None if dtype == "bool" else dtype
        values = [np.asarray(arg.values, inner) if isinstance(arg, Grid) else arg for arg in args]
        return Grid(function(*values, **kwargs), dtype)

    return kernel


def _put_at(self, indices, values, accumulate):
    result, places = self.values.copy(), tuple(slice(None) if each is None else each.values for each in indices)
    if accumulate:
        np.add.at(result, places, values.values)
    else:
        result[places] = values.values
    return Grid(result)


def _add_up(x, dim=None, keepdim=False, dtype=None):
    return x.sum(wrap_dims(dim, x.ndim) if x.ndim else (), keepdims=keepdim)


FUNCTIONS = {
    "add.Tensor": lambda x, y, *, alpha: x + y * np.asarray(alpha, y.dtype),
    "mul.Tensor": np.multiply,
    "div.Tensor": np.true_divide,
    "le.Tensor": np.less_equal,
    "where.self": np.where,
    "exp": np.exp,
    "tanh": np.tanh,
    "sum.dim_IntList": _add_up,
}
KERNELS = {
    "prims::device_get": lambda self: self.values.copy(),
    "prims::device_put": lambda data, *, device: Grid(data),  # noqa: PLW0108  # its signature is the operator's
    "empty.memory_format": lambda size, *, dtype, **_: Grid(np.empty(size, dtype.short if dtype else "float32")),
    "copy": lambda self, src, non_blocking: Grid(np.broadcast_to(src.values, self.values.shape), self.values.dtype),
    "fill.Scalar": lambda self, value: Grid(np.full_like(self.values, value)),
    "prims::reshape": lambda self, shape: Grid(self.values.reshape(shape)),
    "prims::permute": lambda self, dims: Grid(self.values.transpose(dims)),
    "prims::slice": lambda self, dim, *cut: Grid(self.values[(slice(None),) * dim + (slice(*cut),)]),
    "prims::broadcast_to": lambda self, shape: Grid(np.broadcast_to(self.values, shape)),
    "index_put": _put_at,
    **{name: _make_kernel(name, function) for name, function in FUNCTIONS.items()},
}


def _note_number(number):
    Racing.number = number


def _take_reports():
    found, Racing.reports = Racing.reports, []
    return found


def register(late=""):
    """Register the device; the handle takes it back. With ``late`` it reports errors after its kernels have returned."""
    Racing.reset()
    Racing.late = late
    reporting = {"launched": _note_number, "reports": _take_reports} if late else {}
    grids = dc.ArrayType(
        Grid,
        shape=lambda grid: grid.values.shape,
        dtype=lambda grid: BY_NAME[grid.values.dtype.name],
        mutable=False,
        device_index=lambda grid: grid.index,
        current_device=lambda: Racing.index,
    )
    interface = dc.DeviceInterface(
        current=lambda: Racing.index,
        exchange=exchange,
        streams=Streams,
        events=Event,
        timed_event=Event.create,
        **reporting,
    )
    return dc.register_backend(
        dc.BackendInfo(NAME, array_types=(grids,)),
        {name: _launching(name, kernel) for name, kernel in KERNELS.items()},
        device_count=lambda: 2,
        device_interface=lambda: interface,
    )
