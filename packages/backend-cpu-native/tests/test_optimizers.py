"""Compiled steps of optimizers against the operators that they stand for, bit by bit."""

from __future__ import annotations

import itertools
import random
import sys
import threading
import warnings
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip("dispatch_backend_cpu_native._loops", reason="the extension is not built: run nox -s native")

import dispatch_core as dc
import torchlike
from dispatch_aten.families.prims.composites import PRIMITIVES
from dispatch_backend_cpu.kernels import PRIMS
from dispatch_backend_cpu.ops.support.compiled_kernels import LOOPS

if LOOPS is None:
    pytest.skip("compiled kernels are turned off", allow_module_level=True)

from special_values import values

#: Operator → the number of its lists, and the settings that it takes.
SETTINGS = {
    "adam_": (
        4,
        {
            "step": (1, 2.0, 1000.0, 1e6),
            "lr": (1e-3, 0.5, 1, 0.0, -0.0, -0.1),
            "beta1": (0.9, 0.5, 0.3, 0.0, 0),
            "beta2": (0.999, 0.5, 0.0, 1e-300),
            "weight_decay": (0, 0.0, 0.01, 1.0, -0.5),
            "eps": (1e-8, 0.0, 0, 1e-300),
            "decoupled": (False, True),
            "maximize": (False, True),
        },
    ),
    "sgd_": (
        3,
        {
            "lr": (1e-3, 1.0, 1, -1.0, 0.0, -0.0, 1e30),
            "momentum": (0, 0.0, 0.9, 1.0, 1, 1e-300),
            "dampening": (0, 0.5, 1.0, 2.0),
            "weight_decay": (0, 0.01, 1.0, 1),
            "nesterov": (False, True),
            "maximize": (False, True),
        },
    ),
}
#: Settings that are left, in place of one of a call that is served.
LEFT = [
    ("adam_", {"step": 0.5}),
    ("adam_", {"beta1": 1.5}),
    ("adam_", {"lr": float("inf")}),
    ("adam_", {"lr": 1e60}),
    ("adam_", {"eps": float("nan")}),
    ("sgd_", {"lr": 1e60}),
    ("sgd_", {"momentum": float("nan")}),
    ("sgd_", {"weight_decay": 1 << 60}),
]
SHAPES = [(), (0,), (1,), (7, 3), (1023,), (1024,), (1025,), (5, 1, 700), (2047,), (2049,)]
NAMES = [*SETTINGS]


def first(name):
    return {option: found[0] for option, found in SETTINGS[name][1].items()}


def draw(name, seed, shapes=SHAPES, dtypes="fd"):
    """Return lists of arrays with special values; the means of squares are negative, too."""
    count, dtype = SETTINGS[name][0], random.Random(seed).choice
    kinds = [np.dtype(dtype(dtypes)) for _ in shapes]
    return [
        [
            values(kind, shape, seed + 10 * place + which)
            for which, (kind, shape) in enumerate(zip(kinds, shapes, strict=True))
        ]
        for place in range(count)
    ]


def copy(lists):
    return [[each.copy() for each in some] for some in lists]


def spread(some):
    """Return an array with the same values and gaps between them."""
    made = np.zeros((*some.shape, 2), some.dtype)[..., 0]
    made[...] = some
    return made


def compare(name, lists, options, *, served=True):
    """Make a step by the compiled kernel, and by the operators without it."""
    theirs = copy(lists)
    before = LOOPS.counts()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert PRIMS[name](*lists, **options) is None
        counts = LOOPS.counts()
        was = LOOPS.serve(False)
        try:
            PRIMITIVES[name](*theirs, **options)
        finally:
            LOOPS.serve(was)
    if served is not None:
        assert (counts[0] - before[0], counts[1] - before[1]) == (1, 0) if served else counts[1] > before[1]
    for ours, wanted in zip(itertools.chain(*lists), itertools.chain(*theirs), strict=True):
        assert ours.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_step_has_the_bits_of_its_operators(name):
    options = SETTINGS[name][1]
    for seed in range(60):
        chosen = random.Random(seed)
        given = {option: chosen.choice(found) for option, found in options.items()}
        compare(name, draw(name, seed), given)


