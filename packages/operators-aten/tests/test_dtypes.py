import pytest

from dispatch_aten import dtypes
from dispatch_aten.dtypes import ScalarType, get_default_dtype, set_default_dtype


def test_numbers_are_torchs():
    assert [int(dtype) for dtype in (ScalarType.Byte, ScalarType.Long, ScalarType.Bool, ScalarType.BFloat16)] == [
        0,
        4,
        11,
        15,
    ]


def test_text_is_the_short_name():
    assert str(ScalarType.Half) == repr(dtypes.float16) == "float16"
    assert f"{dtypes.bool_}" == "bool"


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
