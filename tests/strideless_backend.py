"""A backend with nothing but what arrays without strides that cannot be written need, computed by NumPy and the cpu."""

import numpy as np

import dispatch_core as dc
from dispatch_aten.decompositions import required_kernels
from dispatch_aten.dtypes import BY_NAME
from dispatch_backend_cpu.kernels import KERNELS


class Bare:
    """A row-major, read-only array of its own memory: every kernel's result is a copy."""

    def __init__(self, array):
        self._array = np.array(array, order="C")
        self._array.flags.writeable = False

    def read(self):
        return self._array


def inner(value):
    if isinstance(value, (list, tuple)):
        return [inner(each) for each in value]
    return value.read() if isinstance(value, Bare) else dc.Device("cpu") if isinstance(value, dc.Device) else value


def outer(value):
    if isinstance(value, (list, tuple)):
        return type(value)(map(outer, value))
    return Bare(value) if isinstance(value, (np.ndarray, np.generic)) else value


def compute(name):
    kernel = KERNELS.get(name) or getattr(dc.ops.aten, name.partition(".")[0]).__getattr__(
        name.partition(".")[2] or "default"
    )
    return lambda *args, **kwargs: outer(
        kernel(*map(inner, args), **{key: inner(each) for key, each in kwargs.items()})
    )


def cut(self, dim, start, end, step):
    return Bare(self.read()[(slice(None),) * dim + (slice(start, end, step),)])


PRIMS = {
    "reshape": lambda self, shape: Bare(self.read().reshape(shape)),
    "permute": lambda self, dims: Bare(self.read().transpose(dims)),
    "slice": cut,
    "broadcast_to": lambda self, shape: Bare(np.broadcast_to(self.read(), shape)),
    "device_get": lambda self: self.read().copy(),
    "device_put": lambda data, *, device: Bare(data),  # noqa: PLW0108  # the device is this one
}


@dc.hookimpl
def dispatch_backend_info():
    array = dc.ArrayType(
        Bare, shape=lambda x: x.read().shape, dtype=lambda x: BY_NAME[str(x.read().dtype)], mutable=False
    )
    return dc.BackendInfo("strideless", array_types=(array,))


@dc.hookimpl
def dispatch_register(registry):
    dc.load_backend("cpu")
    libraries = {namespace: dc.Library(namespace, "IMPL", "Strideless") for namespace in ("aten", "prims")}
    for kernel in required_kernels(mutable=False, strided=False):
        libraries[kernel.namespace].impl(kernel, PRIMS[kernel.name] if kernel.namespace == "prims" else compute(kernel))


@dc.hookimpl
def dispatch_is_available():
    return True
