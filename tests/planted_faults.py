"""Faults to plant into the device `planted`, a copy of the example: one at a time, by name.

``PLANTED_FAULT=name`` plants one as the module is imported, so that processes of the kit have it, too.
"""

from __future__ import annotations

import importlib
import itertools
import os
import threading
import time
import warnings
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import BY_NAME
from dispatch_aten.shapes import RULES, TensorMeta

DEVICE = "planted"
#: Bytes of the buffers that live, by their identity.
LIVE: dict[int, int] = {}
#: The command that computes each buffer, by the buffer's identity.
PENDING: dict[int, Future] = {}
#: Arrays that a fault keeps, and the switches of the faults that are no kernels.
KEPT, SWITCHES = [], set()
#: The largest figure until now.
MOST = [0]
_here = threading.local()
_pool = ThreadPoolExecutor(4)
_counter = itertools.count(1)


def modules():
    return SimpleNamespace(
        **{name: importlib.import_module(f"{DEVICE}_backend.{name}") for name in ("arrays", "kernels", "writes")}
    )


# The device: the example's kernels, some more that NumPy and the cpu compute, a queue without order, figures, events.


def track(buffer):
    if id(buffer) not in LIVE:
        LIVE[id(buffer)] = buffer.nbytes
        weakref.finalize(buffer, forget, id(buffer))


def forget(key):
    LIVE.pop(key, None)
    PENDING.pop(key, None)


def wait(array):
    pending = PENDING.get(id(array.buffer))
    if pending is not None and not getattr(_here, "careless", False):
        pending.result()


def submit(function, *arguments):
    return _pool.submit(function, *arguments)


def as_command(name, kernel):
    """Compute a kernel as a command of the queue, which waits for the commands that compute its arguments."""

    def run(*args, **kwargs):
        arrays = modules().arrays
        result = arrays.store(0, RULES[name](*(getattr(each, "meta", each) for each in args), **kwargs))

        def work():
            _here.careless = "no wait" in SWITCHES
            try:
                made = kernel(*args, **kwargs)
            finally:
                _here.careless = False
            result.buffer[...] = made.buffer

        PENDING[id(result.buffer)] = interface.queue(work)
        return result

    return run


def finish():
    for command in list(PENDING.values()):
        command.result()


def make_on_host(name):
    """Return a right kernel that the cpu computes."""
    packet, _, overload = name.partition(".")

    def run(*args, **kwargs):
        finish()
        op = getattr(getattr(dc.ops.aten, packet), overload or "default")
        arrays = modules().arrays
        meta = RULES[name](*map_args(args, "meta"), **kwargs)
        made = op(*map_args(args, "values"), **kwargs)
        return arrays.store(made, meta)

    return run


def map_args(value, field):
    if isinstance(value, list | tuple):
        return [map_args(each, field) for each in value]
    return getattr(value, field) if hasattr(value, "buffer") else value


def after_all(kernel):
    """Finish every command before a kernel that writes, which no command may overtake."""

    def run(*args, **kwargs):
        finish()
        return kernel(*args, **kwargs)

    return run


HOSTED = ("maximum", "floor", "div.Tensor_mode", "argmax", "gather", "index.Tensor", "index_copy", "cat")


class Streams:
    def default(self, index):
        return 0

    def create(self, index, priority):
        return next(_counter)

    def current(self, index):
        return getattr(_here, "stream", 0)

    def exchange(self, index, stream):
        before = self.current(index)
        if "streams stay" not in SWITCHES:
            _here.stream = stream
        return before

    def query(self, stream):
        return all(command.done() for command in PENDING.values())

    def synchronize(self, stream):
        finish()


class Events:
    def create(self, index):
        return []

    def record(self, event, stream):
        event[:] = [time.perf_counter(), *PENDING.values()]

    def wait(self, event, stream):
        self.synchronize(event)

    def query(self, event):
        return "events are done" in SWITCHES or all(command.done() for command in event[1:])

    def synchronize(self, event):
        if "events are done" not in SWITCHES:
            for command in event[1:]:
                command.result()

    def elapsed_time(self, start, end):
        return (end[0] - start[0]) * (-1e3 if "time runs back" in SWITCHES else 1e3)


