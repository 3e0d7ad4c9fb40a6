"""A backend with nothing but the required kernels, which it borrows from the cpu: composites compute the rest."""

import numpy as np

import dispatch_core as dc
from dispatch_aten.decompositions import required_kernels
from dispatch_backend_cpu.arrays import dtype_of, storage, storage_offset_of, strides_of
from dispatch_backend_cpu.kernels import KERNELS


class Spare:
    """An array of its own kind, kept in NumPy's."""

    def __init__(self, array):
        self.array = array

    # The type's own names for these mean something else than the dispatcher's: its ArrayType tells the dispatcher's.
    shape = property(lambda self: list(self.array.shape))
    strides = property(lambda self: self.array.strides)
    dtype = property(lambda self: f"torch.{self.array.dtype}")
    device = property(lambda self: "chip 7")


def inner(value):
    if isinstance(value, (list, tuple)):
        return [inner(each) for each in value]
    return value.array if isinstance(value, Spare) else value


def outer(value):
    if isinstance(value, (list, tuple)):
        return type(value)([outer(each) for each in value])
    return Spare(np.asarray(value)) if isinstance(value, (np.ndarray, np.generic)) else value


def borrow(name):
    kernel = KERNELS[name]

    def run(*args, **kwargs):
        result = kernel(*map(inner, args), **{key: inner(value) for key, value in kwargs.items()})
        for value in (*args, *kwargs.values()):
            if isinstance(value, Spare) and value.array is result:
                return value
        return outer(result)

    return run


@dc.hookimpl
def dispatch_backend_info():
    array = dc.ArrayType(
        Spare,
        shape=lambda x: x.array.shape,
        strides=lambda x: strides_of(x.array),
        storage_offset=lambda x: storage_offset_of(x.array),
        dtype=lambda x: dtype_of(x.array),
        storage=lambda x: id(storage(x.array)),
    )
    return dc.BackendInfo("sparing", array_types=(array,))


@dc.hookimpl
def dispatch_register(registry):
    dc.load_backend("cpu")
    aten, prims = dc.Library("aten", "IMPL", "Sparing"), dc.Library("prims", "IMPL", "Sparing")
    for name in required_kernels():
        aten.impl(name, borrow(name))
    prims.impl("device_get", lambda self: self.array.copy())
    prims.impl("device_put", lambda data, *, device: Spare(data.copy()))


@dc.hookimpl
def dispatch_is_available():
    return True
