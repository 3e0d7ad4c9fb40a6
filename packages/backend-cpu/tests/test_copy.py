import numpy as np
import pytest

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import ArgumentTypeError, DtypeError
from dispatch_backend_cpu.arrays import strides_of
from dispatch_backend_cpu.kernels import KERNELS
from dispatch_backend_cpu.ops.views.copy import device_get, device_put

CPU = dc.Device("cpu")


def test_copies_preserve_dense_layouts_and_close_gaps():
    a = np.arange(6.0).reshape(2, 3).T
    assert strides_of(KERNELS["clone"](a)) == (1, 3)
    assert strides_of(KERNELS["clone"](a, memory_format=0)) == (2, 1)
    assert strides_of(KERNELS["clone"](np.zeros((4, 6))[::2, ::2])) == (3, 1)
    assert not np.shares_memory(KERNELS["clone"](a), a)


def test_copies_convert_as_c_does():
    found = KERNELS["_to_copy"](np.array([1.9, -1.9]), dtype=ScalarType.Int)
    assert (found.dtype, found.tolist()) == (np.int32, [1, -1])
    assert KERNELS["_to_copy"](np.array([0.5, 0.0]), dtype=ScalarType.Bool).tolist() == [True, False]


def test_copying_broadcasts_and_converts_into_the_target():
    target = np.zeros((2, 2), np.int64)
    assert KERNELS["copy_"](target, np.array([1.5, 2.5])) is target
    assert target.tolist() == [[1, 2], [1, 2]]


def test_one_element_becomes_a_python_number():
    for value, kind in ((np.array([2.5], np.float32), float), (np.array(3), int), (np.array(True), bool)):
        assert type(KERNELS["_local_scalar_dense"](value)) is kind


def test_arrays_come_and_go_without_a_copy():
    a = np.arange(3.0)
    assert device_get(device_put(a, device=CPU)) is a


def test_arrays_that_torch_cannot_hold_are_copied_or_refused():
    assert device_put(np.arange(3)[::-1], device=CPU).tolist() == [2, 1, 0]
    assert device_put(np.array([1, 2], ">i4"), device=CPU).dtype == np.int32
    assert device_put(np.float64(2), device=CPU).shape == ()
    assert type(device_put(np.ma.masked_array([1.0]), device=CPU)) is np.ndarray
    with pytest.raises(ArgumentTypeError, match=r"expected np.ndarray \(got list\)"):
        device_put([1, 2], device=CPU)
    with pytest.raises(DtypeError, match="no equivalent among torch's dtypes"):
        device_put(np.array(["a"]), device=CPU)


def test_long_long_and_long_are_one_dtype():
    array = np.zeros(2, np.longlong)
    assert device_put(array, device=CPU).dtype is np.dtype(np.int64)


def test_factories():
    assert KERNELS["arange.start_step"](1, 2, 0.25).tolist() == [1, 1.25, 1.5, 1.75]
    assert KERNELS["arange"](3).dtype == np.int64
    assert KERNELS["linspace"](0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert KERNELS["full"]([2], True).dtype == np.bool_
    assert KERNELS["eye.m"](2, 3, dtype=ScalarType.Int).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert KERNELS["tril"](np.ones((2, 2)), 0).tolist() == [[1, 0], [1, 1]]
    assert strides_of(KERNELS["zeros_like"](np.ones((2, 3)).T)) == (1, 3)
    assert KERNELS["fill_.Scalar"](np.zeros(2), 3).tolist() == [3, 3]
