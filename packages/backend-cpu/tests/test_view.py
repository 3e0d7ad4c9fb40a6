import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch_aten.errors import DimensionError, ShapeError
from dispatch_aten.shapes import RULES, TensorMeta
from dispatch_backend_cpu.arrays import dtype_of, storage, storage_offset_of, strides_of
from dispatch_backend_cpu.kernels import KERNELS


def describe(array):
    return TensorMeta(array.shape, strides_of(array), dtype_of(array), storage_offset_of(array))


BASE = np.arange(120.0).reshape(5, 4, 3, 2)
CALLS = st.one_of(
    st.tuples(st.just("select.int"), st.tuples(st.integers(-4, 3), st.integers(-2, 1))),
    st.tuples(
        st.just("slice.Tensor"),
        st.tuples(
            st.integers(-4, 3), st.none() | st.integers(-3, 3), st.none() | st.integers(-3, 5), st.integers(1, 3)
        ),
    ),
    st.tuples(st.just("transpose.int"), st.tuples(st.integers(-4, 3), st.integers(-4, 3))),
    st.tuples(st.just("permute"), st.permutations(range(4)).map(lambda dims: (dims,))),
    st.tuples(st.just("unsqueeze"), st.tuples(st.integers(-5, 4))),
    st.tuples(st.just("squeeze"), st.just(())),
    st.tuples(st.just("expand"), st.integers(1, 3).map(lambda n: ([n, -1, -1, -1, -1],))),
    st.tuples(st.just("diagonal"), st.tuples(st.integers(-2, 2), st.just(0), st.just(1))),
    st.tuples(st.just("view"), st.just(([-1],))),
    st.tuples(st.just("detach"), st.just(())),
)


@given(st.lists(CALLS, max_size=4))
def test_views_of_views_share_one_storage_as_their_rules_say(calls):
    array = BASE
    for name, args in calls:
        try:
            expected = RULES[name](describe(array), *args)
        except (DimensionError, ShapeError) as error:
            with pytest.raises(type(error)):
                KERNELS[name](array, *args)
            continue
        array = KERNELS[name](array, *args)
        assert type(array) is np.ndarray
        if array.size:
            assert describe(array) == expected
            assert storage(array) is storage(BASE)
        else:
            assert array.shape == expected.shape


def test_a_view_without_dimensions_is_an_array_that_can_be_written():
    a = np.zeros(3)
    element = KERNELS["select.int"](a, 0, 1)
    assert type(element) is np.ndarray
    element[...] = 5
    assert a.tolist() == [0, 5, 0]


def test_lists_of_views():
    a = np.arange(5)
    parts = KERNELS["split.Tensor"](a, 2, 0)
    assert [part.tolist() for part in parts] == [[0, 1], [2, 3], [4]]
    assert all(storage(part) is a for part in parts)
    assert [part.tolist() for part in KERNELS["unbind.int"](a[:2], 0)] == [0, 1]


def test_views_keep_their_base_read_only():
    a = np.arange(6)
    a.flags.writeable = False
    for name, args in (("view", ([2, 3],)), ("expand", ([2, 6],)), ("unsqueeze", (0,)), ("select.int", (0, -1))):
        assert not KERNELS[name](a, *args).flags.writeable


def test_a_view_that_would_need_a_copy_is_refused():
    with pytest.raises(ShapeError, match="view size is not compatible with input tensor's size and stride"):
        KERNELS["view"](np.zeros((2, 3)).T, [6])


def test_indices_out_of_range_are_named():
    with pytest.raises(DimensionError, match="index 3 out of range for tensor of size"):
        KERNELS["select.int"](np.zeros(3), 0, 3)
