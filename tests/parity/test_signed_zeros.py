"""Signed zeros and nan where torch bounds by numbers: eagerly, in NumPy's chains, in compiled ones, bit for bit."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

import torchlike  # noqa: E402  # after the skip
from dispatch_backend_cpu.plan import compiled  # noqa: E402

pytestmark = pytest.mark.no_pipeline(reason="the tests open pipelines of their own")

ENDS = (-0.0, 0.0, 1.0, -1.0, np.inf, -np.inf, np.nan)
BOUNDS = [(low, high) for low, high in itertools.product((None, *ENDS), repeat=2) if (low, high) != (None, None)]
CALLS = {
    "relu": lambda t, x: [t.relu(x)],
    "relu_": lambda t, x: [t.relu_(x.clone())],
    "clamp": lambda t, x: [t.clamp(x, low, high) for low, high in BOUNDS],
    "clamp_min": lambda t, x: [t.clamp_min(x, end) for end in (*ENDS, 0, 1)],
    "clamp_max": lambda t, x: [t.clamp_max(x, end) for end in (*ENDS, 0, 1)],
    "clamp_": lambda t, x: [x.clone().clamp_(0.0, 1.0), x.clone().clamp_(min=-0.0)],
    "threshold": lambda t, x: [t.threshold(x, end, -0.0) for end in ENDS],
    "leaky_relu": lambda t, x: [t.nn.functional.leaky_relu(x, slope) for slope in (0.5, 0.0)],
    "elu": lambda t, x: [t.nn.functional.elu(x * 0)],
    "sign": lambda t, x: [t.sign(x), -x, t.abs(x), t.round(x), t.trunc(x), t.ceil(x), t.floor(x), t.nan_to_num(x)],
    "chain": lambda t, x: [((x * 2).relu() + -0.0).clamp(-0.0, 1.0), (-x).relu().neg().clamp(max=-0.0)],
}


def bits(found):
    """Spell each element, its sign too; one nan is like another."""
    return [np.where(np.isnan(each), np.nan, each).tobytes() for each in found]


@pytest.mark.parametrize("how", ["eager", "chain", "compiled"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", CALLS)
def test_zeros_keep_their_signs_and_nan_stays(name, dtype, how, monkeypatch):
    if how == "compiled" and not compiled.is_available():
        pytest.skip("compiled chains need Numba")
    monkeypatch.setenv("DISPATCH_CPU_JIT", "1" if how == "compiled" else "0")
    values = np.resize(np.array([*ENDS, 0.5, -2.0], dtype), 37)
    for shaped in (values, values[:1], values[:36].reshape(6, 6).T, values[::2]):
        want = [each.numpy() for each in CALLS[name](torch, torch.from_numpy(shaped))]
        for _ in range(3 if how == "compiled" else 1):
            x = torchlike.tensor(np.ascontiguousarray(shaped.T)).T if shaped.ndim > 1 else torchlike.tensor(shaped)
            if how == "eager":
                found = CALLS[name](torchlike, x)
            else:
                with torchlike.pipeline():
                    found = CALLS[name](torchlike, x)
            assert bits(each.numpy() for each in found) == bits(want), (name, shaped)


@pytest.mark.parametrize("jit", ["0", "1"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_of_two_equal_zeros_a_chain_takes_the_one_that_is_taken_eagerly(dtype, jit, monkeypatch):
    monkeypatch.setenv("DISPATCH_CPU_JIT", jit)
    pairs = np.array(list(itertools.product(ENDS, repeat=2)), dtype)
    a, b = torchlike.tensor(pairs[:, 0].copy()), torchlike.tensor(pairs[:, 1].copy())
    eager = [torchlike.maximum(-a, b), torchlike.minimum(-a, b), torchlike.clamp(-a, b, a)]
    for _ in range(3):
        with torchlike.pipeline():
            found = [torchlike.maximum(-a, b), torchlike.minimum(-a, b), torchlike.clamp(-a, b, a)]
        assert bits(each.numpy() for each in found) == bits(each.numpy() for each in eager)
