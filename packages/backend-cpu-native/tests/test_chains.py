"""Chains of small arrays in pipelines have the same bits by one compiled kernel as by one ufunc after the other."""

from __future__ import annotations

import os
import random
import warnings

import numpy as np
import pytest

pytest.importorskip("dispatch_backend_cpu_native._loops", reason="the extension is not built: run nox -s native")

import dispatch_core as dc
import torchlike as T
from dispatch_backend_cpu.ops.support.compiled_kernels import LOOPS

if LOOPS is None:
    pytest.skip("compiled kernels are turned off", allow_module_level=True)

pytestmark = pytest.mark.no_pipeline(reason="the programs open one")
CHAINS = max(int(os.environ.get("DISPATCH_NATIVE_PROGRAMS", "2000")) // 4, 400)
PARTS = 10
NUMBERS = [0.5, 1.5, -2.0, 3, -1, 0.1, -0.0, float("inf"), float("nan"), 1e300, 1e-300, 2**40]
VALUES = [0.0, -0.0, 1.0, -1.0, 0.3, 7.5, float("inf"), -float("inf"), float("nan"), 1e38, 1e-45]


class Chain:
    """A chain of operators on a few arrays, which a seed draws."""

    def __init__(self, seed):
        draw = self.draw = random.Random(seed)
        self.dtype = draw.choice(["float32", "float32", "float64", "int64"])
        self.shape = draw.choice([(1,), (3,), (2, 3), (17,), (1000,), (64, 64), (1, 1)])
        self.steps = [
            (draw.choice("add sub mul maximum minimum number rnumber neg abs where square relu".split()), draw.random())
            for _ in range(draw.randrange(2, 12))
        ]
        count = draw.randrange(1, 6)
        self.picks = [(draw.randrange(count), draw.randrange(100)) for _ in self.steps]
        self.arrays = []
        for _ in range(count):
            values = np.array([draw.choice(VALUES) for _ in range(7)])
            if self.dtype == "int64":
                values = np.nan_to_num(np.clip(values, -9, 9))
            filled = np.resize(values, self.shape)
            self.arrays.append(filled.astype(self.dtype, casting="unsafe"))
        self.is_turned = draw.random() < 0.1
        self.keeps = draw.random() < 0.15

    def run(self, numbers):
        """Return the last result, and with it another where that is kept."""
        tensors = [T.from_numpy(each.copy()) for each in self.arrays]
        if self.is_turned and len(self.shape) == 2:
            tensors[0] = T.from_numpy(np.asfortranarray(self.arrays[0]))
        kept = []
        with dc.pipeline():
            t = tensors[0]
            for (kind, _), (place, number) in zip(self.steps, self.picks, strict=True):
                other, given = tensors[place], numbers[number % len(numbers)]
                if kind == "number":
                    t = t * given
                elif kind == "rnumber":
                    t = given - t
                elif kind == "where":
                    t = T.where(t > other, t, other)
                elif kind in ("neg", "abs", "square", "relu"):
                    t = getattr(T, kind)(t)
                else:
                    t = getattr(T, kind)(t, other)
                if self.keeps and not kept:
                    kept.append(t)
        return [(str(each.dtype), each.stride(), each.numpy().tobytes()) for each in (t, *kept)]

    def show(self, on, numbers):
        """Return what a run gives."""
        was = LOOPS.serve(on)
        try:
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                try:
                    found = self.run(numbers)
                except Exception as error:  # noqa: BLE001  # whatever comes has to be the same
                    found = type(error).__name__, str(error).partition("\n")[0]
            return found, [str(each.message) for each in seen]
        finally:
            LOOPS.serve(was)


@pytest.mark.parametrize("part", range(PARTS))
def test_chains_have_the_bits_of_one_ufunc_after_the_other(part):
    served = LOOPS.counts()[0]
    for seed in range(part, CHAINS, PARTS):
        chain = Chain(seed)
        for _ in range(chain.draw.choice([2, 7])):  # a kernel knows a few sets of numbers, others are Python's
            numbers = chain.draw.sample(NUMBERS, 3)
            for _ in range(2):
                assert chain.show(True, numbers) == chain.show(False, numbers), (seed, numbers)
    assert LOOPS.counts()[0] > served


def test_a_plain_chain_is_one_call():
    a, b = T.from_numpy(np.ones(5, np.float32)), T.from_numpy(np.full(5, 2.0, np.float32))
    for _ in range(3):
        before = LOOPS.counts()[0]
        with dc.pipeline():
            found = (a * b + a) * 0.5 - b
        assert found.tolist() == [-0.5] * 5
    assert LOOPS.counts()[0] == before + 1
