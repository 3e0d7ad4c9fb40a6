"""Compiled kernels of the layers and losses of training steps against the kernels in Python, bit by bit."""

from __future__ import annotations

import itertools
import random
import warnings

import numpy as np
import pytest
from test_rows import COMPILED, LOOPS, dtype_of, plain, same, values, ways

from dispatch_backend_cpu.arrays import dtype_of as scalar_of

MOST = 65_536
SHAPES = [(1,), (7,), (1, 1), (3, 5), (1, 6), (6, 1), (2, 3, 4), (64, 10), (2, 1, 4), (33, 31), (4, 3, 1)]
#: Of rows that are turned for their maxima, of more elements than are folded at once, and of more than NumPy's buffer.
SHAPES += [
    (48, 10),
    (51, 10),
    (52, 10),
    (60, 9),
    (512, 1),
    (64, 64),
    (3072, 64),
    (70, 65),
    (4096,),
    (4097,),
    (130, 500),
]
SHAPES += [(2, 32768), (9000, 5), (16, 20, 100), (47, 64), (48, 64), (9, 1000)]


def compare(name, *args, served=True):
    """Call a kernel and the one in Python, and compare what they return; nothing may warn."""
    facts = COMPILED[name]
    counts, outcomes = [LOOPS.counts()[0]], []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kernel in (facts["kernel"], facts["python"]):
            try:
                outcomes.append(kernel(*args))
            except Exception as error:  # noqa: BLE001 - compared
                outcomes.append((type(error), str(error)))
            counts.append(LOOPS.counts()[0])
    found, wanted = outcomes
    if isinstance(wanted, tuple) and isinstance(wanted[0], type):
        assert isinstance(found[0], type) and found == wanted, (found, wanted)
    else:
        assert isinstance(found, tuple) == isinstance(wanted, tuple)
        for one, two in zip(*(each if isinstance(each, tuple) else (each,) for each in (found, wanted)), strict=True):
            same(one, two)
        if any(np.isnan(each).any() for each in (wanted if isinstance(wanted, tuple) else (wanted,))):
            served = served and None if "nll" not in name else served  # a row and a column with nans may be left
    if served is not None:
        assert (counts[1] > counts[0]) == served
    return found


def draws(dtype, shape, seed):
    """Return arrays of a shape: special elements, finite ones, zeros of both signs, and infinities beside zeros."""
    draw = np.random.default_rng([seed, 7, *shape])
    zeros = draw.choice(np.array([0.0, -0.0], dtype), shape)
    low = draw.choice(np.array([-np.inf, -0.0, 0.0, -200.0], dtype), shape)
    return [
        values(dtype, shape, seed),
        plain(dtype, shape, seed),
        draw.standard_normal(shape).astype(dtype),
        zeros,
        low,
    ]


def cases_of(*names):
    """Return the cases of some operators."""
    found = [(name, number) for name in names for number in COMPILED[name]["types"]]
    return pytest.mark.parametrize(("name", "number"), found)


@cases_of("_softmax", "_log_softmax")
def test_softmax(name, number):
    dtype = dtype_of(number)
    for shape in SHAPES:
        for a in draws(dtype, shape, 1):
            compare(name, a, -1, False, served=a.size <= MOST)
        compare(name, a, len(shape) - 1, False, served=a.size <= MOST)
        compare(name, a, 0, False, served=len(shape) == 1)
        compare(name, a, -1, True, served=False)
        compare(name, a, len(shape), False, served=False)
        compare(name, np.ones(shape, np.float16), -1, False, served=False)
    a = plain(dtype, (6, 8), 1)
    for other in (a[:, ::2], a.T, a[:0], a[:, :0], a[0, 0], np.asarray(a[0, 0]), a.astype(dtype.newbyteorder())):
        compare(name, other, -1, False, served=False)
    compare(name, a[2:4], -1, False)
    compare(name, plain(dtype, (2, 40_000), 1), -1, False, served=False)
    compare(name, a, True, False, served=False)
    compare(name, a, None, False, served=False)


