"""Arrays on the device: views without copies, and the way to NumPy and back."""

import gc
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dispatch_core as dc
import torchlike
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import DtypeError
from dispatch_backend_npu import arrays, runtime

pytestmark = pytest.mark.usefixtures("npu")

NAMES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 uint16 uint32 uint64".split()


@pytest.mark.parametrize("name", NAMES)
def test_every_dtype_of_numpys_goes_there_and_back(name):
    array = np.arange(12).reshape(3, 4).astype(name)
    found = arrays.from_numpy(array)
    assert (found.shape, found.strides, found.offset, found.dtype.short) == ((3, 4), (4, 1), 0, name)
    back = arrays.to_numpy(found)
    assert back.dtype == array.dtype and (back == array).all()


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (1, 5, 1), (2, 3, 4)])
def test_every_shape_goes_there_and_back(shape):
    array = np.random.default_rng(0).random(shape)
    back = arrays.to_numpy(arrays.from_numpy(array))
    assert back.shape == shape and (back == array).all()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.data())
def test_every_layout_goes_there_and_back(data):
    ndim = data.draw(st.integers(0, 4))
    array = np.random.default_rng(1).random(data.draw(st.tuples(*[st.integers(0, 3)] * ndim)))
    steps = data.draw(st.tuples(*[st.sampled_from([1, 2, -1])] * ndim))
    array = array.transpose(data.draw(st.permutations(range(ndim))))[tuple(slice(None, None, step) for step in steps)]
    back = arrays.to_numpy(arrays.from_numpy(array))
    assert back.shape == array.shape and (back == array).all()


def test_a_dense_array_keeps_its_layout():
    found = arrays.from_numpy(np.zeros((2, 3, 4)).transpose(1, 2, 0))
    assert found.strides == (4, 1, 12)


def test_the_other_byte_order_is_turned_round():
    array = np.arange(5, dtype=">i4")
    assert (arrays.to_numpy(arrays.from_numpy(array)) == array).all()


def test_views_share_memory_and_keep_it():
    base = arrays.from_numpy(np.arange(24, dtype=np.float32).reshape(4, 6))
    view = base.view((2, 3), (12, 2), 7)
    assert view.block is base.block and view.pointer == base.pointer and view.offset == 7
    wanted = [[7.0, 9.0, 11.0], [19.0, 21.0, 23.0]]
    assert arrays.to_numpy(view).tolist() == wanted
    del base
    gc.collect()
    other = arrays.empty((4, 6))
    assert other.pointer != view.pointer and arrays.to_numpy(view).tolist() == wanted


def test_an_expanded_view_is_copied_to_the_host_whole():
    base = arrays.from_numpy(np.arange(3))
    found = arrays.to_numpy(base.view((2, 3), (0, 1), 0))
    assert found.tolist() == [[0, 1, 2]] * 2
    found[0, 0] = 9
    assert found[1, 0] == 0


def test_a_copy_on_the_host_has_memory_of_its_own():
    base = arrays.from_numpy(np.zeros(3))
    found = arrays.to_numpy(base)
    found[:] = 1
    assert arrays.to_numpy(base).tolist() == [0, 0, 0]


def test_an_empty_array_has_the_requested_layout():
    assert arrays.empty((2, 3)).strides == (3, 1)
    found = arrays.empty((2, 3), (1, 2), ScalarType.Long)
    assert (found.strides, found.dtype, found.block.device) == ((1, 2), ScalarType.Long, runtime.current_device())
    assert repr(found).startswith("AclArray(shape=(2, 3), strides=(1, 2), dtype=int64")


@pytest.mark.parametrize("dtype", ["datetime64[s]", "U3", "object"])
def test_dtypes_that_torch_does_not_have_are_refused(dtype):
    with pytest.raises(DtypeError, match="has no equivalent among torch's dtypes"):
        arrays.from_numpy(np.zeros(3, dtype))


def test_dtypes_that_numpy_does_not_have_are_refused_by_name():
    with pytest.raises(DtypeError, match="complex32"):
        arrays.to_numpy(arrays.empty((3,), None, ScalarType.ComplexHalf))


def test_bfloat16_comes_back_as_the_dtype_of_ml_dtypes(monkeypatch):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    array = arrays.from_numpy(np.arange(6).reshape(2, 3).T.astype(bfloat16))
    found = arrays.to_numpy(array)
    assert found.dtype == bfloat16 and found.tolist() == [[0, 3], [1, 4], [2, 5]]
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(DtypeError, match="dtype bfloat16"):
        arrays.to_numpy(array)


def test_memory_is_freed_with_the_last_array():
    gc.collect()
    held = runtime.memory_stats().get("allocated_bytes.all.current", 0)
    base = arrays.empty((100, 100))
    view = base.view((100,), (1,), 0)
    del base
    assert runtime.memory_stats()["allocated_bytes.all.current"] > held
    del view
    assert runtime.memory_stats()["allocated_bytes.all.current"] == held


def test_a_copy_that_fails_leaves_nothing(simulator):
    gc.collect()
    held = runtime.memory_stats().get("allocated_bytes.all.current", 0)
    simulator.fail_nth("aclrtMemcpy", 1)
    with pytest.raises(dc.BackendError, match="aclrtMemcpy failed with 507899") as caught:
        arrays.from_numpy(np.zeros(1000))
    del caught
    assert runtime.memory_stats()["allocated_bytes.all.current"] == held
    assert arrays.to_numpy(arrays.from_numpy(np.ones(3))).tolist() == [1, 1, 1]


def test_a_view_beyond_the_storage_is_refused_as_on_the_cpu():
    def refusal(device):
        with pytest.raises(RuntimeError, match="are out of bounds for storage of size 16") as caught:
            torchlike.ones(4, device=device).as_strided((3,), (4,))
        return str(caught.value)

    assert refusal("npu").startswith(refusal("cpu"))
    assert torchlike.ones(4, device="npu").as_strided((2,), (3,)).tolist() == [1.0, 1.0]
    assert torchlike.arange(4, device="npu")[1:].as_strided((2,), (1,), 2).tolist() == [2, 3]
