"""A backend whose arrays are computed late: until then they do not know their sizes. NumPy's arrays lie inside."""

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import BY_NAME
from dispatch_aten.operators import ATEN
from dispatch_aten.variants import functional_of, inplace_of, is_inplace


class Late:
    """A read-only copy of a NumPy array, which knows its sizes once it is computed."""

    def __init__(self, array, *, known=True):
        self.array = np.array(array, order="C")
        self.array.flags.writeable = False
        self.known = known


#: The arrays of each call of the hook, and how often the program waited.
COMPUTED, WAITED = [], []
#: The library's fault, where it has one.
FAULT = []


def thaw(op, value):
    if isinstance(value, (list, tuple)):
        return type(value)([thaw(op, item) for item in value])
    if isinstance(value, Late):
        if not value.known and "unknown_ok" not in op.tags:
            raise AssertionError(f"{op.name} was given an array with unknown sizes")
        return value.array
    return dc.Device("cpu") if isinstance(value, dc.Device) else value


def freeze(value, *, known):
    if isinstance(value, (list, tuple)):
        return type(value)([freeze(item, known=known) for item in value])
    return Late(value, known=known or not np.ndim(value)) if isinstance(value, (np.ndarray, np.generic)) else value


def is_known(values):
    return all(is_known(each) if isinstance(each, (list, tuple)) else getattr(each, "known", True) for each in values)


def make_kernel(op, keyset):
    def run(*args, **kwargs):
        known = is_known((*args, *kwargs.values()))
        unknown = [each for each in (*args, *kwargs.values()) if not getattr(each, "known", True)]
        if len(set(map(id, unknown))) > 1:
            raise AssertionError(f"{op.name} was given two arrays with unknown sizes")
        found = op(*[thaw(op, each) for each in args], **{name: thaw(op, each) for name, each in kwargs.items()})
        return freeze(found, known=known and op.name != "aten::masked_select")

    return run


@dc.hookimpl
def dispatch_backend_info():
    array = dc.ArrayType(
        Late,
        shape=lambda x: x.array.shape if x.known else (None,) * x.array.ndim,
        dtype=lambda x: BY_NAME[str(x.array.dtype)],
        mutable=False,
    )
    return dc.BackendInfo("late", array_types=(array,))


@dc.hookimpl
def dispatch_compute(arrays):
    if FAULT:
        raise FAULT[0]
    COMPUTED.append(len(arrays))
    return [Late(each.array) for each in arrays]


@dc.hookimpl
def dispatch_synchronize():
    WAITED.append(1)


@dc.hookimpl
def dispatch_register(registry):
    dc.load_backend("cpu")
    aten, prims = dc.Library("aten", "IMPL", "Late"), dc.Library("prims", "IMPL", "Late")
    for name, schema, _ in ATEN:
        served = any(registry.has_kernel(f"aten::{each}", "CPU") for each in (name, inplace_of(name) or name))
        if is_inplace(name) and functional_of(name) is None:
            continue
        if served and not schema.endswith("Tensor(a)[]") and name not in ("zero_", "resize_"):
            aten.impl(name, dc.kernel_factory(make_kernel))
    prims.impl("device_get", lambda self: self.array.copy())
    prims.impl("device_put", lambda data, *, device: Late(data))  # noqa: PLW0108  # the device is this one


@dc.hookimpl
def dispatch_is_available():
    return True