@cases_of("_softmax_backward_data", "_log_softmax_backward_data")
def test_gradients_of_softmax(name, number):
    dtype = dtype_of(number)
    scalar = scalar_of(np.empty(0, dtype))
    for shape in SHAPES:
        for grad, out in zip(draws(dtype, shape, 1), draws(dtype, shape, 2), strict=True):
            compare(name, grad, out, -1, scalar, served=out.size <= MOST)
        compare(name, grad, out, 0, scalar, served=len(shape) == 1)
    a = plain(dtype, (6, 8), 1)
    compare(name, a, a, -1, scalar)
    compare(name, a, a[:, :4].copy(), -1, scalar, served=False)
    compare(name, a, np.ones((6, 8), np.float16), -1, scalar, served=False)
    compare(name, a.T, a.T, -1, scalar, served=False)
    compare(name, a, a, -1, scalar_of(np.empty(0, np.float16)), served=False)


ROWS = [((1,), 1), ((7,), 1), ((3, 5), 1), ((3, 5), 2), ((1, 6), 1), ((6, 1), 1), ((1, 1), 1), ((2, 3, 4), 1)]
ROWS += [
    ((2, 3, 4), 2),
    ((2, 3, 4), 3),
    ((2, 16, 32), 1),
    ((64, 16, 32), 1),
    ((4097,), 1),
    ((2, 1, 1), 1),
    ((3, 1, 1), 2),
]
ROWS += [((130, 500), 1), ((1000, 9), 1), ((5, 8192), 1)]


@cases_of("native_layer_norm")
def test_layer_norm(name, number):
    dtype = dtype_of(number)
    for (shape, count), eps in itertools.product(ROWS, (1e-5, 0.0, 1)):
        inner = shape[len(shape) - count :]
        for a, weight, bias in zip(draws(dtype, shape, 1), draws(dtype, inner, 2), draws(dtype, inner, 3), strict=True):
            for one, two in [(weight, bias), (weight, None), (None, bias), (None, None)]:
                given = random.Random(count).choice([list, tuple])(inner)
                compare(name, a, given, one, two, eps, served=np.size(a) > 1 or one is two is None)
    a, weight = plain(dtype, (4, 6), 1), plain(dtype, (6,), 2)
    for wrong in ((5,), [4], [], [4, 6], [1, 4, 6], 6, ["6"]):
        compare(name, a, wrong, weight, None, 1e-5, served=False)
    for bad in (weight[:5], np.ones(6, np.float16), weight[None], np.repeat(weight, 2)[::2]):
        compare(name, a, [6], bad, None, 1e-5, served=False)
    compare(name, a[:0], [6], weight, None, 1e-5, served=False)
    compare(name, a.T.copy().T, [6], weight, None, 1e-5, served=False)
    for eps in (1e300, float("nan"), float("inf"), -1.0, True, None, "x"):
        compare(name, a, [6], weight, None, eps, served=None)


def test_formulas_of_more_options_than_are_kept_are_left():
    facts = COMPILED["native_layer_norm"]
    a, weight = np.ones((2, 3), np.float32), np.ones(3, np.float32)
    for index in range(40):
        compare("native_layer_norm", a, [3], weight, None, 1 + index / 7, served=None)
    fresh = LOOPS.Kernel("rows", facts["python"], None, [11], roles="fnvvo", marks={}, maker=facts["maker"])
    before = LOOPS.counts()
    for index in range(40):
        fresh(a, [3], weight, None, 1 + index / 7)
    assert LOOPS.counts()[0] - before[0] == 32


@cases_of("native_layer_norm_backward")
def test_the_gradient_of_layer_norm(name, number):
    dtype = dtype_of(number)
    masks = [*itertools.product((True, False), repeat=3)]
    draw = random.Random(number)
    for shape, count in ROWS:
        kept = len(shape) - count
        inner, statistics = shape[kept:], (*shape[:kept], *[1] * count)
        arrays = [
            draws(dtype, shape, 1),
            draws(dtype, shape, 2),
            draws(dtype, statistics, 3),
            draws(dtype, statistics, 4),
        ]
        for grad, a, mean, rstd, weight in zip(*arrays, draws(dtype, inner, 5), strict=True):
            for mask in draw.sample(masks, 3):
                one, two = draw.choice([(weight, weight), (weight, None), (None, None), (None, weight)])
                given = draw.choice([list, tuple])(mask)
                is_served = np.size(a) > 1 and any(mask)
                compare(name, grad, a, list(inner), mean, rstd, one, two, given, served=is_served)
    grad, a, mean, weight = (
        plain(dtype, (4, 6), 1),
        plain(dtype, (4, 6), 2),
        plain(dtype, (4, 1), 3),
        plain(dtype, (6,), 4),
    )
    for wrong in ((True, True), [1, 1, 1], [None, True, True]):
        compare(name, grad, a, [6], mean, mean, weight, None, wrong, served=False)
    compare(name, grad, a, [6], mean.T, mean, weight, None, [True] * 3, served=None)
    compare(name, grad[:2], a, [6], mean, mean, weight, None, [True] * 3, served=False)
    compare(name, grad, a, [6], mean[:2], mean, weight, None, [True] * 3, served=False)


