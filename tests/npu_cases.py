"""Cases for the npu's kernels: drawn arrays in a dtype and a layout, and the comparison of both devices' results."""

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_backend_npu.aclnn.dtypes import takes, tensor_arguments
from dispatch_backend_npu.arrays import AclArray, from_numpy, to_numpy
from dispatch_backend_npu.runtime import device

aten = dc.ops.aten


class Draw:
    """Random arrays in a dtype and a layout."""

    def __init__(self, dtype="float32", layout="contiguous"):
        self.random, self.dtype, self.layout = np.random.default_rng(3), dtype, layout

    def __call__(self, *shape):
        values = self.random.standard_normal(shape) * (1 if self.dtype.startswith("float") else 3)
        return self.lay_out(np.asarray(values if self.dtype[0] != "u" else abs(values), self.dtype))

    def integers(self, high, *shape):
        return self.lay_out(self.random.integers(0, high, shape))

    def lay_out(self, values):
        if self.layout == "transposed":
            return np.ascontiguousarray(values.T).T
        if self.layout == "sliced" and values.ndim:
            wide = np.zeros((*values.shape[:-1], values.shape[-1] * 2 + 1), values.dtype)
            wide[..., 1::2] = values
            return wide[..., 1::2]
        return values


def put(value):
    """Copy an array to the device, laid out alike; leave other arguments as they are."""
    if not isinstance(value, np.ndarray):
        return value
    owner = value
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    flat = owner.reshape(-1) if owner.flags.c_contiguous else owner.T.reshape(-1)
    offset = (value.__array_interface__["data"][0] - owner.__array_interface__["data"][0]) // value.itemsize
    return from_numpy(flat.copy()).view(value.shape, tuple(step // value.itemsize for step in value.strides), offset)


def overload(name):
    packet, _, kind = name.partition(".")
    return getattr(getattr(aten, packet), kind or "default")


def compare(name, arguments, tolerance):
    """Run one case on both devices."""
    ours = [put(value) for value in arguments]
    found = overload(name)(*ours)
    expected = overload(name)(*arguments)
    if name.partition(".")[0].endswith("_"):
        assert found is ours[0]
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for number, (each, other) in enumerate(pairs):
        if other is None:
            assert each is None
            continue
        assert isinstance(each, AclArray)
        assert (each.shape, str(each.dtype)) == (other.shape, str(other.dtype)), (name, number)
        assert each.strides == dc.strides(other), (name, number)
        wide = [np.asarray(values, "float64") for values in (to_numpy(each), other)]
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance, err_msg=f"{name} {number}")


def is_taken(function, dtype):
    """Return whether the chip that is simulated has a function, which takes the type as that of its first tensor."""
    types = takes(function, device.chip().family)
    return types is not None and ScalarType[dtype] in types[tensor_arguments(function)[0]]


def assert_runs(simulator, function, dtype, *, expected=True):
    """Check that a function has run where the chip takes the type, and elsewhere not; other chips demand further things."""
    has_run, taken = function in simulator.log(), expected and is_taken(function, dtype)
    assert has_run == taken or (device.chip().lacks and not has_run), function
