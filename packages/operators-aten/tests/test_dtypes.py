import copy
import operator
import pickle

import pytest

from dispatch_aten import dtypes
from dispatch_aten.dtypes import ScalarType, get_default_dtype, set_default_dtype


def test_numbers_are_torchs():
    members = ScalarType.Byte, ScalarType.Long, ScalarType.Bool, ScalarType.BFloat16
    assert [dtype.value for dtype in members] == [0, 4, 11, 15]
    assert [ScalarType(dtype.value) for dtype in members] == list(members)


def test_text_is_the_name_that_numpy_knows_and_repr_the_users():
    assert str(ScalarType.Half) == f"{dtypes.float16}" == "float16"
    assert [str(dtypes.bool_), repr(dtypes.bool_), repr(dtypes.bfloat16)] == [
        "bool",
        "torchlike.bool",
        "torchlike.bfloat16",
    ]


@pytest.mark.parametrize("dtype", list(ScalarType), ids=str)
def test_a_dtype_is_no_number_and_equals_itself_alone(dtype):
    assert not isinstance(dtype, int)
    assert [other for other in ScalarType if other == dtype] == [dtype]
    assert dtype != dtype.value
    assert dtype.value not in {dtype: None}
    assert bool(dtype)
    for convert in (int, float, operator.index, lambda value: value + 1, lambda value: value < dtype):
        with pytest.raises(TypeError):
            convert(dtype)
    # Every look-up in a table of dtypes would pay for a hash in Python.
    assert hash(dtype) == object.__hash__(dtype)


@pytest.mark.parametrize("dtype", list(ScalarType), ids=str)
def test_a_dtype_is_one_object_after_copies_and_pickles(dtype):
    assert copy.copy(dtype) is copy.deepcopy([dtype])[0] is dtype
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(dtype, protocol)) is dtype


def test_a_dtype_cannot_be_changed():
    for change in (setattr, lambda dtype, name, _: delattr(dtype, name)):
        for name in ("itemsize", "short", "anything"):
            with pytest.raises(AttributeError, match=f"attribute '{name}' of torchlike.float32 cannot be changed"):
                change(ScalarType.Float, name, 1)
    assert (ScalarType.Float.itemsize, ScalarType.Float.short) == (4, "float32")


def test_every_dtype_is_found_by_its_name():
    assert {dtypes.BY_NAME[dtype.short] for dtype in ScalarType} == set(ScalarType)


def test_complex_and_real_types_belong_together():
    assert dtypes.float64.to_complex() == dtypes.complex128
    assert dtypes.complex64.to_real() == dtypes.float32
    with pytest.raises(RuntimeError, match="no complex type with parts of type int64"):
        dtypes.int64.to_complex()


def test_the_default_dtype_can_be_another_floating_point_type():
    set_default_dtype(dtypes.float64)
    try:
        assert get_default_dtype() == dtypes.float64
    finally:
        set_default_dtype(dtypes.float32)


def test_the_default_dtype_is_floating_point():
    with pytest.raises(TypeError, match="only floating-point types are supported"):
        set_default_dtype(dtypes.int64)