BATCHES = [
    (16, 8),
    (4, 3, 5),
    (1, 2, 3),
    (3, 1, 1),
    (3, 1),
    (1, 4),
    (64, 16),
    (2, 3, 4, 5),
    (16, 8, 8, 8),
    (5, 2, 33, 31),
]
BATCHES += [
    (1, 1),
    (1, 1, 7),
    (300, 2),
    (7, 1, 65),
    (30, 17, 3),
    (2, 5, 1, 1),
    (4096, 1),
    (9000, 2),
    (2, 300, 4),
    (3, 4, 4096),
]
BATCHES += [(2, 2, 8193)]


def channels(a, seed):
    return draws(a.dtype, (a.shape[1],), seed)


@cases_of("_native_batch_norm_legit_functional")
def test_batch_norm(name, number):
    dtype = dtype_of(number)
    for shape, momentum in itertools.product(BATCHES, (0.1, 0.0)):
        for kind, a in enumerate(draws(dtype, shape, 1)):
            weight, bias, mean, variance = (channels(a, seed)[kind] for seed in (2, 3, 4, 5))
            for one, two in [(weight, bias), (weight, None), (None, bias), (None, None)]:
                compare(name, a, one, two, mean, np.abs(variance), True, momentum, 1e-5)
    a = plain(dtype, (4, 3, 5), 1)
    weight, bias, mean, variance = (channels(a, seed)[1] for seed in (2, 3, 4, 5))
    compare(name, a, weight, bias, mean, variance, False, 0.1, 1e-5, served=False)
    compare(name, a, weight[:2], bias, mean, variance, True, 0.1, 1e-5, served=False)
    compare(name, a, weight.astype("f2"), bias, mean, variance, True, 0.1, 1e-5, served=False)
    compare(name, a, weight, bias, mean.reshape(3, 1), variance, True, 0.1, 1e-5, served=False)
    compare(name, a[:0], weight, bias, mean, variance, True, 0.1, 1e-5, served=False)
    last = np.ascontiguousarray(plain(dtype, (2, 4, 4, 3), 1)).transpose(0, 3, 1, 2)
    compare(name, last, weight, bias, mean, variance, True, 0.1, 1e-5, served=False)
    compare(name, a[:, :, ::2], weight, bias, mean, variance, True, 0.1, 1e-5, served=False)


@cases_of("_native_batch_norm_legit.no_stats", "_native_batch_norm_legit_no_training")
def test_batch_norm_of_fewer_statistics(name, number):
    dtype, has_running = dtype_of(number), name.endswith("no_training")
    for shape in BATCHES:
        for kind, a in enumerate(draws(dtype, shape, 1)):
            weight, bias, *running = (channels(a, seed)[kind] for seed in (2, 3, 4, 5))
            for one, two in [(weight, bias), (weight, None), (None, bias), (None, None)]:
                given = running if has_running else [True]
                compare(name, a, one, two, *given, 0.1, 1e-5)


@cases_of("native_batch_norm_backward")
def test_the_gradient_of_batch_norm(name, number):
    dtype = dtype_of(number)
    masks = [(True, True, True), (True, False, False), (False, True, True)]
    draw = random.Random(number)
    for shape in BATCHES:
        for kind, (grad, a) in enumerate(zip(draws(dtype, shape, 1), draws(dtype, shape, 2), strict=True)):
            weight, old, variance, mean, rstd = (channels(a, seed)[kind] for seed in (3, 4, 5, 6, 7))
            for mask in masks:
                one = draw.choice([weight, None])
                compare(name, grad, a, one, old, variance, mean, rstd, True, 1e-5, [*mask])
                compare(name, grad, a, one, None, None, mean, rstd, True, 1e-5, [*mask])
    for args in (
        (old, np.abs(variance), mean, rstd, False),
        (old, variance, None, rstd, True),
        (old, variance, mean, None, True),
        (old, variance, mean[:, None], rstd, True),
    ):
        compare(name, grad, a, weight, *args, 1e-5, [True] * 3, served=False)


