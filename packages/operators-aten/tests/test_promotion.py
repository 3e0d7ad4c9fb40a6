import itertools

import pytest

from dispatch_aten.dtypes import ScalarType, bool_, complex64, float16, float32, float64, int8, int64, uint8
from dispatch_aten.promotion import (
    Operand,
    Promotion,
    can_cast,
    check_output_dtype,
    promote_types,
    result_of,
    result_type,
    rule_for,
    scalar_dtype,
)

COMMON = [dtype for dtype in ScalarType if not dtype.short.startswith(("uint16", "uint32", "uint64"))]


def test_promotion_is_commutative_and_idempotent():
    for a, b in itertools.product(COMMON, repeat=2):
        assert promote_types(a, b) == promote_types(b, a)
        assert promote_types(a, a) == a
        assert promote_types(promote_types(a, b), b) == promote_types(a, b)


def test_the_promoted_type_can_hold_both():
    for a, b in itertools.product(COMMON, repeat=2):
        assert can_cast(a, promote_types(a, b))


def test_a_lower_category_decides_only_by_a_higher_kind():
    assert result_type(Operand.with_dims(int8), Operand.zero_dim(int64)) == int8
    assert result_type(Operand.with_dims(int8), Operand.zero_dim(float64)) == float64
    assert result_type(Operand.with_dims(float16), 2.5) == float16
    assert result_type(Operand.with_dims(bool_), 2) == int64
    assert result_type(Operand.with_dims(float32), 1j) == complex64


def test_numbers_alone_have_the_dtype_of_a_tensor_made_of_them():
    assert result_type(1, 2.5) == float32
    assert scalar_dtype(True) == bool_
    with pytest.raises(TypeError, match="expected a number, but got str"):
        scalar_dtype("1")


def test_small_unsigned_types_do_not_promote():
    with pytest.raises(RuntimeError, match="attempted to promote UInt16 and Char"):
        promote_types(ScalarType.UInt16, int8)


def test_operators_have_rules():
    assert result_of(rule_for("aten::div.Tensor"), int64) == float32
    assert result_of(rule_for("div_.Tensor"), int64) == float32
    assert result_of(rule_for("eq.Scalar"), float64) == bool_
    assert result_of(rule_for("sum.dim_IntList"), uint8) == int64
    assert result_of(rule_for("abs"), complex64) == float32
    assert rule_for("argmax") is Promotion.ALWAYS_LONG


def test_a_result_keeps_its_kind_when_it_is_stored():
    check_output_dtype(float64, float16)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        check_output_dtype(float32, int64)
