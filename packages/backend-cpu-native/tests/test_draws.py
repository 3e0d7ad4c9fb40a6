"""Compiled draws give the bits of the draws in Python, and leave the generator where these leave it."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("dispatch_backend_cpu_native._draws", reason="the extension is not built: run nox -s native")

import torchlike
from dispatch_backend_cpu import draws
from dispatch_backend_cpu.mersenne_twister import MersenneTwister
from dispatch_backend_cpu.ops.support.compiled_kernels import DRAWS

if DRAWS is None:
    pytest.skip("compiled kernels are turned off", allow_module_level=True)

SIZES = [0, 1, 2, 3, 5, 15, 16, 17, 31, 32, 100, 1016, 4096, 32767, 32768, 32769, 65544]
FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]


@pytest.fixture
def compare(monkeypatch):
    """Call a function with an engine that has compiled draws and with one that has none, and compare all that it leaves."""

    def run(function):
        found = []
        for compiled in (DRAWS, None):
            monkeypatch.setattr(MersenneTwister, "compiled", compiled)
            engine = MersenneTwister(5)
            made = function(engine)
            found.append((made.dtype, made.shape, made.tobytes(), engine.spare_normal, engine.words(3).tolist()))
        assert found[0] == found[1]

    return run


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_numbers_of_a_range_have_the_same_bits(compare, size, dtype):
    compare(lambda engine: engine.uniform(size, dtype))
    compare(lambda engine: draws.draw_uniform(engine, size, dtype, -3.0, 5.5))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (2.5, 0.3), (-1e5, 0.0)])
def test_normal_numbers_have_the_same_bits_and_leave_the_same_one(compare, size, dtype, mean, std):
    compare(lambda engine: draws.draw_normal(engine, size, dtype, mean, std))
    compare(lambda engine: np.concatenate([draws.draw_normal(engine, each, dtype, mean, std) for each in (3, size, 1)]))


@pytest.mark.parametrize("size", SIZES)
def test_integers_and_orders_have_the_same_bits(compare, size):
    def filled(fill, *bounds):
        def draw(engine):
            made = np.empty(size, np.int64)
            fill(engine, made, *bounds)
            return made

        return draw

    compare(filled(draws.fill_permutation))
    for low, high in ((0, 1), (-7, 1000), (-(2**62), -(2**62) + 2**28 - 1)):
        compare(filled(draws.fill_integers, low, high))


@pytest.mark.parametrize("dtype", [torchlike.float32, torchlike.float64, torchlike.float16, torchlike.bfloat16])
def test_programs_draw_the_same(monkeypatch, dtype):
    def program():
        torchlike.manual_seed(3)
        made = torchlike.empty(40, 30, dtype=dtype)
        yield made.uniform_().tolist()
        yield made.normal_(1.5, 2.0).tolist()
        yield made.t().normal_().tolist()
        yield made[::2].uniform_(-1, 3).tolist()
        yield torchlike.randn(7, dtype=dtype).tolist()
        yield torchlike.rand(7, dtype=dtype).tolist()
        yield torchlike.randn(5, 5, dtype=dtype).tolist()
        yield torchlike.nn.functional.dropout(made, 0.5).tolist()
        yield torchlike.randperm(50).tolist()
        yield torchlike.randperm(50, dtype=torchlike.int32).tolist()
        yield torchlike.randint(3, 9, (20,), dtype=dtype).tolist()

    compiled = list(program())
    monkeypatch.setattr(MersenneTwister, "compiled", None)
    assert repr(list(program())) == repr(compiled)


def test_what_is_no_array_to_fill_is_refused_before_anything_is_drawn():
    engine = MersenneTwister(5)
    state = engine.words(0), engine.get_state()["bits"]["state"]["pos"]
    capsule = engine.capsule
    read_only = np.zeros(4)
    read_only.flags.writeable = False
    for wrong, error in (
        ([1.0], TypeError),
        (np.zeros(4, int), ValueError),
        (np.zeros(8)[::2], ValueError),
        (np.zeros(4, ">f8"), ValueError),
        (read_only, ValueError),
    ):
        with pytest.raises(error):
            DRAWS.uniform(capsule, wrong)
        with pytest.raises(error):
            DRAWS.normal(capsule, wrong, 0.0, 1.0, None)
    for wrong in (np.zeros(4), [1]):
        with pytest.raises((TypeError, ValueError)):
            DRAWS.permutation(capsule, wrong)
    for span in (0, -1, 2**32):
        with pytest.raises(ValueError, match="range"):
            DRAWS.integers(capsule, np.zeros(4, np.int64), 0, span)
    with pytest.raises(ValueError, match="PyCapsule"):
        DRAWS.uniform(object(), np.zeros(4))
    with pytest.raises(TypeError):
        DRAWS.normal(capsule, np.zeros(4), "0", 1.0, None)
    with pytest.raises(TypeError):
        DRAWS.use(np.log, np.sqrt, np.cos, np.add)
    assert engine.get_state()["bits"]["state"]["pos"] == state[1]
