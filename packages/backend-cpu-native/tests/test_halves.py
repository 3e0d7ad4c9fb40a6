"""16-bit floats by the loops of float32 against the kernels in Python: every pattern of bits, and pairs of them."""

from __future__ import annotations

import itertools
import random
import warnings

import numpy as np
import pytest

pytest.importorskip("dispatch_backend_cpu_native._loops", reason="the extension is not built: run nox -s native")
pytest.importorskip("ml_dtypes")

import ml_dtypes

import torchlike
from dispatch_backend_cpu.kernels import KERNELS, SPECIALIZED
from dispatch_backend_cpu.ops.support.compiled_kernels import LOOPS

if LOOPS is None:
    pytest.skip("compiled kernels are turned off", allow_module_level=True)

torchlike.zeros(1, dtype=torchlike.bfloat16)  # its dtype is known from then on
FLOAT = np.dtype(np.float32).num
COMPILED = {
    f"{name}{mark}": LOOPS.facts(kernel) | {"kernel": kernel}
    for table, mark in ((KERNELS, ""), (SPECIALIZED, " with a factor of 1"))
    for name, kernel in sorted(table.items())
    if type(kernel) is LOOPS.Kernel and LOOPS.facts(kernel)["halves"] and FLOAT in LOOPS.facts(kernel)["types"]
}
DTYPES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
EVERY = np.arange(1 << 16, dtype=np.uint16)
SPECIAL = [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFE00, 0x7F7F, 0x7F80, 0xFF80]
SPECIAL += [0x7FC0, 0xFFC0, 0x3C00, 0x3F80, 0xBC00, 0x7D55, 0x7FA5]
SIZES = [1, 7, 64, 1023, 2047, 2049, 20_000]
NUMBERS = [2, 2.5, -1.0, 0.1, 0, 0.0, -0.0, 1e-8, 3.00001, 65519, 1 / 3, -7, 1.0009765625]


def rows(*ways):
    found = [name for name, facts in COMPILED.items() if facts["way"] in ways]
    assert found
    return pytest.mark.parametrize(("name", "dtype"), [*itertools.product(found, DTYPES)], ids=str)


def draw(dtype, size, seed, *, nans=True):
    """Draw patterns of bits, special ones among them."""
    chosen = np.random.default_rng([seed, size])
    bits = chosen.integers(0, 1 << 16, size).astype(np.uint16)
    bits = np.where(chosen.random(size) < 0.3, chosen.choice(np.array(SPECIAL, np.uint16), size), bits)
    made = bits.view(dtype)
    return made if nans else np.where(np.isnan(made.astype("f")), dtype.type(1), made).astype(dtype)


def compare(name, *args, served=True, into=False, **options):
    facts = COMPILED[name]
    theirs = [each.copy("K") if isinstance(each, np.ndarray) else each for each in args]
    before = LOOPS.counts()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = facts["kernel"](*args, **options)
        counts = LOOPS.counts()
        wanted = facts["python"](*theirs, **options)
    if served is not None:
        assert (counts[0] - before[0] > 0) == served
    assert found is args[0] or not into
    assert found.dtype is wanted.dtype and found.shape == wanted.shape and found.strides == wanted.strides
    if found.tobytes() != wanted.tobytes():
        bits = f"u{found.itemsize}"
        places = np.flatnonzero(found.reshape(-1).view(bits) != wanted.reshape(-1).view(bits))
        raise AssertionError(f"{len(places)} elements differ, first at {places[0]}: {found.reshape(-1)[places[0]]}")


@rows("unary")
def test_every_half_of_a_ufunc_of_one_array(name, dtype):
    few = COMPILED[name]["halves"] & 16  # bfloat16 alone, in one block
    for _ in range(3):  # at the second call Python makes a table
        compare(name, EVERY.view(dtype), served=not few)
    for start in range(0, 1 << 16, 1900):
        compare(name, EVERY.view(dtype)[start : start + 1900].reshape(-1, 4), served=dtype != np.float16 or not few)
    for size in SIZES:
        compare(name, draw(dtype, size, 1), served=not few or (size <= 2048 and dtype != np.float16))


@rows("number")
def test_every_half_and_a_number(name, dtype):
    for number in NUMBERS:
        compare(name, EVERY.view(dtype), number)
        compare(name, draw(dtype, 1025, 1), number)
        compare(name, draw(dtype, 1, 1).reshape(()), number)
    for number in (1e5, 1e39, float("inf"), float("nan"), 1 << 60):
        compare(name, draw(dtype, 9, 2), number, served=None)