class Engine:
    def __init__(self):
        self.generator = np.random.Generator(np.random.PCG64(0))

    def seed(self, number):
        self.generator = np.random.Generator(np.random.PCG64(number))

    def get_state(self):
        state = self.generator.bit_generator.state["state"]
        return state["state"].to_bytes(16, "little") + state["inc"].to_bytes(16, "little")

    def set_state(self, given):
        if "states are lost" not in SWITCHES:
            numbers = {"state": int.from_bytes(given[:16], "little"), "inc": int.from_bytes(given[16:], "little")}
            self.generator.bit_generator.state = {**self.generator.bit_generator.state, "state": numbers}


def read_figures(index):
    bytes_now = sum(list(LIVE.values()))
    MOST[0] = max(bytes_now, MOST[0])
    return {"allocated_bytes.all.current": MOST[0] if "figures never fall" in SWITCHES else bytes_now}


def download(array, host):
    """Copy to the host as a command; with the fault nothing waits for it."""

    def work():
        wait(array)
        if is_uncounted:
            time.sleep(0.2)
        host[...] = array.values

    is_uncounted = "copies are not counted" in SWITCHES
    command = interface.queue(work)
    if not is_uncounted:
        PENDING[id(host)] = command
        weakref.finalize(host, forget, id(host))


#: The dtypes that the device claims.
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
interface = dc.DeviceInterface(
    properties=lambda index: {"name": "Wood", "total_memory": 1 << 30},
    synchronize=lambda index: finish(),
    streams=Streams(),
    events=Events(),
    timed_event=lambda index: [],
    memory=SimpleNamespace(stats=read_figures),
    queue=submit,
    generator=lambda index: Engine(),
    host_allocator=bytearray,
    download=download,
    dtypes=tuple(BY_NAME[name] for name in DTYPES),
)


def furnish():
    """Give the copy of the example its queue, its figures and the kernels that the cpu computes."""
    found = modules()
    array, values = found.arrays.Array, found.arrays.Array.values.fget
    began = array.__init__

    def make(self, buffer, *rest):
        track(buffer)
        began(self, buffer, *rest)

    array.__init__ = make
    array.values = property(lambda self: (wait(self), values(self))[1])
    for name in ("add.Tensor", "mul.Tensor", "exp"):
        found.kernels.ATEN[name] = as_command(name, found.kernels.ATEN[name])
    for name, kernel in found.writes.ATEN.items():
        found.writes.ATEN[name] = after_all(kernel)
    found.kernels.ATEN.update({name: make_on_host(name) for name in HOSTED})
    found.kernels.ATEN["index_copy_"] = index_copy_


def index_copy_(self, dim, index, source):
    finish()
    dc.ops.aten.index_copy_(self.values, dim, index.values, source.values)
    return self


# The faults. Each returns kernels that take the places of right ones.


def is_integer(array):
    return array.buffer.dtype.kind in "iu"


def arrays_of(args):
    return [each for each in args if hasattr(each, "buffer")]


def alter(name, when, change):
    """Return a kernel whose values ``change`` makes of the right ones and the arguments, where ``when`` is true."""

    def run(*args, **kwargs):
        finish()
        found = modules()
        right = right_kernel(name)(*args, **kwargs)
        finish()
        if not when(*args, **kwargs):
            return right
        return found.arrays.store(change(right.values.copy(), *args, **kwargs), right.meta)

    return {name: run}


def right_kernel(name):
    found = modules()
    return found.kernels.ATEN.get(name) or found.writes.ATEN[name]


def mixture():
    def run(self, other):
        right = right_kernel("mul.Tensor")(self, other)
        finish()
        if is_integer(self) == is_integer(other) or right.buffer.dtype.kind != "f":
            return right
        meta = self.meta if is_integer(self) else other.meta
        return modules().arrays.store(right.values.astype(str(meta.dtype)), describe(right.meta, dtype=meta.dtype))

    return {"mul.Tensor": run}


def offset_view():
    def run(self):
        finish()
        arrays = modules().arrays
        if len(self.shape) == 1 and self.offset and self.strides[0] > 1:
            self = arrays.Array(self.buffer, self.shape, self.strides, self.offset - 1)
        return right_kernel("sqrt")(self)

    return {"sqrt": run}


def describe(meta, *, strides=None, dtype=None):
    return TensorMeta(meta.shape, strides or meta.strides, dtype or meta.dtype)