FLAT = [(1,), (7,), (1, 1), (3, 5), (2, 3, 4), (64, 10), (1000,), (4096,), (4097,), (70, 65), (130, 500), (3, 1, 2)]
#: Loss → the options behind the reduction.
LOSSES = {
    "mse_loss": [()],
    "huber_loss": [(1.0,), (0.3,), (2,), (1e300,)],
    "smooth_l1_loss": [(1.0,), (0.3,), (0,), (0.0,), (1,)],
    "soft_margin_loss": [()],
    "l1_loss by a short way": [()],
}


@cases_of(*LOSSES)
def test_losses_of_two_arrays(name, number):
    dtype = dtype_of(number)
    for shape, options, reduction in itertools.product(FLAT, LOSSES[name], (0, 1, 2)):
        for a, b in zip(draws(dtype, shape, 1), draws(dtype, shape, 2), strict=True):
            compare(name, a, b, reduction if "short" not in name else 1, *options)
    compare(name, a, b)
    compare(name, a, b, 1)
    for one, two in [
        (a, a[:1]),
        (a[:0], a[:0]),
        (a, np.ones(a.shape, np.float16)),
        (a.T, b.T),
        (a[::2], a[::2]),
        (a[0, 0, 0], b[0, 0, 0]),
    ]:
        if "short" not in name:
            compare(name, np.asarray(one), np.asarray(two), 1, served=False)
    if name in ("huber_loss", "smooth_l1_loss"):
        for wrong in (-1.0, "x", None):
            compare(name, a, b, 1, wrong, served=None if wrong is None else False)
        compare(name, a, b, 1, float("nan"), served=None)
        compare(name, a, b, 1, True, served=None)


@cases_of("binary_cross_entropy_with_logits")
def test_the_cross_entropy_of_logits(name, number):
    dtype = dtype_of(number)
    for shape, reduction in itertools.product(FLAT, (0, 1, 2)):
        for a, b in zip(draws(dtype, shape, 1), draws(dtype, shape, 2), strict=True):
            compare(name, a, b, None, None, reduction)
    compare(name, a, b, None, None)
    compare(name, a, b, served=False)
    compare(name, a, b, b, None, 1, served=False)
    compare(name, a, b, None, b, 1, served=False)


@cases_of("mse_loss_backward")
def test_the_gradient_of_squares(name, number):
    dtype = dtype_of(number)
    for shape, reduction in itertools.product(FLAT, (0, 1, 2)):
        for grad, a, b in zip(draws(dtype, (), 3), draws(dtype, shape, 1), draws(dtype, shape, 2), strict=True):
            compare(name, np.asarray(grad), a, b, reduction)
        compare(name, b, a, b, reduction, served=False)
        compare(name, np.ones((1,), dtype), a, b, reduction, served=False)
        compare(name, np.ones((), np.float16), a, b, reduction, served=False)


def targets(rows, classes, seed):
    return np.random.default_rng([seed, rows, classes]).integers(0, classes, rows)


NLL = [(1, 1), (64, 10), (3, 5), (1, 7), (7, 1), (4096, 2), (4097, 2), (129, 33), (65, 3), (9000, 2)]


