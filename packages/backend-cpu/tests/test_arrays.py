import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import DtypeError, OperatorError
from dispatch_aten.shapes import TensorMeta
from dispatch_backend_cpu.arrays import (
    check_writable,
    coerce,
    dtype_of,
    empty_strided,
    numpy_dtype,
    storage,
    storage_offset_of,
    strided_view,
    strides_of,
)
from dispatch_backend_cpu.output_specs import OutputSpec, conform

NAMES = "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("name", NAMES)
def test_every_dtype_has_its_scalar_type(name):
    dtype = np.dtype(name)
    assert dtype_of(np.zeros(1, dtype)).short == name
    assert numpy_dtype(dtype_of(np.zeros(1, dtype))) is dtype


@pytest.mark.parametrize("name", ["complex32"])
def test_dtypes_that_numpy_lacks_are_refused_by_name(name):
    from dispatch_aten.dtypes import BY_NAME

    with pytest.raises(DtypeError, match=f"dtype {name}"):
        numpy_dtype(BY_NAME[name])


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([None]), np.zeros(1, "datetime64[s]")])
def test_dtypes_that_torch_lacks_are_refused_by_name(array):
    with pytest.raises(DtypeError, match=r"no equivalent among torch's dtypes"):
        dtype_of(array)


@given(st.lists(st.integers(1, 4), max_size=4), st.randoms(use_true_random=False))
def test_a_layout_that_is_asked_for_is_the_one_that_comes(shape, random):
    order = list(range(len(shape)))
    random.shuffle(order)
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    array = empty_strided(shape, strides, np.dtype(np.float32))
    assert array.shape == tuple(shape)
    assert strides_of(array) == tuple(strides)
    assert storage(array).size == array.size


def test_empty_results_of_ufuncs_have_torchs_strides():
    assert strides_of(np.add(np.zeros((0, 3)), 1)) == (3, 1)


def test_offsets_are_counted_from_the_storage():
    base = np.arange(24.0).reshape(2, 3, 4)
    assert storage_offset_of(base) == 0
    assert storage_offset_of(base[1, 1:, ::2]) == 16
    assert storage_offset_of(base.transpose(2, 0, 1)[3]) == 3


@given(st.data())
def test_strided_views_read_what_their_strides_say(data):
    base = np.arange(40.0)
    view = base[4:].reshape(4, 9).T[1:, ::2]
    shape = data.draw(st.lists(st.integers(0, 3), max_size=3))
    strides = [data.draw(st.integers(0, 5)) for _ in shape]
    offset = data.draw(st.integers(0, 9))
    seen = strided_view(view, shape, strides, offset)
    assert seen.shape == tuple(shape)
    assert storage(seen) is base or not seen.size
    for place in np.ndindex(*shape):
        assert seen[place] == offset + sum(i * s for i, s in zip(place, strides, strict=True))


def test_strided_views_stay_within_the_storage():
    with pytest.raises(OperatorError, match="storage offset 4, and itemsize 8 requiring a storage size of 56"):
        strided_view(np.arange(6.0), (2,), (2,), 4)


def test_views_of_read_only_arrays_are_read_only():
    array = np.arange(6.0)
    array.flags.writeable = False
    assert not strided_view(array, (2, 3), (3, 1), 0).flags.writeable
    with pytest.raises(OperatorError, match="read-only"):
        check_writable(array)


def test_views_of_storages_in_another_order_are_found():
    owner = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert strided_view(owner, (6,), (1,), 0).tolist() == [0, 3, 1, 4, 2, 5]


def test_expanded_arrays_are_not_written_to():
    expanded = strided_view(np.zeros(3), (2, 3), (0, 1), 0)
    with pytest.raises(OperatorError, match="more than one element of the written-to tensor"):
        check_writable(expanded)
    check_writable(expanded, expanded=True)


def test_numpy_scalars_become_arrays_without_dimensions():
    coerced = coerce(np.float32(2.5))
    assert type(coerced) is np.ndarray
    assert coerced.shape == ()
    assert coerced.dtype == np.float32


def test_results_are_brought_into_the_announced_form():
    expected = OutputSpec(TensorMeta((2, 3), (1, 2), ScalarType.Half))
    found = conform(np.arange(6).reshape(2, 3), expected)
    assert (found.dtype, strides_of(found), found.tolist()) == (np.float16, (1, 2), [[0, 1, 2], [3, 4, 5]])


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_dtypes_of_ml_dtypes_are_those_of_torch(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.zeros(3, getattr(ml_dtypes, name))
    assert dtype_of(array).short == name
    assert numpy_dtype(dtype_of(array)) is array.dtype
    assert empty_strided((300_000,), (1,), array.dtype).dtype is array.dtype
