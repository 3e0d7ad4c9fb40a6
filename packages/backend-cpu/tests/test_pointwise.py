import math
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch_aten.errors import DtypeError, OperatorError, ShapeError
from dispatch_aten.shapes import RULES
from dispatch_backend_cpu.arrays import describe, strides_of
from dispatch_backend_cpu.kernels import KERNELS, SPECIALIZED
from dispatch_backend_cpu.ops.pointwise.numpy_formulas import select
from dispatch_backend_cpu.ops.pointwise.table import AT_ONCE, FORMULAS
from dispatch_backend_cpu.ops.support import rule_kernels
from dispatch_core.calls import traits_of

add = SPECIALIZED["add.Tensor"]
SMALL = st.integers(-50, 50)


@given(st.lists(st.tuples(SMALL, SMALL.filter(bool)), min_size=1, max_size=8))
def test_integer_division_is_exact(pairs):
    a, b = (np.array(values) for values in zip(*pairs, strict=True))
    floor = KERNELS["div.Tensor_mode"](a, b, rounding_mode="floor")
    trunc = KERNELS["div.Tensor_mode"](a, b, rounding_mode="trunc")
    assert floor.tolist() == [x // y for x, y in pairs]
    assert trunc.tolist() == [math.trunc(x / y) for x, y in pairs]
    assert KERNELS["remainder.Tensor"](a, b).tolist() == [x % y for x, y in pairs]
    assert KERNELS["fmod.Tensor"](a, b).tolist() == [int(math.fmod(x, y)) for x, y in pairs]


@pytest.mark.parametrize("name", ["remainder.Tensor", "fmod.Tensor", "floor_divide"])
def test_integers_are_not_divided_by_zero(name):
    with pytest.raises(OperatorError, match="ZeroDivisionError"):
        KERNELS[name](np.array([1, 2]), np.array([1, 0]))
    assert KERNELS[name](np.zeros(0, np.int64), np.array(0)).size == 0


def test_integers_to_negative_powers():
    base = np.array([1, -1, -1, 2, 0])
    assert KERNELS["pow.Tensor_Tensor"](base, np.array([-3, -3, -2, -1, -1])).tolist() == [1, -1, 1, 0, 0]


@pytest.mark.parametrize("name", ["int64", "bool", "uint8"])
def test_transcendental_functions_of_integers_are_float32(name):
    found = KERNELS["exp"](np.ones(2, name))
    assert found.dtype == np.float32
    assert found[0] == pytest.approx(math.e)


def test_a_0d_operand_does_not_decide_within_its_kind():
    half, wide, whole = np.ones(2, np.float16), np.array(2.0), np.ones(2, np.int32)
    assert add(half, wide).dtype == np.float16
    assert add(whole, wide).dtype == np.float64  # a 0-d float64 raises integers to its own dtype
    assert add(whole, np.array(2)).dtype == np.int32


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_nan_wins(name):
    assert np.isnan(KERNELS[name](np.array([1.0, np.nan]), np.array([np.nan, 1.0]))).all()
    assert np.isnan(KERNELS["clamp"](np.array([np.nan]), 0, 1)).all()


def test_halves_round_to_even_and_zeros_keep_their_sign():
    assert KERNELS["round"](np.array([0.5, 1.5, 2.5, -0.5])).tolist() == [0, 2, 2, 0]
    assert math.copysign(1, KERNELS["remainder.Tensor"](np.array([-2.0]), np.array([2.0]))[0]) == -1


def test_a_boolean_difference_is_refused():
    with pytest.raises(OperatorError, match="Subtraction, the `-` operator, with two bool tensors"):
        SPECIALIZED["sub.Tensor"](np.ones(2, bool), np.ones(2, bool))


def test_shapes_that_do_not_broadcast_are_named():
    with pytest.raises(ShapeError, match=r"size of tensor a \(3\) must match the size of tensor b \(4\)") as caught:
        add(np.ones(3), np.ones(4))
    assert "aten::add.Tensor" in str(caught.value)
    assert caught.value.__context__ is None


def layouts(shape):
    base = np.arange(math.prod(shape) * 4, dtype=np.float32)
    dense = base[: math.prod(shape)].reshape(shape)
    yield dense
    yield np.asfortranarray(dense)
    yield base.reshape(*shape[:-1], shape[-1] * 4)[..., ::4]
    yield np.broadcast_to(base[: shape[-1]], shape)
    yield dense.reshape(shape[::-1]).transpose()


@pytest.mark.parametrize("shape", [(2, 3), (3, 1), (2, 3, 4), (1, 4, 1)])
def test_results_have_the_strides_of_the_shape_rule(shape):
    for a in layouts(shape):
        expected = RULES["exp"](describe(a))
        assert strides_of(KERNELS["exp"](a)) == expected.strides
        for b in layouts(shape):
            expected = RULES["add.Tensor"](describe(a), describe(b))
            found = add(a, b)
            assert strides_of(found) == expected.strides
            np.testing.assert_array_equal(found, operator.add(a, b))


def test_alpha_scales_the_second_operand():
    a, b = np.array([1, 2]), np.array([10, 20])
    assert KERNELS["add.Tensor"](a, b, alpha=3).tolist() == [31, 62]
    assert KERNELS["sub.Tensor"](a, b, alpha=2).tolist() == [-19, -38]
    assert KERNELS["rsub.Tensor"](a, b, alpha=2).tolist() == [8, 16]
    with pytest.raises(OperatorError, match="For integral input tensors, argument alpha must not be a floating"):
        KERNELS["add.Tensor"](a, b, alpha=0.5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_factors_are_told_from_others_of_the_same_value(dtype):
    a, b = np.full(2, -0.0, dtype), np.ones(2, dtype)
    for alpha in (2, 2.0, 0, 0.0, -0.0, 0, math.nan, math.inf, 10**30, 2):
        expected = a + np.array(alpha, dtype) * b
        for _ in range(2):
            found = KERNELS["add.Tensor"](a, b, alpha=alpha)
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    for number in (0.0, -0.0):
        assert np.signbit(KERNELS["mul.Scalar"](b, number)).tolist() == [math.copysign(1, number) < 0] * 2
    for number in range(1000):
        assert KERNELS["mul.Scalar"](b, number).tolist() == [number, number]


def test_the_error_function_is_exact_to_double_precision():
    x = np.linspace(-7, 7, 999)
    np.testing.assert_allclose(KERNELS["erf"](x), [math.erf(v) for v in x], rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(KERNELS["erfc"](x), [math.erfc(v) for v in x], rtol=1e-12)


@pytest.mark.parametrize("count", [2000, 40_000])
def test_the_error_function_in_single_precision(count):
    x = np.concatenate([np.linspace(-7, 7, count), [math.inf, -math.inf, -0.0, 1e-30, 1e30]]).astype(np.float32)
    expected = np.array([math.erf(v) for v in x.tolist()])
    found = KERNELS["erf"](x)
    assert found.dtype == np.float32
    assert (abs(found - expected) <= 5 * np.spacing(abs(expected).astype(np.float32))).all()
    assert np.signbit(found).tolist() == np.signbit(x).tolist()
    assert np.isnan(KERNELS["erf"](np.full(count, np.nan, np.float32))).all()


TILED = {name: options for name, options in AT_ONCE.items() if name not in ("lerp.Tensor", "gelu_backward")}
VALUES = {
    "weight": 0.3,
    "beta": 2,
    "threshold": 0.5,
    "value": 0.25,
    "negative_slope": 0.1,
    "self_is_result": False,
    "decimals": 1,
    "lambd": 0.5,
    "min_val": -1,
    "max_val": 1,
}


@pytest.mark.parametrize("name", TILED)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_many_elements_are_computed_in_tiles_as_few_are(name, dtype, monkeypatch):
    random = np.random.default_rng(0)
    arrays = [(random.standard_normal((2, 4501)) * 3).astype(dtype) for _ in range(FORMULAS[name][0])]
    by_position, _, by_keyword = (", " + TILED[name]).partition(", *, ")
    options = [VALUES[each] for each in by_position.split(", ")[1:] if each and "=" not in each]
    named = {each: VALUES[each] for each in by_keyword.split(", ") if each and "=" not in each}
    whole, general = KERNELS[name](*arrays, *options, **named), traits_of(KERNELS[name]).stands_for()
    monkeypatch.setattr(rule_kernels, "WHOLE", 8000)
    monkeypatch.setattr(rule_kernels, "TILE", 8000)
    np.testing.assert_array_equal(general(*arrays, *options, **named), whole)
    gaps = [np.repeat(each, 2, 1)[:, ::2] for each in arrays]
    np.testing.assert_array_equal(general(*gaps, *options, **named), whole)


def test_sigmoid_does_not_overflow():
    assert KERNELS["sigmoid"](np.array([-1e4, 0.0, 1e4])).tolist() == [0.0, 0.5, 1.0]


def test_where_takes_conditions_only():
    a = np.arange(3.0)
    assert KERNELS["where.self"](a > 1, a, -a).tolist() == [0, -1, 2]
    with pytest.raises(DtypeError, match="where expected condition to be a boolean tensor"):
        KERNELS["where.self"](a, a, a)


@pytest.mark.parametrize("char", "fdFDilh?")
def test_zero_is_chosen_by_bits_as_it_is_by_branches(char):
    random = np.random.default_rng(7)
    array = random.integers(-2, 3, 9000).astype(char)
    condition = random.random(9000) < 0.5
    for zero in (np.zeros((), char), -np.zeros((), char) if char != "?" else np.ones((), char)):
        for turned in (slice(None), slice(None, None, -1)):
            made, wanted = (way(condition[turned], zero, array[turned]) for way in (select, np.where))
            assert made.dtype == wanted.dtype
            assert made.tobytes() == wanted.tobytes()