@ways("nll")
def test_negative_log_likelihood(name, number):
    dtype = dtype_of(number)
    for (rows, classes), reduction in itertools.product(NLL, (0, 1, 2)):
        target = targets(rows, classes, 1)
        for a in draws(dtype, (rows, classes), 1):
            compare(name, a, target, None, reduction, -100, served=rows <= 4096)
        compare(name, a, target, plain(dtype, (classes,), 2), reduction, -100, served=False)
        compare(name, a, target, None, reduction, 0, served=False)
    a, target = plain(dtype, (4, 6), 1), targets(4, 6, 1)
    for wrong in (6, -1, -100, 2**40, -(2**63), 2**63 - 1):
        other = target.copy()
        other[2] = wrong
        for reduction in (0, 1, 2):
            compare(name, a, other, None, reduction, -100, served=False)
    for args in (
        (a, target.astype(np.int32), None, 1, -100),
        (a, target[:3], None, 1, -100),
        (a, np.repeat(target, 2)[::2], None, 1, -100),
        (a[0], target[0], None, 1, -100),
        (a[:, ::2], target // 2, None, 1, -100),
        (a[:0], target[:0], None, 1, -100),
        (a, target, None, True, -100),
        (a, target, None, 3, -100),
    ):
        compare(name, *args, served=False)


@ways("nll gradient")
def test_the_gradient_of_negative_log_likelihood(name, number):
    dtype = dtype_of(number)
    for (rows, classes), reduction in itertools.product(NLL, (0, 1, 2)):
        target, a = targets(rows, classes, 1), plain(dtype, (rows, classes), 1)
        drawn = draws(dtype, () if reduction else (rows,), 1), draws(dtype, (), 2)
        for grad, total in zip(*(map(np.asarray, each) for each in drawn), strict=True):
            compare(name, grad, a, target, None, reduction, -100, total)
            compare(name, grad, a, target, None, reduction, -100, total.reshape(1))
        compare(name, grad, a, target, plain(dtype, (classes,), 2), reduction, -100, total, served=False)
    a, target, one = plain(dtype, (4, 6), 1), targets(4, 6, 1), np.ones((), dtype)
    for wrong in (6, -1, -100, 2**40):
        other = target.copy()
        other[2] = wrong
        compare(name, one, a, other, None, 1, -100, one, served=False)
    compare(name, one, a[:, ::2], target // 2, None, 1, -100, one, served=False)
    compare(name, one.reshape(1), a, target, None, 1, -100, one, served=False)
    compare(name, one, a, target, None, 0, -100, one, served=False)
    compare(name, plain(dtype, (8,), 1)[::2], a, target, None, 0, -100, one, served=False)


def test_a_formula_of_rows_says_what_it_does_not_take():
    facts = COMPILED["_softmax"]
    for roles in ("", "df", "fd?", "fcd", "f", "fdF", "fs", "fbd", "s", "so", "kb", "fd" + "o" * 12):
        with pytest.raises(ValueError, match="roles"):
            LOOPS.Kernel("rows", facts["python"], None, [11], roles=roles, marks={}, maker=facts["maker"])
    with pytest.raises(TypeError, match="maker"):
        LOOPS.Kernel("rows", facts["python"], None, [11], roles="fd0")
    good = facts["maker"](0, ())[11]
    a = np.ones((2, 3), np.float32)
    places, constants, lines, slots, outs, is_flat = good
    spoilt = [
        (places[:-1], constants, lines, slots, outs, is_flat),
        ([*places[:-1], (11, 9, 0)], constants, lines, slots, outs, is_flat),
        ([*places[:-1], (11, 3, 99)], constants, lines, slots, outs, is_flat),
        ([*places[:-1], (12, 3, 2)], constants, lines, slots, outs, is_flat),
        (places, [np.ones(2, np.float32)], lines, slots, outs, is_flat),
        (places, constants, [], slots, outs, is_flat),
        (places, constants, [lines[1], *lines[1:]], slots, outs, is_flat),
        (places, constants, lines, slots, [(0, "f", 11)], is_flat),
        (places, constants, lines, slots, [(2, "c", 11)], is_flat),
        (places, constants, lines, slots, [(2, "f", 11)] * 2, is_flat),
        (places, constants, lines, slots, [], is_flat),
        "nothing",
    ]
    for formula in [good, *spoilt]:
        kernel = LOOPS.Kernel(
            "rows",
            lambda *args: "left",
            None,
            [11],
            roles="fd0",
            marks={},
            maker=lambda key, options, f=formula: {11: f},
        )
        for _ in range(3):
            found = kernel(a, -1, False)
            assert isinstance(found, str) == (formula is not good)


@cases_of("gelu", "gelu_backward")
def test_formulas_by_scipy_heed_its_settings(name, number):
    special = pytest.importorskip("scipy.special")
    dtype, count = dtype_of(number), COMPILED[name]["arity"]
    kernel, python = COMPILED[name]["kernel"], COMPILED[name]["python"]
    for action in ("ignore", "raise"):
        for draw in range(5):
            arrays = [draws(dtype, (33,), seed)[draw] for seed in range(count)]
            outcomes = []
            for each in (kernel, python):
                with special.errstate(all=action):
                    try:
                        outcomes.append(each(*arrays).tobytes())
                    except Exception as error:  # noqa: BLE001 - compared
                        outcomes.append((type(error), str(error)))
            assert outcomes[0] == outcomes[1]
