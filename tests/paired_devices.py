"""A device with two indices, for tests: NumPy's arrays with an index, and the cpu's kernels.

Its kernels note each call on another device than the thread's, in ``wrong``.
"""

import threading

import numpy as np

import dispatch_core as dc
from dispatch_aten.decompositions import required_kernels
from dispatch_backend_cpu.arrays import dtype_of, storage, storage_offset_of, strides_of
from dispatch_backend_cpu.kernels import KERNELS

#: Kernels that composites could replace: writes, outputs, lists, products, indices and copies.
MORE = """add_.Tensor add.out mul_.Tensor sub.Tensor mm bmm addmm cat relu relu_ index.Tensor zeros_like new_empty
    copy_ fill_.Scalar""".split()


class Twin:
    """An array on one of the two devices."""

    __slots__ = ("__weakref__", "array", "index")

    def __init__(self, array, index=None):
        self.array, self.index = array, thread.index if index is None else index


class _Thread(threading.local):
    index = 0


thread = _Thread()
#: The calls that ran on another device than that of their arrays: the operator, their indices, the thread's.
wrong = []
#: The names of the kernels that have run.
called = []


def current():
    return thread.index


def exchange(index):
    before, thread.index = thread.index, index
    return before


def _check(name, indices):
    called.append(name)
    if indices - {thread.index}:
        wrong.append((name, indices, thread.index))


def _inner(value, indices):
    if isinstance(value, (list, tuple)):
        return [_inner(each, indices) for each in value]
    if isinstance(value, Twin):
        indices.add(value.index)
        return value.array
    if isinstance(value, dc.Device):
        indices.add(thread.index if value.index is None else value.index)
        return None
    return value


def _outer(value, given):
    if isinstance(value, (list, tuple)):
        return type(value)([_outer(each, given) for each in value])
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    same = [each for each in given if isinstance(each, Twin) and each.array is value]
    return same[0] if same else Twin(np.asarray(value))


def _borrow(name):
    kernel = KERNELS[name]

    def run(*args, **kwargs):
        indices = set()
        inner, named = _inner(args, indices), {key: _inner(value, indices) for key, value in kwargs.items()}
        _check(name, indices)
        return _outer(kernel(*inner, **named), [*args, *kwargs.values()])

    return run


def _device_get(self):
    _check("device_get", {self.index})
    return self.array.copy()


def _device_put(data, *, device):
    _check("device_put", {thread.index if device.index is None else device.index})
    return Twin(np.array(data))


def make_kernels(more=MORE):
    names = dict.fromkeys([*map(str, required_kernels(mutable=True, strided=True)), *more])
    found = {name: _borrow(name) for name in names if name in KERNELS}
    return found | {"prims::device_get": _device_get, "prims::device_put": _device_put}


TWINS = dc.ArrayType(
    Twin,
    shape=lambda twin: twin.array.shape,
    dtype=lambda twin: dtype_of(twin.array),
    strides=lambda twin: strides_of(twin.array),
    storage_offset=lambda twin: storage_offset_of(twin.array),
    storage=lambda twin: id(storage(twin.array)),
    device_index=lambda twin: twin.index,
    current_device=current,
)


def register(kernels=None, *, fallback=(), **hooks):
    """Register the device; return its handle."""
    wrong.clear(), called.clear()
    thread.index = 0
    hooks.setdefault("device_interface", lambda: dc.DeviceInterface(current=current, exchange=exchange))
    hooks.setdefault("device_count", lambda: 2)
    info = dc.BackendInfo("twin", array_types=(TWINS,), fallback=fallback)
    return dc.register_backend(info, make_kernels() if kernels is None else kernels, **hooks)