@rows("binary")
def test_pairs_of_halves(name, dtype):
    for size in SIZES:
        for seed in range(3):
            a, b = draw(dtype, size, seed), draw(dtype, size, seed + 10)
            compare(name, a, b, served=None)
            compare(name, draw(dtype, size, seed, nans=False), b)
            compare(name, a, draw(dtype, size, seed + 10, nans=False))
    for one, other in itertools.product(SPECIAL, repeat=2):
        pair = np.array([one, other], np.uint16).view(dtype)
        compare(name, pair[:1], pair[1:], served=None)
    every = EVERY.view(dtype)
    for seed in range(4):
        other = np.roll(every, 1 + 9973 * seed)
        compare(name, every, np.where(np.isnan(other.astype("f")), dtype.type(3), other).astype(dtype))


@rows("binary")
def test_shapes_of_halves(name, dtype):
    a = draw(dtype, 600, 1, nans=False)
    for shape in ((), (1,), (2, 3), (1, 600), (600, 1), (3, 4, 50)):
        size = int(np.prod(shape))
        some, other = a[:size].reshape(shape), a[::-1][:size].copy().reshape(shape)
        compare(name, some, other)
        compare(name, some, draw(dtype, 1, 3).reshape(()))
        compare(name, draw(dtype, 1, 4).reshape(()), some)
    compare(name, a.reshape(20, 30), a[:30], served=False)
    compare(name, a.reshape(20, 30).T, a.reshape(20, 30).T, served=False)
    compare(name, a[::2], a[:300], served=False)
    compare(name, a[:0], a[:0], served=False)


@rows("binary into")
def test_halves_in_place(name, dtype):
    for size in SIZES:
        for seed in range(3):
            a, b = draw(dtype, size, seed), draw(dtype, size, seed + 10)
            compare(name, a.copy(), b, served=None, into=True)
            compare(name, a.copy(), draw(dtype, size, seed, nans=False), into=True)
            compare(name, a.copy(), draw(dtype, 1, seed, nans=False).reshape(()).copy(), into=True)
    a = draw(dtype, 100, 1, nans=False).copy()
    compare(name, a, a, into=True)


@rows("number into")
def test_halves_in_place_and_a_number(name, dtype):
    for number in NUMBERS:
        for size in (1, 100, 3000):
            compare(name, draw(dtype, size, 3).copy(), number, into=True)


#: Formula → the options of a call.
OPTIONS = {
    "add.Tensor": ((), {"alpha": 2.5}),
    "sub.Tensor": ((), {"alpha": -3}),
    "addcdiv": ((), {"value": 0.3}),
    "addcmul": ((), {"value": 0.3}),
    "elu": ((1.5, 1.0, 1.0), {}),
    "hardshrink_backward": ((0.5,), {}),
    "hardtanh_backward": ((-1, 1.0), {}),
    "leaky_relu_backward": ((0.01, False), {}),
    "lerp.Scalar": ((0.3,), {}),
    "round.decimals": ((), {"decimals": 2}),
    "softplus_backward": ((1.0, 20.0), {}),
    "softshrink_backward": ((0.5,), {}),
    "threshold": ((0.1, 3.0), {}),
}