def alpha():
    return alter("add.Tensor", lambda x, y, alpha=1: is_integer(x), lambda right, x, y, alpha=1: x.values + y.values)


def nans():
    def amax(self, dim=(), keepdim=False):
        right = right_kernel("amax")(self, dim, keepdim)
        axes = tuple(dim) if dim else None
        with np.errstate(all="ignore"):
            values = np.fmax.reduce(self.values, axes, keepdims=keepdim) if self.shape else self.values
        return modules().arrays.store(values, right.meta)

    return alter("maximum", lambda x, y: True, lambda right, x, y: np.fmax(x.values, y.values)) | {"amax": amax}


def new_array():
    def run(self, other, *, alpha=1):
        return write(self, right_kernel("add.Tensor")(self, other, alpha=alpha), copied=True)

    return {"add_.Tensor": run}


def write(self, made, *, copied=False):
    finish()
    RULES["copy_"](self.meta, made.meta)
    self.values[...] = made.values.astype(str(self.dtype))
    return modules().arrays.store(self.values, made.meta) if copied else self


def same_memory():
    return {"floor": lambda self: self if is_integer(self) else right_kernel("floor")(self)}


def narrow_sums():
    def run(self, dim=None, keepdim=False, *, dtype=None):
        right = right_kernel("sum.dim_IntList")(self, dim, keepdim, dtype=dtype)
        if str(self.dtype) != "int32" or dtype is not None:
            return right
        return modules().arrays.store(right.values.astype("int32"), describe(right.meta, dtype=self.dtype))

    return {"sum.dim_IntList": run}


