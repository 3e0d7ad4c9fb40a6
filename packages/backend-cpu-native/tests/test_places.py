"""Compiled joins, choices and sums at places against the kernels in Python, bit by bit."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

pytest.importorskip("dispatch_backend_cpu_native._loops", reason="the extension is not built: run nox -s native")

from dispatch_backend_cpu.kernels import KERNELS
from dispatch_backend_cpu.ops.support.compiled_kernels import LOOPS

if LOOPS is None:
    pytest.skip("compiled kernels are turned off", allow_module_level=True)

from special_values import values

COPIED = [*map(np.dtype, "?bhilBHILefdFD")]
ADDED = [*map(np.dtype, "fdl")]
SHAPES = [(1,), (7,), (3, 5), (1, 6), (6, 1), (2, 3, 4), (5, 1, 3), (40, 130)]


def draw(dtype, shape, seed):
    return (
        values(np.dtype(np.float32), shape, seed).astype(np.float16)
        if dtype.char == "e"
        else values(dtype, shape, seed)
    )


def plain(dtype, shape, seed):
    """Draw elements without infinities and nans, in which the order of additions shows."""
    found = np.asarray(np.random.default_rng([seed, *shape]).standard_normal(shape) * 1e3)
    zeros = np.random.default_rng([seed + 1, *shape]).random(shape) < 0.2
    return np.where(zeros, -0.0, found).astype(dtype)


def index(size, shape, seed):
    return np.random.default_rng([seed, size, *shape]).integers(0, size, shape)


def outcome(kernel, args, options):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = kernel(*args, **options)
    except Exception as error:  # noqa: BLE001 - compared
        return type(error), str(error)
    return found.dtype, found.shape, found.strides, found.flags.writeable, found.tobytes()


def compare(name, *args, served=True, **options):
    """Call a kernel and the one in Python; the arguments stay as they are."""
    kept = [each.tobytes() for each in args if isinstance(each, np.ndarray)]
    kernel = KERNELS[name]
    before = LOOPS.counts()[0]
    found = outcome(kernel, args, options)
    after = LOOPS.counts()[0]
    assert found == outcome(LOOPS.facts(kernel)["python"], args, options), (name, args, options)
    if served is not None:
        assert (after > before) == served
    assert kept == [each.tobytes() for each in args if isinstance(each, np.ndarray)]


@pytest.fixture(autouse=True)
def _ignore_casts():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("dtype", COPIED, ids=str)
def test_arrays_are_joined(dtype):
    for shape in SHAPES:
        arrays = [draw(dtype, shape, seed) for seed in range(3)]
        for dim in range(-len(shape), len(shape)):
            compare("cat", arrays, dim)
            more = [np.ascontiguousarray(np.concatenate([each, each], dim)) for each in arrays[:1]]
            compare("cat", (arrays[0], more[0], arrays[1]), dim)
        for dim in range(-len(shape) - 1, len(shape) + 1):
            compare("stack", arrays, dim)
            compare("stack", arrays[:1], dim)
        compare("cat", arrays)
        compare("stack", tuple(arrays))
    scalar = draw(dtype, (1,), 3).reshape(())
    compare("stack", [scalar, scalar], 0)
    compare("cat", [scalar, scalar], 0, served=False)


def test_joins_of_others_are_left():
    a = np.ones((3, 4), np.float32)
    for name in ("cat", "stack"):
        for arrays in (
            [],
            [a, a.astype("d")],
            [a, a.T.copy()],
            [a, a[:, ::2]],
            [a, np.ones((4, 3), "f").T],
            [a, np.ones(0, "f")],
            [a, np.ones((2, 3, 4), "f")],
            [a.astype("g")] * 2,
            [a, 1.0],
        ):
            compare(name, arrays, 0, served=name == "cat" and False)
        for dim in (2, -3, 5, 1 << 70):
            compare(name, [a, a], dim, served=name == "stack" and dim in (2, -3))
    compare("cat", [np.ones((2, 3, 4, 5), "f").transpose(0, 3, 1, 2)] * 2, 1, served=False)


@pytest.mark.parametrize("dtype", COPIED, ids=str)
def test_elements_and_slices_are_chosen(dtype):
    for shape in SHAPES:
        a = draw(dtype, shape, 1)
        for dim in range(-len(shape), len(shape)):
            for count in (1, 4, 300):
                size = [*shape]
                size[dim] = count
                compare("gather", a, dim, index(shape[dim], tuple(size), 2))
                compare("gather", a, dim, index(shape[dim], tuple(size), 2), sparse_grad=False)
                compare("index_select", a, dim, index(shape[dim], (count,), 3))
                compare("scatter.src", a, dim, index(shape[dim], tuple(size), 4), draw(dtype, tuple(size), 5))


@pytest.mark.parametrize("dtype", ADDED, ids=str)
def test_elements_are_added_in_order(dtype):
    for shape in SHAPES:
        a = plain(dtype, shape, 1)
        for dim in range(-len(shape), len(shape)):
            for count in (1, 4, 300):
                size = [*shape]
                size[dim] = count
                compare("scatter_add", a, dim, index(shape[dim], tuple(size), 4), plain(dtype, tuple(size), 5))
                places, source = index(shape[dim], (count,), 6), plain(dtype, tuple(size), 7)
                compare("index_add", a, dim, places, source)
                compare("index_add", a, dim, places, source, alpha=1)
                compare("index_add", a, dim, places, source, alpha=2, served=False)
                # With nans the result may depend on the loop.
                compare(
                    "scatter_add", a, dim, index(shape[dim], tuple(size), 4), values(dtype, tuple(size), 5), served=None
                )
                compare("index_add", a, dim, places, values(dtype, tuple(size), 7), served=None)


@pytest.mark.parametrize("dtype", ADDED, ids=str)
def test_running_sums(dtype):
    for shape in [*SHAPES, (300, 2), (5000,), (3, 300, 5), (2, 5, 300)]:
        for dim in range(-len(shape), len(shape)):
            compare("cumsum", plain(dtype, shape, 1), dim)
            compare("cumsum", values(dtype, shape, 2), dim, served=None)
            compare("cumsum", plain(dtype, shape, 1), dim, dtype=None)
    zeros = np.full((2, 3), -0.0, dtype)
    compare("cumsum", zeros, 1)
    compare("cumsum", zeros[0].copy(), 0)
    compare("cumsum", np.array([-0.0, 5.0, -5.0], dtype), 0)
    compare("cumsum", plain(dtype, (3, 4), 1)[:, ::2], 0, served=False)
    compare("cumsum", plain(dtype, (3, 4), 1), 5, served=False)


def test_running_sums_of_special_values():
    for dtype in "fd":
        a = np.array([np.inf, 1, -np.inf, 2, np.nan, 3], dtype)
        for found in (a, a[:2], a[:3], a[3:], -a, np.full(4, np.finfo(dtype).max, dtype)):
            compare("cumsum", found.copy(), 0, served=None)


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_gradients_of_embeddings(dtype):
    for shape, width in itertools.product([(1,), (9,), (3, 5), (40, 8)], (1, 3, 130)):
        for padding in (-1, 0, 3):
            places = index(10, shape, 1)
            compare("embedding_dense_backward", plain(dtype, (*shape, width), 2), places, 10, padding, False)
            compare(
                "embedding_dense_backward",
                values(np.dtype(dtype), (*shape, width), 3),
                places,
                10,
                padding,
                False,
                served=None,
            )
        compare("embedding_dense_backward", plain(dtype, (*shape, width), 2), places, 10, -1, True, served=False)
    grad, places = plain(dtype, (3, 2), 1), np.array([0, 1, 10])
    compare("embedding_dense_backward", grad, places, 10, -1, False, served=False)
    compare("embedding_dense_backward", grad, places.astype("i"), 20, -1, False, served=False)
    compare("embedding_dense_backward", grad[:, ::2], places, 20, -1, False, served=False)
    compare("embedding_dense_backward", grad[:0], places[:0], 20, -1, False, served=False)


def test_other_places_are_left():
    a, b = np.arange(12, dtype="f").reshape(3, 4), np.ones((3, 4), "f")
    right = index(3, (3, 4), 1)
    for name, more in (("gather", ()), ("scatter.src", (b,)), ("scatter_add", (b,))):
        for wrong in (
            -right - 1,
            right + 1,
            right.astype("i"),
            right[:, :2],
            right[0],
            right.T,
            right.T.copy().T,
            right[:0],
        ):
            compare(name, a, 0, wrong, *more, served=False)
        compare(name, a.T, 0, right.T.copy() % 3, *[each.T for each in more], served=False)
        compare(name, a, 7, right, *more, served=False)
    compare("scatter.src", a, 0, right, b.astype("d"), served=False)
    compare("scatter_add", a, 0, right[:2].copy(), b, served=False)
    line = index(3, (5,), 1)
    source = np.ones((5, 4), "f")
    for wrong in (
        line - 3,
        line + 1,
        line.astype("i"),
        np.repeat(line, 2)[::2],
        line[:0],
        line.reshape(5, 1),
        line[:1].reshape(()),
    ):
        compare("index_select", a, 0, wrong, served=False)
        compare("index_add", a, 0, wrong, source, served=False)
    compare("index_add", a, 0, line, source[:4], served=False)
    compare("index_add", a > 1, 0, line, source > 0, served=False)
    compare("gather", a, 0, right, sparse_grad=True, served=False)
