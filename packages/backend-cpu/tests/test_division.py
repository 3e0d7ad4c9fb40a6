"""Quotients, remainders and powers by numbers of many elements, against NumPy's."""

import numpy as np
import pytest

from dispatch_backend_cpu.fp_errors import quietly
from dispatch_backend_cpu.ops.pointwise import division
from dispatch_backend_cpu.ops.pointwise.powers import POWERS

SIZE = 40_000
SPECIAL = np.array([0.0, np.inf, -np.inf, np.nan], "f")
RANDOM = np.random.default_rng(3)


def _pairs():
    """Yield dividends and divisors: plain, huge, of all bits, beside multiples, special."""
    normal = RANDOM.standard_normal
    divisors = normal(SIZE).astype("f")
    beside = np.nextafter(divisors * RANDOM.integers(-5000, 5000, SIZE).astype("f"), np.float32(-np.inf))
    wild = [RANDOM.integers(0, 1 << 32, SIZE, dtype=np.uint32).view("f") for _ in "ab"]
    for a, b in ((normal(SIZE) * 9, divisors), (normal(SIZE) * 1e7, divisors), (beside, divisors), wild):
        given = a.astype("f")
        given[:5] = 0.0, -0.0, np.inf, -np.inf, np.nan
        yield given, b
        for each in (2, -3, 0.1, 0, np.inf):
            yield given, np.array(each, "f")
        yield given, np.where(RANDOM.random(SIZE) < 0.01, RANDOM.choice(SPECIAL, SIZE), b)


@pytest.mark.parametrize("name", ["fmod", "floor_divide"])
def test_floats_are_divided_to_the_last_bit_as_numpy_does(name):
    for a, b in _pairs():
        made, wanted = (quietly(getattr(module, name), a, b) for module in (division, np))
        assert np.array_equal(made, wanted, equal_nan=True)
        real = wanted == wanted
        assert np.array_equal(np.signbit(made[real]), np.signbit(wanted[real]))


@pytest.mark.parametrize("char", "il")
def test_integers_leave_the_remainders_that_numpy_finds(char):
    limits = np.iinfo(char)
    for top in (10, limits.max >> 24, limits.max):
        a = RANDOM.integers(-top, top, SIZE).astype(char)
        b = (RANDOM.integers(1, top, SIZE) * RANDOM.choice([-1, 1], SIZE)).astype(char)
        a[:2] = limits.min, limits.max
        for divisor in (b, b[:1].reshape(()), np.array(-1, char)):
            assert np.array_equal(quietly(division.remainder, a, divisor), np.remainder(a, divisor))


@pytest.mark.parametrize("char", sorted(dtype.char for dtype in POWERS))
def test_exponents_that_have_a_function_give_the_power(char):
    base = np.arange(1, 6).astype(char)
    for exponent, function in POWERS[np.dtype(char)].items():
        assert np.allclose(function(base), base.astype("D") ** exponent)
        out = np.empty_like(base)
        assert function(base, out) is out
        assert np.array_equal(out, function(base))
