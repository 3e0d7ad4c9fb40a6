import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch_aten.dtypes import bool_, float32, float64, int64, uint8
from dispatch_aten.errors import DataDependentShapeError
from dispatch_aten.families.view.shapes import view_strides
from dispatch_aten.shapes import RULES, TensorMeta, broadcast_shapes, contiguous, infer
from dispatch_aten.shapes.layout import iterator_strides, preserved_strides
from dispatch_aten.shapes.meta import contiguous_strides, is_contiguous, is_non_overlapping_and_dense

sizes = st.integers(0, 4)
shapes = st.lists(sizes, max_size=4).map(tuple)


@given(st.lists(shapes, min_size=1, max_size=3))
def test_broadcasting_is_numpys(given_shapes):
    try:
        expected = np.broadcast_shapes(*given_shapes)
    except ValueError:
        with pytest.raises(RuntimeError, match="must match the size of tensor b"):
            broadcast_shapes(*given_shapes)
    else:
        assert broadcast_shapes(*given_shapes) == expected


@given(shapes)
def test_row_major_strides_are_numpys(shape):
    array = np.empty(shape, np.int8)
    assert is_contiguous(shape, contiguous_strides(shape))
    if 0 not in shape:
        assert contiguous_strides(shape) == array.strides


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4).flatmap(
        lambda s: st.tuples(st.just(s), st.permutations(range(len(s))))
    )
)
def test_a_copy_of_a_transposed_tensor_keeps_the_order_of_its_dimensions(drawn):
    shape, order = drawn
    array = np.empty(shape, np.int8).transpose(order)
    strides = preserved_strides(array.shape, array.strides)
    assert strides == array.strides
    assert is_non_overlapping_and_dense(array.shape, strides)


@given(st.lists(st.integers(1, 4), max_size=4).map(tuple), st.data())
def test_a_view_exists_where_numpy_reshapes_without_a_copy(shape, data):
    order = data.draw(st.permutations(range(len(shape))))
    array = np.empty(shape, np.int8).transpose(order)
    target = data.draw(st.permutations([size for size in array.shape if size != 1] + [1]))
    merged = (int(np.prod(target[:2])), *target[2:])
    expected = array.reshape(merged)
    strides = view_strides(array.shape, array.strides, merged)
    assert (strides is not None) == np.shares_memory(expected, array)
    if strides is not None:
        seen = np.lib.stride_tricks.as_strided(array, merged, strides)
        assert [s for s, n in zip(seen.strides, merged, strict=True) if n > 1] == [
            s for s, n in zip(expected.strides, merged, strict=True) if n > 1
        ]


def test_an_element_wise_result_of_transposed_inputs_is_transposed():
    turned = TensorMeta((2, 3), (1, 2), float32)
    assert iterator_strides((2, 3), [turned, turned]) == (1, 2)
    assert iterator_strides((2, 3), [turned, contiguous((3,))]) == (1, 2)


def test_a_result_has_the_promoted_dtype():
    assert infer("add.Tensor", contiguous((2,), int64), contiguous((), float64)).dtype == float64
    assert infer("div.Scalar", contiguous((2,), int64), 2).dtype == float32
    assert infer("eq.Scalar", contiguous((2,), float64), 2).dtype == bool_


@pytest.mark.parametrize(
    ("name", "args", "error", "text"),
    [
        ("add.Tensor", (contiguous((2, 3)), contiguous((4,))), RuntimeError, "The size of tensor a (3) must match"),
        (
            "mm",
            (contiguous((2, 3)), contiguous((2, 3))),
            RuntimeError,
            "cannot be multiplied (2x3 and 2x3) (argument 'mat2'",
        ),
        (
            "sum.dim_IntList",
            (contiguous((2, 3)), [2]),
            IndexError,
            "range of [-2, 1], but got 2) (argument 'dim' of aten::sum.",
        ),
        (
            "add_.Tensor",
            (contiguous((3,)), contiguous((2, 3))),
            RuntimeError,
            "doesn't match the broadcast shape [2, 3]",
        ),
        ("add_.Scalar", (contiguous((3,), int64), 1.5), RuntimeError, "can't be cast to the desired output type Long"),
        ("mul_.Scalar", (TensorMeta((3,), (0,), float32), 2), RuntimeError, "refers to a single memory location"),
        ("cat", ([],), ValueError, "expected a non-empty list of Tensors (argument 'tensors' of aten::cat)"),
        ("bitwise_not", (contiguous((2,)),), NotImplementedError, "not implemented for 'Float' (aten::bitwise_not)"),
    ],
)
def test_errors_are_torchs_and_name_operator_and_argument(name, args, error, text):
    with pytest.raises(error) as caught:
        infer(name, *args)
    assert text in str(caught.value)


def test_a_shape_that_depends_on_values_is_an_error_of_its_own():
    with pytest.raises(DataDependentShapeError):
        infer("nonzero", contiguous((3,)))


def test_an_operator_without_a_rule_says_so():
    with pytest.raises(NotImplementedError, match=r"no shape rule is known.*aten::no_such_operator"):
        infer("aten::no_such_operator")


def test_in_place_and_out_overloads_have_rules_too():
    x = contiguous((2, 3))
    assert infer("relu_", x) is x
    assert infer("add.out", x, x, out=contiguous((0,))).shape == (2, 3)
    assert infer("max.dim_max", x, 1, max=contiguous((0,)), max_values=contiguous((0,), int64))[1].shape == (2,)
    assert "sum.IntList_out" in RULES


def test_the_dtype_with_number_zero_is_not_taken_for_none():
    assert RULES["empty_strided"]((2,), (1,), dtype=uint8).dtype is uint8


def test_a_description_is_frozen_and_survives_copies_as_itself():
    meta = TensorMeta((2, 3), (1, 2), float32, 4)
    with pytest.raises(AttributeError):
        meta.shape = (3,)
    assert copy.deepcopy(meta) is copy.copy(meta) is pickle.loads(pickle.dumps(meta)) is meta
