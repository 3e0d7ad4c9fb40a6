"""A third backend, in thirty lines: arrays that cannot be written to, computed by whatever serves NumPy's arrays."""

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import BY_NAME
from dispatch_aten.operators import ATEN
from dispatch_aten.variants import functional_of, inplace_of, is_inplace


class Frozen:
    """A read-only copy of a NumPy array."""

    def __init__(self, array):
        self.array = np.array(array, order="C")
        self.array.flags.writeable = False


def thaw(value):
    if isinstance(value, (list, tuple)):
        return type(value)(map(thaw, value))
    return value.array if isinstance(value, Frozen) else dc.Device("cpu") if isinstance(value, dc.Device) else value


def freeze(value):
    if isinstance(value, (list, tuple)):
        return type(value)(map(freeze, value))
    return Frozen(value) if isinstance(value, (np.ndarray, np.generic)) else value


def make_kernel(op, keyset):
    return lambda *args, **kwargs: freeze(op(*map(thaw, args), **{name: thaw(value) for name, value in kwargs.items()}))


@dc.hookimpl
def dispatch_backend_info():
    array = dc.ArrayType(
        Frozen, shape=lambda x: x.array.shape, dtype=lambda x: BY_NAME[str(x.array.dtype)], mutable=False
    )
    return dc.BackendInfo("frozen", array_types=(array,))


@dc.hookimpl
def dispatch_register(registry):
    dc.load_backend("cpu")
    aten, prims = dc.Library("aten", "IMPL", "Frozen"), dc.Library("prims", "IMPL", "Frozen")
    for name, schema, _ in ATEN:
        # Writing operators are registered too, but their functional overload runs in their place. Where there is none, a
        # kernel could not write; a composite makes a new array, and binds it.
        served = any(registry.has_kernel(f"aten::{each}", "CPU") for each in (name, inplace_of(name) or name))
        if is_inplace(name) and functional_of(name) is None:
            continue
        if served and not schema.endswith("Tensor(a)[]") and name not in ("zero_", "resize_"):
            aten.impl(name, dc.kernel_factory(make_kernel))
    prims.impl("device_get", lambda self: self.array.copy())
    prims.impl("device_put", lambda data, *, device: Frozen(data))  # noqa: PLW0108  # the device is this one


@dc.hookimpl
def dispatch_is_available():
    return True
