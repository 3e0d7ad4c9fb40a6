"""Composites on the cpu backend's arrays; their values are compared with torch in the parity tests."""

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_aten.decompositions import EXPLICIT, IMPLICIT, required_kernels
from dispatch_aten.dtypes import bool_, float32, float64, int64, uint8
from dispatch_aten.operators import ATEN

pytest.importorskip("dispatch_backend_cpu", reason="composites need some backend's kernels")
aten = dc.ops.aten


def test_an_in_place_overload_writes_and_returns_the_array_itself():
    array = np.array([1.0, 2.0])
    assert aten.lerp_.Scalar(array, np.array([3.0, 4.0]), 0.5) is array
    assert array.tolist() == [2.0, 3.0]


def test_an_in_place_overload_that_fails_changes_nothing():
    array = np.array([1, 2])
    with pytest.raises(
        RuntimeError, match=r"result type Float can't be cast to the desired output type Long.*aten::mul_"
    ):
        aten.mul_.Scalar(array, 1.5)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        aten.add_.Tensor(array, np.ones((3, 2), int))
    assert array.tolist() == [1, 2]


def test_an_out_overload_fills_the_array_it_is_given():
    out = np.empty(2)
    assert aten.add.out(np.ones(2), np.ones(2), out=out) is out
    assert out.tolist() == [2.0, 2.0]


def test_an_out_overload_resizes_an_empty_array_silently_and_another_one_with_a_warning():
    assert dc.shape(aten.exp.out(np.zeros((2, 3)), out=np.empty(0))) == (2, 3)
    with pytest.warns(UserWarning, match=r"An output with one or more elements was resized since it had shape \[5\]"):
        resized = aten.exp.out(np.zeros((2, 3)), out=np.empty(5))
    assert dc.shape(resized) == (2, 3)


def test_an_out_overload_refuses_a_dtype_that_loses_the_kind():
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
        aten.exp.out(np.zeros(2), out=np.empty(2, int))


def test_several_outputs_are_written_each():
    values, indices = np.empty(2), np.empty(2, int)
    written = aten.max.dim_max(np.array([[1.0, 5.0], [7.0, 2.0]]), 1, max=values, max_values=indices)
    assert (values.tolist(), indices.tolist()) == ([5.0, 7.0], [1, 0])
    assert written[0] is values


def test_a_factory_writes_in_the_dtype_of_its_output():
    out = np.empty(3, np.int16)
    assert aten.arange.out(3, out=out) is out
    assert out.tolist() == [0, 1, 2]


@pytest.mark.no_pipeline(reason="a call on raw arrays gives a value that is not an array yet")
def test_a_number_beyond_the_dtype_wraps_in_arithmetic_and_not_in_comparisons():
    array = np.array([1, 2], np.uint8)
    assert EXPLICIT["mul.Scalar"](array, 300).tolist() == [44, 88]
    assert EXPLICIT["lt.Scalar"](array, 300).tolist() == [True, True]


def test_to_gives_the_same_array_where_nothing_changes():
    array = np.ones(2)
    assert aten.to.dtype(array, float64) is array
    assert aten.to.dtype(array, float64, False, True) is not array
    assert dc.dtype(aten.to.dtype(array, int64)) == int64


def test_reshape_is_a_view_where_it_can_be():
    array = np.arange(6)
    assert np.shares_memory(aten.reshape(array, [2, 3]), array)
    assert not np.shares_memory(aten.reshape(array.reshape(2, 3).T, [6]), array)


def test_a_number_of_several_elements_is_refused():
    with pytest.raises(RuntimeError, match="a Tensor with 2 elements cannot be converted to Scalar"):
        aten.item(np.ones(2))


def test_a_backend_needs_few_kernels():
    required = required_kernels()
    assert len(required) < 110
    assert len(ATEN) > 700
    # These two are composed where arrays have no strides.
    assert set(required) & (EXPLICIT.keys() | IMPLICIT.keys()) == {"as_strided", "empty_strided"}


@pytest.mark.parametrize("mutable", [True, False])
@pytest.mark.parametrize("strided", [True, False])
def test_the_list_is_complete_for_each_type_of_arrays(mutable, strided):
    needed = required_kernels(mutable=mutable, strided=strided)
    assert {"prims::device_get", "prims::device_put"} <= set(needed)
    assert ("empty_strided" in needed, "empty.memory_format" in needed) == (strided, not strided)
    assert ("as_strided" in needed) == (mutable or strided) == ("prims::reshape" not in needed)
    for name in ("copy", "fill.Scalar", "index_put"):
        written = f"{name.partition('.')[0]}_{name[len(name.partition('.')[0]) :]}"
        assert (written in needed, name in needed) == (mutable, not mutable)


def test_the_list_tells_what_a_kernel_is_asked_for():
    kernels = {kernel: kernel for kernel in required_kernels(mutable=False, strided=False)}
    assert kernels["le.Tensor"].takes[float32, int64] == (bool_,)
    assert kernels["where.self"].takes[bool_, uint8, float32] == (float32,)
    assert (float32, uint8, float32) not in kernels["where.self"].takes
    assert kernels["sum.dim_IntList"].takes[(bool_,)] == (int64,)
    assert kernels["sort.stable"].takes[(float32,)] == (float32, int64)
    assert all(str(kernel.name) in kernel.schema and kernel.dtypes for kernel in kernels)
    untold = {kernel for kernel in kernels if not kernel.takes}
    assert untold == {"prims::device_get", "prims::device_put", "empty.memory_format", "nonzero"}
