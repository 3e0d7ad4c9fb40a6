import numpy as np
import pytest

from dispatch_backend_cpu.kernels import KERNELS

#: Short and long lines, and slices of other dimensions that are combined as a whole.
SHAPES = [(7,), (20_000,), (5, 4), (6, 300), (2, 5, 150)]


def _examples(shape):
    rng = np.random.default_rng(len(shape))
    floats = rng.standard_normal(shape).astype(np.float32)
    yield from (floats, np.sort(floats, 0), rng.integers(-3, 3, shape), -np.zeros(shape, np.float32))
    yield np.where(rng.random(shape) < 0.1, np.float32(np.nan), floats)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_scans_are_those_of_each_line(shape):
    for a in _examples(shape):
        wide = np.float64 if a.dtype.kind == "f" else np.int64
        for dim in range(len(shape)):
            for name, ufunc in (("cumsum", np.add), ("cumprod", np.multiply)):
                with np.errstate(all="ignore"):
                    wanted = ufunc.accumulate(a.astype(wide), dim)
                    wanted = (wanted + 0 if name == "cumsum" else wanted).astype(a.dtype)
                written = a.copy()
                for found in (KERNELS[name](a, dim), KERNELS[f"{name}_"](written, dim)):
                    np.testing.assert_array_equal(found, wanted)
                    known = ~np.isnan(wanted)
                    np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(wanted[known]))
                assert found is written


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_running_extrema_are_the_last_of_equal_ones(shape):
    for a in _examples(shape):
        for dim in range(len(shape)):
            for name, ufunc in (("cummax", np.maximum), ("cummin", np.minimum)):
                values, places = KERNELS[name](a, dim)
                np.testing.assert_array_equal(values, ufunc.accumulate(a, dim))
                np.testing.assert_array_equal(np.take_along_axis(a, places, dim), values)
                steps = np.arange(shape[dim]).reshape([-1 if each == dim else 1 for each in range(a.ndim)])
                assert (places <= steps).all()
                # An element that equals what counts so far is the one that counts.
                counts = (a == values) | np.isnan(a)
                np.testing.assert_array_equal(places[counts], np.broadcast_to(steps, shape)[counts])