@pytest.mark.parametrize("name", NAMES)
def test_each_setting_has_the_bits_of_its_operators(name):
    for option, found in SETTINGS[name][1].items():
        for value in found:
            for maximize in (False, True):
                compare(name, draw(name, 5, SHAPES[:5]), first(name) | {"maximize": maximize, option: value})


@pytest.mark.parametrize(("name", "options"), LEFT)
def test_other_settings_are_left_to_the_operators(name, options):
    compare(name, draw(name, 1, [(3,), (2, 2)]), first(name) | options, served=False)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_that_are_not_plain_are_left_to_the_operators(name):
    options = first(name) | ({"momentum": 0.9} if name == "sgd_" else {})
    count = SETTINGS[name][0]
    for place in range(count):
        lists = draw(name, place, [(4, 5), (3, 6)])
        lists[place][1] = spread(lists[place][1])
        compare(name, lists, options, served=False)
    compare(name, [[np.ones(2, "e")] for _ in range(count)], options, served=False)
    mixed = draw(name, 3, [(2,), (3,)], "f")
    mixed[1][1] = mixed[1][1].astype("d")
    if name == "sgd_":
        compare(name, mixed, options, served=False)
    else:
        with pytest.raises(RuntimeError, match="expected dtype float"):
            PRIMS[name](*mixed, **options)
    compare(name, [tuple(some) for some in draw(name, 4, [(2,)])], options, served=False)
    compare(name, [[]] * count, options, served=False)


