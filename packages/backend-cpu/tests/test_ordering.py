import numpy as np
import pytest

from dispatch_backend_cpu.kernels import KERNELS

#: The first two are sorted, the others are large enough for quicker ways.
SHAPES = [(9,), (4, 3, 5), (5000,), (300, 10), (3, 700, 2)]


def _examples(shape):
    rng = np.random.default_rng(sum(shape))
    few = rng.integers(-3, 3, shape)
    floats = rng.standard_normal(shape).astype(np.float32)
    yield from (few, floats, few.astype(np.float64) * 0.0, few.astype(np.float32))
    yield np.where(few > 0, np.float32(np.nan), floats)


def _same(found, wanted):
    for each, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(each, other)
        if each.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(each), np.signbit(other))


def _sort_stably(a, dim, descending):
    """Sort with nan last, keeping the order of equal elements: by Python's sort."""

    def order(row):
        return sorted(range(len(row)), key=lambda place: (row[place] != row[place], row[place]))

    if descending:
        places = np.apply_along_axis(lambda row: len(row) - 1 - np.array(order(row[::-1]))[::-1], dim, a)
    else:
        places = np.apply_along_axis(order, dim, a)
    return np.take_along_axis(a, places, dim), places


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_what_is_found_without_sorting_is_what_a_stable_sort_finds(shape):
    for a in _examples(shape):
        for dim in range(len(shape)):
            size, cut = shape[dim], (slice(None),) * dim
            for descending in (False, True):
                wanted = _sort_stably(a, dim, descending)
                _same(KERNELS["sort"](a, dim, descending), wanted)
                for k in (0, 1, 3 % size, size):
                    _same(KERNELS["topk"](a, k, dim, descending), [each[(*cut, slice(k))] for each in wanted])
            values, order = _sort_stably(a, dim, False)
            for k in (1, size // 2 + 1):
                _same(KERNELS["kthvalue"](a, k, dim, False), [each[(*cut, k - 1)] for each in (values, order)])
            known = (~np.isnan(a)).sum(dim, keepdims=True)
            for name, rank in (
                ("median.dim", np.where(known == size, (size - 1) // 2, known)),
                ("nanmedian.dim", np.maximum((known - 1) // 2, 0)),
            ):
                wanted = [np.take_along_axis(each, rank, dim) for each in (values, order)]
                _same(KERNELS[name](a, dim, True), wanted)
                _same(KERNELS[name](a, dim, False), [each.squeeze(dim) for each in wanted])


def test_distinct_elements_and_their_numbers():
    rng = np.random.default_rng(0)
    for a in (rng.integers(0, 50, (40, 100)), rng.integers(0, 5, 7).astype(np.float32), np.zeros((0, 2), np.int64)):
        values, inverse, counts = KERNELS["_unique2"](a, True, True, True)
        np.testing.assert_array_equal(values, np.unique(a))
        np.testing.assert_array_equal(values[inverse], a)
        np.testing.assert_array_equal(counts, [(a == value).sum() for value in values])
        assert [each.size for each in KERNELS["_unique2"](a)] == [values.size, 0, 0]
    assert np.isnan(KERNELS["_unique2"](np.array([np.nan, 1, np.nan]))[0]).tolist() == [False, True, True]
    weights = np.array([0.5, 1, 2], np.float32)
    found = KERNELS["bincount"](np.array([3, 0, 3], np.uint8), weights, 6)
    assert (found.dtype, found.tolist()) == (np.float32, [1, 0, 0, 2.5, 0, 0])