def no_bounds():
    def run(self, other, *, alpha=1):
        made = right_kernel("add.Tensor")(self, other, alpha=alpha)
        write(self, made)
        if len(self.shape) == 1 and self.strides == (1,) and self.shape[0]:
            end = self.offset + self.shape[0]
            self.buffer[end : self.offset + -(-self.shape[0] // 64) * 64] += 1
        return self

    return {"add_.Tensor": run}


def no_wait():
    SWITCHES.add("no wait")
    return {}


def keep_uploads():
    def run(data, *, device):
        finish()
        made = modules().kernels.PRIMS["device_put"](data, device=device)
        KEPT.append(made)
        return made

    return {"prims::device_put": run}


def unwritten():
    return alter("sum.dim_IntList", lambda self, *_, **__: 0 in self.shape, lambda right, *_, **__: right + 7)


def row_major_out():
    def run(self, other, *, alpha=1, out):
        made = right_kernel("add.Tensor")(self, other, alpha=alpha)
        finish()
        if made.shape != out.shape or out.buffer.dtype != made.buffer.dtype:
            return proper_out(made, out)
        count = made.values.size
        out.buffer[out.offset : out.offset + count] = made.values.ravel()
        return out

    return {"add.out": run}


def proper_out(made, out):
    finish()
    if made.shape != out.shape:
        dc.ops.aten.resize_(out, list(made.shape))
    return dc.ops.aten.copy_(out, made)


def wrong_broadcast():
    def repeat(right, x, y):
        return np.resize(x.values, right.shape) * np.resize(y.values, right.shape)

    return alter("mul.Tensor", lambda x, y: x.shape != y.shape and bool(x.shape) and bool(y.shape), repeat)


def truncate_division():
    def when(x, y, *, rounding_mode=None):
        return rounding_mode == "floor" and is_integer(x) and is_integer(y)

    def change(right, x, y, *, rounding_mode=None):
        return np.trunc(x.values / np.where(y.values == 0, 1, y.values))

    return alter("div.Tensor_mode", when, change)


def unresized_out():
    def run(self, other, *, out):
        made = right_kernel("mul.Tensor")(self, other)
        finish()
        if made.shape == out.shape:
            return dc.ops.aten.copy_(out, made)
        flat = made.values.ravel()
        for place, value in zip(np.ndindex(*out.shape), flat, strict=False):
            out.values[place] = value
        return out

    return {"mul.out": run}


def wrong_strides():
    def run(self):
        right = right_kernel("log")(self)
        steps = [int(np.prod(right.shape[place + 1 :], dtype=int)) for place in range(len(right.shape))]
        return modules().arrays.store(right.values, describe(right.meta, strides=tuple(steps)))

    return {"log": run}


def overlaps():
    def run(self, other, *, alpha=1):
        right = right_kernel("add.Tensor")(self, other, alpha=alpha)
        if len(self.shape) != 1 or self.shape != other.shape or self.buffer is not other.buffer:
            return write(self, right)
        for place in range(self.shape[0]):
            self.values[place] += alpha * other.values[place]
        return self

    return {"add_.Tensor": run}


def clip_copies():
    def run(self, src, non_blocking=False):
        finish()
        if is_integer(self) and self.buffer.dtype != src.buffer.dtype and src.buffer.dtype.kind in "iu":
            RULES["copy_"](self.meta, src.meta)
            span = np.iinfo(self.buffer.dtype)
            self.values[...] = np.clip(src.values.astype("float64"), span.min, span.max)
            return self
        return right_kernel("copy_")(self, src)

    return {"copy_": run}


def join_empties():
    def run(tensors, dim=0):
        if any(each.shape == (0,) for each in tensors) and any(len(each.shape) > 1 for each in tensors):
            raise ValueError("all the input arrays must have the same number of dimensions")
        return right_kernel("cat")(tensors, dim)

    return {"cat": run}


def last_of_ties():
    def when(self, dim=None, keepdim=False):
        return dim is None and self.values.size > 0

    return alter(
        "argmax", when, lambda right, self, *_, **__: self.values.size - 1 - np.argmax(self.values.ravel()[::-1])
    )


def negative_places():
    def run(self, dim, index, *, sparse_grad=False):
        finish()
        size = self.shape[dim] if self.shape else 1
        places = np.where(index.values < 0, index.values + size, index.values)
        arrays = modules().arrays
        return right_kernel("gather")(self, dim, arrays.store(places, index.meta), sparse_grad=sparse_grad)

    return {"gather": run}


def write_inputs():
    def run(self):
        right = right_kernel("log")(self)
        if self.buffer.dtype == "float32" and self.values.size > 32:
            self.values[...] = right.values
        return right

    return {"log": run}


def half_written():
    def run(self, dim, index, source):
        finish()
        for place, number in enumerate(index.values.ravel()):
            view = np.moveaxis(self.values, dim, 0) if self.shape else self.values
            if not -len(view) <= number < len(view):
                break
            view[number] = np.moveaxis(source.values, dim, 0)[place]
        return index_copy_(self, dim, index, source)

    return {"index_copy_": run}


def lost_signs():
    return {"neg": lambda self: modules().arrays.store(0 - self.values, RULES["neg"](self.meta))}


def from_zero():
    return alter(
        "amax",
        lambda self, *_, **__: is_integer(self),
        lambda right, *_, **__: np.maximum(right, 0),
    )


def saturate():
    def change(right, x, y):
        span = np.iinfo(right.dtype)
        return np.clip(x.values.astype("int64") * y.values.astype("int64"), span.min, span.max)

    return alter("mul.Tensor", lambda x, y: str(x.dtype) == str(y.dtype) == "int8", change)


def signed_bytes():
    def change(right, x, y):
        return x.values.astype("int8") <= y.values.astype("int8")

    return alter("le.Tensor", lambda x, y: str(x.dtype) == str(y.dtype) == "uint8", change)


def read_on():
    def run(self):
        finish()
        if 0 in self.strides and self.values.size > 1:
            flat = np.zeros(self.shape, self.buffer.dtype)
            flat.flat[: self.buffer.size - self.offset] = self.buffer[self.offset :][: flat.size]
            return modules().arrays.store(np.sqrt(flat), RULES["sqrt"](self.meta))
        return right_kernel("sqrt")(self)

    return {"sqrt": run}


def crash():
    def run(self):
        if self.values.size > 32:
            os.abort()
        return right_kernel("sqrt")(self)

    return {"sqrt": run}


def hang():
    def run(self):
        if self.values.size > 32:
            threading.Event().wait()
        return right_kernel("sqrt")(self)

    return {"sqrt": run}


def keep_memory():
    """Return an upload that reads the host's memory later, as one from pinned memory without a wait."""

    def run(data, *, device):
        arrays = modules().arrays
        made = modules().kernels.PRIMS["device_put"](data, device=device)
        if data.ndim == 1 and data.flags.c_contiguous and data.base is not None:
            return arrays.Array(data, made.shape, made.strides)
        return made

    return {"prims::device_put": run}


def refuse_halves():
    def run(data, *, device):
        if data.dtype == "float16":
            raise TypeError("no halves")
        return modules().kernels.PRIMS["device_put"](data, device=device)

    return {"prims::device_put": run}


def switch(name):
    def turn_on():
        SWITCHES.add(name)
        return {}

    return turn_on


#: The twelve kinds that a vendor has planted: name → (kernels, the checks of which one at least finds it).
TWELVE = {
    "an integer operand decides the dtype of a mixture": (mixture, ["aten::mul.Tensor"]),
    "a view with step and offset is read one early": (offset_view, ["aten::sqrt"]),
    "alpha is ignored for integers": (alpha, ["aten::add.Tensor"]),
    "nan is dropped": (nans, ["aten::maximum", "aten::amax"]),
    "an in-place operator returns a new array": (new_array, ["aten::add_.Tensor"]),
    "a result of integers is the argument": (same_memory, ["aten::floor"]),
    "a sum of int32 is int32": (narrow_sums, ["aten::sum.dim_IntList"]),
    "no bounds test in the last group of 64": (no_bounds, ["aten::add_.Tensor"]),
    "a kernel does not wait for its inputs": (no_wait, ["delayed commands"]),
    "uploads are kept": (keep_uploads, ["leaks"]),
    "a sum over no elements is not written": (unwritten, ["aten::sum.dim_IntList"]),
    "out is written row by row": (row_major_out, ["aten::add.out"]),
}
#: More kinds.
MORE = {
    "sizes of 1 are broadcast in the wrong dimension": (wrong_broadcast, ["aten::mul.Tensor"]),
    "integers are divided towards zero": (truncate_division, ["aten::div.Tensor_mode"]),
    "out is not resized": (unresized_out, ["aten::mul.out"]),
    "strides of a result": (wrong_strides, ["aten::log"]),
    "a write to memory that overlaps is not refused": (overlaps, ["aten::add_.Tensor"]),
    "copies of integers saturate": (clip_copies, ["aten::copy_"]),
    "cat of an empty array": (join_empties, ["aten::cat"]),
    "the last of equal elements": (last_of_ties, ["aten::argmax"]),
    "negative places are taken": (negative_places, ["places out of range"]),
    "an input is written to": (write_inputs, ["aten::log"]),
    "an error leaves half of a write": (half_written, ["places out of range"]),
    "the sign of zero is lost": (lost_signs, ["aten::neg"]),
    "a maximum begins at zero": (from_zero, ["aten::amax"]),
    "int8 saturates": (saturate, ["aten::mul.Tensor"]),
    "bytes are compared with a sign": (signed_bytes, ["aten::le.Tensor"]),
    "an expanded view is read on": (read_on, ["aten::sqrt"]),
}
#: Faults that end or stop the process.
DEADLY = {"a kernel aborts": (crash, ["aten::sqrt"]), "a kernel hangs": (hang, ["aten::sqrt"])}
#: Faults of the interface.
OF_INTERFACE = {
    "events are done": (switch("events are done"), ["events"]),
    "time runs back": (switch("time runs back"), ["events"]),
    "streams stay": (switch("streams stay"), ["streams"]),
    "states are lost": (switch("states are lost"), ["generators"]),
    "figures never fall": (switch("figures never fall"), ["memory figures"]),
    "uploads keep pinned memory": (keep_memory, ["pinned memory"]),
    "nothing waits for copies to the host": (switch("copies are not counted"), ["copies to the host"]),
    "a claimed dtype is refused": (refuse_halves, ["host copies"]),
}
FAULTS = {**TWELVE, **MORE, **DEADLY, **OF_INTERFACE}


@contextmanager
def plant(name):
    """Run a block with a fault."""
    kernels = FAULTS[name][0]()
    libraries = {space: dc.Library(space, "IMPL", dc.device_key(DEVICE)) for space in ("aten", "prims")}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dc.OverwriteWarning)
            for operator, kernel in kernels.items():
                space, _, bare = operator.rpartition("::")
                libraries[space or "aten"].impl(bare, kernel)
        yield
    finally:
        for library in libraries.values():
            library.close()
        SWITCHES.clear()
        KEPT.clear()
