import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch_aten.dtypes import ScalarType, bool_, complex64, float16, float32, float64, int8, int64, uint8
from dispatch_aten.output_dtypes import check_output_dtype
from dispatch_aten.promotion import (
    Category,
    Operand,
    Promotion,
    can_cast,
    promote_types,
    result_of,
    result_type,
    rule_for,
    scalar_dtype,
)

COMMON = [dtype for dtype in ScalarType if not dtype.short.startswith(("uint16", "uint32", "uint64", "float8", "q"))]


def test_promotion_is_commutative_and_idempotent():
    for a, b in itertools.product(COMMON, repeat=2):
        assert promote_types(a, b) == promote_types(b, a)
        assert promote_types(a, a) == a
        assert promote_types(promote_types(a, b), b) == promote_types(a, b)


def test_the_promoted_type_can_hold_both():
    for a, b in itertools.product(COMMON, repeat=2):
        assert can_cast(a, promote_types(a, b))


INTEGERS = [dtype for dtype in COMMON if dtype.is_integral or dtype == bool_]
FLOATS = [float16, float32, float64, ScalarType.BFloat16]
COMPLEX = [dtype for dtype in COMMON if dtype.is_complex]
NUMPYS = [dtype for dtype in COMMON if hasattr(np, dtype.short) or dtype == bool_]


def numpys(a, b):
    return np.promote_types(a.short, b.short).name


@pytest.mark.parametrize("family", [INTEGERS, FLOATS, COMPLEX], ids=["integers", "floats", "complex"])
def test_types_of_one_family_promote_as_numpys_do(family):
    for a, b in itertools.product([dtype for dtype in family if dtype in NUMPYS], repeat=2):
        assert promote_types(a, b).short == numpys(a, b), (a, b)


def test_an_integer_does_not_widen_a_float_or_a_complex_type():
    for integer, other in itertools.product(INTEGERS, [*FLOATS, *COMPLEX]):
        assert promote_types(integer, other) == other


def test_a_complex_type_is_as_wide_as_the_promoted_parts():
    for a, b in itertools.product(COMPLEX, [*FLOATS, *COMPLEX]):
        assert promote_types(a, b) == promote_types(a.to_real(), b.to_real() if b.is_complex else b).to_complex()


def test_casting_loses_no_kind():
    for a, b in itertools.product(NUMPYS, repeat=2):
        assert can_cast(a, b) == np.can_cast(a.short, b.short, "same_kind") or uint8 in (a, b)


operands = st.one_of(
    st.builds(Operand, st.sampled_from(COMMON), st.sampled_from(list(Category))),
    st.sampled_from([True, 3, 2.5, 1j]),
)


@given(
    st.lists(operands, min_size=1, max_size=4).flatmap(lambda given: st.tuples(st.just(given), st.permutations(given)))
)
def test_the_order_of_operands_does_not_matter(both):
    given_order, other_order = both
    assert result_type(*given_order) == result_type(*other_order)


@given(st.lists(operands, min_size=1, max_size=3))
def test_an_operand_of_the_results_dtype_changes_nothing(several):
    found = result_type(*several)
    category = max(each.category if isinstance(each, Operand) else Category.WRAPPED for each in several)
    assert result_type(*several, Operand(found, category)) == found
    assert result_type(*several, *several) == found


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