@rows("chain")
def test_formulas_of_halves(name, dtype):
    facts = COMPILED[name]
    # A kernel that knows no options yet.
    options = {each: facts[each] for each in ("most", "arity", "maker", "halves")}
    fresh = LOOPS.Kernel("chain", facts["python"], None, facts["types"], **options)
    COMPILED[name] = facts | {"kernel": fresh}
    given, named = OPTIONS.get(name, ((), {}))
    served = LOOPS.counts()[0]
    for shape in [(1,), (7,), (3, 5), (1000,), (2047,), (4095,), (4096,), ()]:
        for nans in (True, False):
            arrays = [
                draw(dtype, int(np.prod(shape)), seed, nans=nans).reshape(shape) for seed in range(facts["arity"])
            ]
            compare(name, *arrays, *given, served=None, **named)
    every = EVERY.view(dtype)
    for start in range(0, 1 << 16, 4000):
        parts = [np.roll(every, 7919 * place)[start : start + 4000] for place in range(facts["arity"])]
        compare(name, *parts, *given, served=None, **named)
    is_plain = name in ("add.Tensor", "silu", "sigmoid", "leaky_relu", "addcmul", "lerp.Scalar", "sigmoid_backward")
    assert not is_plain or LOOPS.counts()[0] - served > 15


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_conversions_have_the_bits_of_numpys(dtype):
    every, words = EVERY.view(dtype), np.arange(0, 1 << 32, 4099, dtype=np.uint32)
    below = np.array([0, 1, 0x0FFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001, 0xF000, 0xFFFF])
    near = (EVERY.astype(np.uint32) << 16)[:, None] + below
    for size in (1, 7, 65, 9000, 1 << 16):
        for start in (0, 0x3F0, 0x7C00, 0xFC00 - 100, 0x7F80 - 10):
            some = every[start : start + size].copy()
            made = np.empty(some.shape, np.float32)
            assert LOOPS.convert(some, made)
            with np.errstate(all="ignore"):
                assert made.tobytes() == some.astype(np.float32).tobytes()
    for found in (words.view(np.float32), near.astype(np.uint32).reshape(-1).view(np.float32)):
        for some in (found, found[3:60], found[:9]):
            made = np.empty(some.shape, dtype)
            assert LOOPS.convert(some, made)
            with np.errstate(all="ignore"):
                wanted = some.astype(dtype)
            places = np.flatnonzero(made.view(np.uint16) != wanted.view(np.uint16))
            assert not len(places), (some[places[:3]], made[places[:3]], wanted[places[:3]])


def test_conversions_of_other_arrays_are_left():
    half, wide = np.ones(6, np.float16), np.ones(6, np.float32)
    kept = wide.copy()
    for value, out in (
        (half, half.copy()),
        (wide, kept),
        (half[::2], wide[:3].copy()),
        (half, wide.reshape(2, 3)),
        (half.astype(np.float64), half.copy()),
        (half.astype(">f2"), wide),
        ([1.0], wide),
        (wide.view(np.float16)[:6], wide),
    ):
        was = out.tobytes()
        assert not LOOPS.convert(value, out)
        assert out.tobytes() == was
    half.flags.writeable = False
    assert not LOOPS.convert(wide, half)


@rows("bounded", "gate")
def test_relu_of_halves(name, dtype):
    more = (0,) if name == "threshold_backward" else ()
    for size in (*SIZES, 1 << 16):
        every = np.roll(EVERY.view(dtype), 31_000)[:size].copy()
        arrays = [every, np.roll(every, 7)] if more else [every]
        compare(name, *arrays, *more)
        compare(name, *[draw(dtype, size, seed) for seed in range(1 + len(more))], *more)
    some = [draw(dtype, 60, seed).reshape(1, 10, 6) for seed in range(1 + len(more))]
    compare(name, *some, *more)


@rows("fold", "fold along")
def test_sums_of_halves(name, dtype):
    for shape in [(1,), (7,), (3, 5), (1, 6), (6, 1), (2, 3, 4), (1000,), (33, 31), (4096,), (4097,), (64, 64), ()]:
        size = int(np.prod(shape))
        for seed in range(6):
            drawn = np.random.default_rng([seed, *shape]).standard_normal(shape) * 10.0 ** (seed - 2)
            a = np.asarray(drawn, dtype) if seed else draw(dtype, size, 3).reshape(shape)
            if COMPILED[name]["way"] == "fold":
                compare(name, a, served=size <= 4096)
                continue
            for dim, keeps in itertools.product(range(-len(shape), len(shape)), (False, True)):
                compare(name, a, [dim], keeps, served=None)
    zeros = np.full(5, -0.0, dtype)
    compare(name, zeros, *([[0]] if COMPILED[name]["way"] != "fold" else []))


def test_rows_of_halves_are_there():
    ways = {facts["way"] for facts in COMPILED.values()}
    assert ways >= {
        "unary",
        "binary",
        "number",
        "binary into",
        "number into",
        "chain",
        "bounded",
        "gate",
        "fold",
        "cat",
    }
    assert {"add.Tensor with a factor of 1", "mul.Tensor", "div.Tensor", "mul.Scalar", "mul_.Tensor"} <= {*COMPILED}


def test_random_calls_of_halves():
    draws = random.Random(0)
    names = [name for name, facts in COMPILED.items() if facts["way"] == "binary"]
    for seed in range(300):
        dtype, size = draws.choice(DTYPES), draws.randint(1, 4100)
        compare(draws.choice(names), draw(dtype, size, seed), draw(dtype, size, seed + 1), served=None)
