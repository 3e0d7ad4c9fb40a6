import math

import numpy as np
import pytest

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import DimensionError, DtypeError, OperatorError
from dispatch_backend_cpu.kernels import KERNELS


def sum_of(a, *args, **kwargs):
    return KERNELS["sum.dim_IntList"](a, *args, dtype=None, **kwargs)


def test_float16_is_accumulated_in_float32():
    ones = np.ones(5000, np.float16)
    assert KERNELS["sum"](ones, dtype=None) == 5000
    assert KERNELS["mean"](ones, dtype=None) == 1


def test_small_integers_are_accumulated_in_int64():
    found = KERNELS["sum"](np.full(300, 100, np.uint8), dtype=None)
    assert (found.dtype, found) == (np.int64, 30000)


def test_lists_of_dims():
    a = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(sum_of(a, [0, -1], False), a.sum((0, 2)))
    np.testing.assert_array_equal(sum_of(a, [1], True), a.sum(1, keepdims=True))
    assert sum_of(a, [], False) == a.sum()
    assert sum_of(a, None, True).shape == (1, 1, 1)


def test_wrong_dims_are_named():
    with pytest.raises(
        DimensionError, match=r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)"
    ):
        sum_of(np.ones((2, 2)), [2], False)
    with pytest.raises(OperatorError, match="dim 0 appears multiple times"):
        sum_of(np.ones((2, 2)), [0, -2], False)


def test_the_mean_of_integers_is_refused():
    with pytest.raises(DtypeError, match=r"mean\(\): could not infer output dtype"):
        KERNELS["mean"](np.ones(3, np.int64), dtype=None)
    assert KERNELS["mean"](np.array([1, 2]), dtype=ScalarType.Double) == 1.5


def test_the_greatest_of_nothing_is_an_error():
    with pytest.raises(
        OperatorError, match=r"max\(\): Expected reduction dim to be specified for input.numel\(\) == 0"
    ):
        KERNELS["max"](np.zeros(0))
    with pytest.raises(DimensionError, match=r"Expected reduction dim 0 to have non-zero size"):
        KERNELS["max.dim"](np.zeros((0, 2)), 0, False)


def test_the_first_nan_is_the_greatest_and_the_least():
    a = np.array([1.0, np.nan, 5.0, np.nan])
    assert KERNELS["argmax"](a, None, False) == KERNELS["argmin"](a, None, False) == 1
    values, indices = KERNELS["max.dim"](a, 0, False)
    assert math.isnan(values)
    assert indices == 1


def test_values_and_indices():
    values, indices = KERNELS["min.dim"](np.array([[3, 1], [1, 1]]), 1, True)
    assert (values.tolist(), indices.tolist()) == ([[1], [1]], [[1], [0]])


@pytest.mark.parametrize("correction", [0, 1, 0.5])
def test_corrections_of_the_variance(correction):
    a = np.arange(6.0).reshape(2, 3) ** 2
    expected = ((a - a.mean(1, keepdims=True)) ** 2).sum(1) / (3 - correction)
    np.testing.assert_allclose(KERNELS["var.correction"](a, [1], correction=correction), expected)
    var, mean = KERNELS["var_mean.correction"](a, [1], correction=correction)
    np.testing.assert_allclose(var, expected)
    np.testing.assert_allclose(mean, a.mean(1))


def test_too_few_elements_for_a_variance_are_nan():
    with pytest.warns(UserWarning, match=r"var\(\): degrees of freedom is <= 0"):
        assert math.isnan(KERNELS["var.correction"](np.ones(1), None, correction=None, keepdim=False))


def test_scans_of_arrays_without_dimensions():
    assert KERNELS["cumsum"](np.array(3), 0, dtype=None) == 3


def test_softmax_is_shifted_and_log_softmax_agrees():
    a = np.array([[1000.0, 1001.0], [0.0, -np.inf]])
    soft = KERNELS["_softmax"](a, 1, False)
    np.testing.assert_allclose(soft.sum(1), 1)
    np.testing.assert_allclose(np.log(soft[0]), KERNELS["_log_softmax"](a, 1, False)[0])


def test_losses_ignore_and_weigh():
    rows = np.log(np.array([[0.5, 0.5], [0.25, 0.75]]))
    loss, total = KERNELS["nll_loss_forward"](rows, np.array([0, 1]), np.array([1.0, 3.0]), 1, -100)
    assert total == 4
    assert loss == pytest.approx(-(math.log(0.5) + 3 * math.log(0.75)) / 4)
    loss, total = KERNELS["nll_loss_forward"](rows, np.array([0, 1]), None, 2, 1)
    assert (total, loss) == (1, pytest.approx(-math.log(0.5)))
    with pytest.raises(DimensionError, match=r"Target 2 is out of bounds\."):
        KERNELS["nll_loss_forward"](rows, np.array([0, 2]), None, 1, -100)


def test_products_of_all_dtypes():
    a, b = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
    for dtype in (np.int32, np.uint8, np.float16, np.float32):
        found = KERNELS["mm"](a.astype(dtype), b.astype(dtype))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, (a @ b).astype(dtype))
    with pytest.raises(OperatorError, match=r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"):
        KERNELS["mm"](a, a)


def test_a_beta_of_zero_leaves_nan_out():
    found = KERNELS["addmm"](np.full(2, np.nan), np.ones((2, 2)), np.ones((2, 2)), beta=0, alpha=2)
    assert found.tolist() == [[4, 4], [4, 4]]


def test_sorting_is_stable_both_ways_and_nan_is_greatest():
    a = np.array([1.0, np.nan, 0.0, 1.0])
    assert KERNELS["sort"](a, -1, False)[1].tolist() == [2, 0, 3, 1]
    assert KERNELS["sort"](a, -1, True)[1].tolist() == [1, 0, 3, 2]
    values, indices = KERNELS["topk"](a[2:], 1, -1, True, True)
    assert (values.tolist(), indices.tolist()) == ([1.0], [1])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_sums_so_far_of_negative_zeros_are_zeros(dtype):
    found = KERNELS["cumsum"](np.array([-0.0, -0.0, -1.0], dtype), 0)
    assert np.signbit(found).tolist() == [False, False, True]


@pytest.mark.parametrize("shape", [(40, 300), (3, 5, 1000), (9000, 1), (64, 256)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_products_of_long_rows(shape, keepdim):
    given = 1 + np.random.default_rng(1).standard_normal(shape) / 50
    made = KERNELS["prod.dim_int"](given, -1, keepdim)
    assert np.allclose(made, given.prod(-1, keepdims=keepdim), rtol=1e-12)
    assert (
        np.isnan(KERNELS["prod.dim_int"](np.where(given > 1.1, np.nan, given), len(shape) - 1).sum())
        == (given > 1.1).any()
    )


@pytest.mark.parametrize("count", [15, 16, 17, 1000])
def test_medians_are_the_lower_ones_and_the_first_of_zeros(count):
    given = np.random.default_rng(count).integers(-3, 4, count).astype(np.float32)
    given[::2] *= -1
    for array in (
        given,
        np.where(given == 0, -0.0, given).astype(np.float32),
        np.append(given, np.float32(np.nan)),
        given + 9,
    ):
        known = np.sort(array[~np.isnan(array)], kind="stable")
        lower = known[(known.size - 1) // 2]
        assert (made := KERNELS["nanmedian"](array)) == lower
        assert np.signbit(made) == np.signbit(lower)
        assert np.array_equal(KERNELS["median"](array), np.nan if known.size < array.size else lower, equal_nan=True)
