"""Kernels that call NumPy at once give what the general kernels behind them give: bits, dtype and strides."""

import numpy as np
import pytest

from dispatch_aten.shapes import rule_key
from dispatch_backend_cpu.arrays import as_array, strides_of
from dispatch_backend_cpu.kernels import KERNELS
from dispatch_backend_cpu.ops.pointwise.numpy_formulas import _MANY, select
from dispatch_backend_cpu.ops.pointwise.table import FORMULAS
from dispatch_core import DispatchError
from dispatch_core.calls import traits_of

RANDOM = np.random.default_rng(5)
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5])


def _values(shape, char):
    if char not in "fd":
        return RANDOM.integers(0, 2 if char == "?" else 9, shape).astype(char)
    found = RANDOM.standard_normal(shape).astype(char)
    found.flat[: min(found.size, SPECIAL.size)] = SPECIAL[: found.size]
    return found


def _arrays(chars):
    for char in chars:
        for shape in ((), (1,), (9,), (0, 2), (4, 3), (1, 1), (3, 1), (2, 1, 3), (2, 3, 4)):
            array = _values(shape, char)
            yield array
            if array.ndim > 1:
                yield array.T
                yield _values((*shape[:-1], 2 * max(shape[-1], 1)), char)[..., ::2]


def _outcome(kernel, args, named):
    try:
        with np.errstate(all="ignore"):
            found = kernel(*args, **named)
    except DispatchError as error:
        return str(error)
    arrays = [as_array(each) for each in (found if isinstance(found, tuple) else (found,))]
    return [(each.dtype, each.shape, strides_of(each), each.tobytes()) for each in arrays]


def _compare(name, *args, **named):
    kernel = KERNELS[name]
    assert _outcome(kernel, args, named) == _outcome(traits_of(kernel).stands_for(), args, named), (name, args)


FULL = "sum prod linalg_vector_norm mean max min argmax argmin any all count_nonzero".split()
OF_ONE = "prod.dim_int any.dim all.dim max.dim min.dim argmax argmin".split()
OF_SOME = "sum.dim_IntList mean.dim amax amin".split()


@pytest.mark.parametrize("name", FULL)
def test_full_reductions(name):
    for array in _arrays("?fdli"):
        _compare(name, array)


@pytest.mark.parametrize("name", ["var.correction", "std.correction"])
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_moments_of_all(name):
    for array in _arrays("fd"):
        for correction in (0, 1, 2.5):
            _compare(name, array, None, correction=correction, keepdim=False)


@pytest.mark.parametrize("name", [*OF_ONE, *OF_SOME])
def test_reductions_of_dimensions(name):
    for array in _arrays("?fdl"):
        for dim in range(-array.ndim, array.ndim + 1):
            for keepdim in (False, True):
                _compare(name, array, [dim] if name in OF_SOME else dim, keepdim)


@pytest.mark.parametrize(
    "name", [name for name, row in FORMULAS.items() if traits_of(KERNELS[name]).stands_for() is not row[1]]
)
def test_formulas(name):
    required = [each for each in rule_key(name).schema.arguments if not each.has_default]
    for array in _arrays("fd"):
        for number in (2, 0.25):
            for transposed in (False, True):
                other = np.array(array[..., ::-1]) if array.ndim else as_array(array + 1)
                other = np.asfortranarray(other) if transposed and array.ndim else other
                arrays = iter([array, other, as_array(array * 2)])
                values = {each.name: next(arrays) if str(each.type) == "Tensor" else number for each in required}
                named = {each.name: 1 for each in required if each.kwarg_only}
                _compare(name, *(values[each.name] for each in required if not each.kwarg_only), **named)


@pytest.mark.parametrize("char", "efdilB")
def test_selection_by_bits_is_where(char):
    count = _MANY + 77
    a, b = (_values((count,), "d" if char == "e" else char).astype(char) for _ in range(2))
    condition = RANDOM.random(count) > 0.5
    for first, second in ((a, b), (a, np.array(7, char)), (np.array(0, char), b), (a[::-1], b)):
        found, expected = select(condition, first, second), np.where(condition, first, second)
        assert (found.dtype, found.tobytes()) == (expected.dtype, expected.tobytes())


@pytest.mark.parametrize("char", "fdl")
def test_products_of_many_numbers(char):
    long = np.linspace(0.999, 1.001, 9_000) if char != "l" else np.arange(1, 9_001) | 1
    found, expected = KERNELS["prod"](long.astype(char)), np.multiply.reduce(long.astype(char))
    np.testing.assert_allclose(found, expected, rtol=1e-3 if char == "f" else 1e-12)


@pytest.mark.parametrize(
    ("shape", "strides"), [((1, 4), (1, 1)), ((2, 1, 3), (3, 1, 1)), ((3, 1), (1, 7)), ((2, 3), (3, 1))]
)
@pytest.mark.parametrize("reduction", [1, 2])
def test_slopes_of_squares_are_contiguous(shape, strides, reduction):
    array = np.lib.stride_tricks.as_strided(np.arange(40.0), shape, [8 * each for each in strides])
    _compare("mse_loss_backward", np.array(2.0), array, array + 1, reduction)


def test_large_outputs_are_cleared():
    made = KERNELS["zeros"]([3, 5_000])
    assert made.dtype == np.float32
    assert not made.any()
    made += 1
    assert KERNELS["zero_"](made.T) is not None
    assert not made.any()
