"""Every operator, composed or not, gives on an npu what torch gives."""

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

import dispatch_core as dc  # noqa: E402  # after the skip

_spec = importlib.util.spec_from_file_location("aten_cases", Path(__file__).with_name("test_aten_operators.py"))
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)


@pytest.fixture
def put(npu):
    """Give the function that copies an array to the npu."""
    dc.load_backend("npu")
    return lambda array: dc.ops.prims.device_put(array, device=dc.Device("npu"))


def moved(value, put):
    if isinstance(value, list):
        return [moved(each, put) for each in value]
    return put(value) if isinstance(value, np.ndarray) else value


def fetched(value):
    return [dc.ops.prims.device_get(each) if type(each).__name__ == "AclArray" else each for each in cases.flat(value)]


NO_TENSORS = ("linspace", "arange", "arange.start", "eye", "eye.m", "full", "ones", "zeros", "scalar_tensor")


# A copy to the device is row-major, and as_strided sees memory: a case about another layout is not about this.
CASES = [
    each for each in cases.CASES if each.values[0] != "as_strided" or each.values[1](cases.Draw(4))[0].is_contiguous()
]


@pytest.mark.parametrize(("name", "make", "kwargs"), CASES)
def test_operators_on_an_npu_are_torch_s(name, make, kwargs, put):
    args = make(cases.Draw(4))
    kwargs_ours = {key: cases.ours(value) for key, value in kwargs.items()}
    if name in NO_TENSORS:
        kwargs_ours["device"] = dc.Device("npu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = cases.torch_operator(name)(*args, **kwargs)
        got = cases.our_operator(name)(*moved(cases.ours(args), put), **kwargs_ours)
    cases.assert_same(fetched(got), expected)