@pytest.mark.parametrize("name", NAMES)
def test_views_and_parameters_that_come_twice_are_served(name):
    options = first(name) | ({"momentum": 0.9} if name == "sgd_" else {})
    lists = draw(name, 8, [(6, 4)], "f")
    views = [[some[0][:2], some[0][2:], some[0][2:]] for some in lists]
    own = copy(lists)
    theirs = [[some[0][:2], some[0][2:], some[0][2:]] for some in own]
    before = LOOPS.counts()
    PRIMS[name](*views, **options)
    assert LOOPS.counts()[0] == before[0] + 1
    PRIMITIVES[name](*theirs, **options)
    assert [some[0].tobytes() for some in lists] == [some[0].tobytes() for some in own]


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_a_parameter_in_one_memory_are_left(name):
    options = first(name) | ({"momentum": 0.9} if name == "sgd_" else {})
    for one, other in itertools.combinations(range(SETTINGS[name][0]), 2):
        results = []
        for step in (PRIMS[name], PRIMITIVES[name]):
            lists = draw(name, 9, [(8,)], "f")
            memory = np.arange(9, dtype="f")
            lists[one], lists[other] = [memory[:8]], [memory[1:]]
            before = LOOPS.counts()
            try:
                step(*lists, **options)
            except RuntimeError as error:
                results.append((str(error), memory.tobytes()))
            else:
                results.append(memory.tobytes())
            assert step is PRIMITIVES[name] or LOOPS.counts()[1] > before[1]
        assert results[0] == results[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_step_that_fails_changes_nothing(name):
    options = first(name) | ({"momentum": 0.9} if name == "sgd_" else {})
    count = SETTINGS[name][0]
    for place in range(1, count):
        lists = draw(name, place, [(4, 5), (3, 6)])
        del lists[place][1]
        kept = copy(lists)
        with pytest.raises(RuntimeError, match="the lists have"):
            PRIMS[name](*lists, **options)
        for ours, wanted in zip(itertools.chain(*lists), itertools.chain(*kept), strict=True):
            assert ours.tobytes() == wanted.tobytes()
    lists = draw(name, 7, [(4, 5)])
    lists[0][0].flags.writeable = False
    before = LOOPS.counts()
    with pytest.raises(RuntimeError):
        PRIMS[name](*lists, **options)
    assert LOOPS.counts()[1] > before[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_call_holds_its_arrays(name):
    lists = draw(name, 3, [(5000,), (3,)])
    options = first(name) | ({"momentum": 0.9} if name == "sgd_" else {})
    arrays = [*itertools.chain(*lists)]
    counted = [*map(sys.getrefcount, arrays)], [*map(sys.getrefcount, lists)]
    for _ in range(20):
        PRIMS[name](*lists, **options)
    assert ([*map(sys.getrefcount, arrays)], [*map(sys.getrefcount, lists)]) == counted


@pytest.mark.parametrize("name", NAMES)
def test_every_allocation_of_a_step_may_fail(name):
    failing = pytest.importorskip("_testcapi")
    options = first(name)
    for number in range(1, 40):
        lists = draw(name, 3, [(5000,), (3,)], "f")
        kept, wanted = copy(lists), copy(lists)
        PRIMITIVES[name](*wanted, **options)
        failing.set_nomemory(number, number + 1)
        try:
            PRIMS[name](*lists, **options)
            done = wanted
        except MemoryError:
            done = None
        finally:
            failing.remove_mem_hooks()
        # All or nothing.
        for ours, other in zip(itertools.chain(*lists), itertools.chain(*(done or kept)), strict=True):
            assert ours.tobytes() == other.tobytes()


def test_threads_make_steps_while_lists_change():
    lists = draw("adam_", 3, [(20_000,), (3,)], "f")
    options = first("adam_")
    stop = threading.Event()

    def disturb():
        while not stop.is_set():
            for some in lists:
                array = some.pop()
                some.append(array)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for _ in range(200):
            with suppress(RuntimeError, ValueError):  # the lists had other lengths, in C or in Python
                PRIMS["adam_"](*lists, **options)
    finally:
        stop.set()
        thread.join()


def optimize(name, wrap, **settings):
    """Return the bits of parameters and states after some steps, and the operators of the last one."""
    draws = np.random.default_rng(0)
    shapes = ((128, 64), "f"), ((3,), "d"), ((), "f"), ((1030,), "f")
    params = [
        torchlike.nn.Parameter(torchlike.tensor(draws.standard_normal(size).astype(kind))) for size, kind in shapes
    ]
    grads = [torchlike.tensor(draws.standard_normal(size).astype(kind)) for size, kind in shapes]
    optimizer = getattr(torchlike.optim, name)(params, **{"lr": 0.01, **settings})

    def step():
        for param, grad in zip(params, grads, strict=True):
            param.grad = grad * 2
        optimizer.step()
        return params[0].sum()

    run = wrap(step)
    for number in range(6):
        run()
        if number == 3:
            optimizer.param_groups[0]["lr"] = 0.3
    found = [param.detach().numpy().tobytes() for param in params]
    for param in params:
        found += [value.numpy().tobytes() for _, value in sorted(optimizer.state[param].items())]
    return found


def in_pipeline(step):
    def run():
        with torchlike.pipeline():
            step()

    return run


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Adam", {}),
        ("Adam", {"weight_decay": 0.1, "maximize": True}),
        ("AdamW", {}),
        ("SGD", {}),
        ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.3}),
        ("SGD", {"momentum": 0.9, "dampening": 0.5, "maximize": True}),
    ],
)
def test_optimizers_make_the_same_steps_with_compiled_kernels_and_without(name, settings):
    found = []
    for is_on in (True, False):
        was = LOOPS.serve(is_on)
        try:
            found += [optimize(name, wrap, **settings) for wrap in (lambda step: step, in_pipeline, torchlike.capture)]
        finally:
            LOOPS.serve(was)
    assert all(each == found[0] for each in found)


def test_a_step_is_one_operator():
    params = [torchlike.nn.Parameter(torchlike.ones(3)) for _ in range(3)]
    optimizer = torchlike.optim.Adam(params)
    for param in params:
        param.grad = torchlike.ones(3)
    optimizer.step()
    with dc.profile() as profile:
        optimizer.step()
    assert [(each.name, each.calls) for each in profile.key_averages()] == [("prims::adam_", 1)]
