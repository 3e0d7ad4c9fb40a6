"""Every kernel beside the cpu backend's own: values, gradients, pipelines, and the calls that it declines."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
import torchlike.nn.functional as F
from dispatch_devkit.doctor.examination import faults_of
from dispatch_kernels_numba.provider import EXACT, KERNELS

#: Operator → a call; those of the first group serve float32 alone.
SINGLE = {
    "sigmoid": lambda x, y, b: x.sigmoid(),
    "silu": lambda x, y, b: F.silu(x),
    "gelu": lambda x, y, b: F.gelu(x),
    "_softmax": lambda x, y, b: x.softmax(-1),
    "_log_softmax": lambda x, y, b: x.log_softmax(-1),
    "gelu_backward": lambda x, y, b: dc.ops.aten.gelu_backward(y, x),
    "silu_backward": lambda x, y, b: dc.ops.aten.silu_backward(y, x),
    "_softmax_backward_data": lambda x, y, b: dc.ops.aten._softmax_backward_data(y, x.softmax(-1), -1, x.dtype),
    "_log_softmax_backward_data": lambda x, y, b: dc.ops.aten._log_softmax_backward_data(
        y, x.log_softmax(-1), -1, x.dtype
    ),
}
BOTH = {
    "leaky_relu": lambda x, y, b: F.leaky_relu(x, 0.2),
    "leaky_relu_backward": lambda x, y, b: dc.ops.aten.leaky_relu_backward(y, x, 0.2, False),
    "rsqrt": lambda x, y, b: x.rsqrt(),
    "lerp.Scalar": lambda x, y, b: torchlike.lerp(x, y, 0.3) + torchlike.lerp(x, y, 0.75),
    "where.self": lambda x, y, b: torchlike.where(b, x, y),
    "masked_fill.Scalar": lambda x, y, b: x.masked_fill(b, 2),
    "mse_loss": lambda x, y, b: F.mse_loss(x, y) + F.mse_loss(x, y, reduction="sum"),
    "smooth_l1_loss": lambda x, y, b: F.smooth_l1_loss(x, y, beta=0.5) + F.smooth_l1_loss(x, y, reduction="sum"),
    "linalg_vector_norm": lambda x, y, b: x.norm(),
    "native_layer_norm": lambda x, y, b: F.layer_norm(x, x.shape[-1:]) + F.layer_norm(x, x.shape[-1:], y[0], y[1]),
    "cumsum": lambda x, y, b: x.cumsum(-1),
    "topk": lambda x, y, b: torchlike.cat([*x.topk(3), *x.topk(2, largest=False)], -1),
}
CALLS = SINGLE | BOTH
#: Where small arrays are declined.
SHAPES = {"where.self": (60, 40), "masked_fill.Scalar": (60, 40)}


def make_inputs(dtype, shape=(6, 40)):
    random = np.random.default_rng(0)
    x, y = (torchlike.tensor(random.standard_normal(shape) * 3).to(dtype) for _ in range(2))
    return x, y, torchlike.tensor(random.random(shape) > 0.5)


def outcome(call, *inputs):
    """Return a call's value, or the type of its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some calls warn of sizes that differ
            found = call(*inputs)
            found.tolist()  # where the tests run in a pipeline
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return type(error)
    return found


def assert_alike(found, expected, *, exact=False):
    if isinstance(expected, type):
        assert found is expected
        return
    assert (found.dtype, found.shape, found.stride()) == (expected.dtype, expected.shape, expected.stride())
    tolerance = 0 if exact else 1e-12 if expected.dtype == torchlike.float64 else 2e-6
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=tolerance, atol=tolerance)
    if exact:
        np.testing.assert_array_equal(np.signbit(found.numpy()), np.signbit(expected.numpy()))


@pytest.fixture
def served(monkeypatch):
    """Note the operators whose kernels have served a call, not declined it."""
    noted = set()
    names = {kernel: name for name, kernel in KERNELS.items()}
    key = dc.use_kernels("numba")._keys[0]
    with dc.Library("aten", "IMPL", key) as library:
        for kernel, name in names.items():

            def note(*args, kernel=kernel, name=name, **kwargs):
                found = kernel(*args, **kwargs)
                if found is not NotImplemented:
                    noted.add(name)
                return found

            library.impl(name, note, allow_override=True)
        yield noted


def test_the_table_of_these_tests_is_the_providers():
    assert CALLS.keys() == KERNELS.keys()


@pytest.mark.no_pipeline(reason="it looks at what calls outside of pipelines run")
def test_the_doctor_finds_no_fault():
    dc.use_kernels("numba")
    assert [*faults_of(dc.registry, "dispatch-kernels-numba")] == []
    explanation = dc.explain("aten::sigmoid", keyset=["CPU_numba", "CPU"])
    assert explanation.winner.kernel == "dispatch_kernels_numba.loops.sigmoid"


@pytest.mark.parametrize("name", CALLS)
def test_kernels_agree_with_the_backends(served, name):
    for dtype in (torchlike.float32, torchlike.float64, torchlike.float16, torchlike.int64):
        inputs = make_inputs(dtype, SHAPES.get(name, (6, 40)))
        with dc.use_kernels("numba"):
            served.clear()
            found = outcome(CALLS[name], *inputs)
            is_served = dtype == torchlike.float32 or (dtype == torchlike.float64 and name in BOTH)
            assert (name in served) == is_served, dtype
            if is_served:
                with torchlike.pipeline():
                    recorded = CALLS[name](*inputs)
                assert recorded.numpy().tobytes() == found.numpy().tobytes()
        assert_alike(found, outcome(CALLS[name], *inputs), exact=name in EXACT)


@pytest.mark.parametrize("name", CALLS)
def test_unusual_arrays_give_what_they_give_without(name):
    x, y, b = make_inputs(torchlike.float32, SHAPES.get(name, (6, 40)))
    special = x.clone()
    special[0, :6] = torchlike.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e30])
    special[1] = float("nan")
    special[2] = -float("inf")
    for inputs in (
        (special, y, b),
        (x.t(), y.t(), b.t()),
        (x[:, ::2], y[:, ::2], b[:, ::2]),
        (x[:0], y[:0], b[:0]),
        (x[:, :1], y[:, :1], b[:, :1]),
        (x[0, 0], y[0, 0], b[0, 0]),
        (x, y[:1], b[:1]),
        tuple(each.expand(2, *each.shape) for each in (x, y, b)),
    ):
        with dc.use_kernels("numba"):
            found = outcome(CALLS[name], *inputs)
        assert_alike(found, outcome(CALLS[name], *inputs), exact=name in EXACT)


def test_exponentials_and_the_error_function_are_as_accurate_as_documented():
    from scipy.special import erf, expit

    x = np.concatenate([np.linspace(-110, 110, 200_001), np.linspace(-1e-3, 1e-3, 1001)]).astype(np.float32)
    wide = x.astype(np.float64)
    with dc.use_kernels("numba"):
        sigmoid, gelu = (call(torchlike.from_numpy(x)).numpy() for call in (torchlike.sigmoid, F.gelu))
    normal = expit(wide) > np.finfo(np.float32).tiny
    assert np.max(np.abs(sigmoid / expit(wide) - 1)[normal]) < 4 * np.finfo(np.float32).eps
    assert np.max(np.abs(gelu - wide * 0.5 * (1 + erf(wide / np.sqrt(2))))[wide < 1]) < 1e-6
    assert np.all(sigmoid[wide < -104] == 0) and np.all(gelu[wide > 6] == x[wide > 6])


@pytest.mark.parametrize("n", [1000, 100_003])
def test_sums_are_as_accurate_as_pairwise_ones(n):
    x = (np.random.default_rng(1).random(n) + 1).astype(np.float32)
    exact = np.sqrt(np.sum(x.astype(np.float64) ** 2))
    with dc.use_kernels("numba"):
        assert torchlike.from_numpy(x).norm().item() == pytest.approx(exact, rel=3e-7)


def test_the_greatest_come_in_order_the_first_of_equal_ones_first():
    random = np.random.default_rng(2)
    for dtype in (np.float32, np.float64):
        x = random.integers(0, 9, (20, 30)).astype(dtype)
        x[::3, ::4] = np.nan
        t = torchlike.tensor(x)
        for largest in (True, False):
            with dc.use_kernels("numba"):
                found = t.topk(7, largest=largest)
            expected = t.topk(7, largest=largest)
            np.testing.assert_array_equal(found[0].numpy(), expected[0].numpy())
            np.testing.assert_array_equal(found[1].numpy(), expected[1].numpy())


def test_a_network_trains_alike_eagerly_and_in_pipelines():
    def train(pipeline):
        torchlike.manual_seed(0)
        net = torchlike.nn.Sequential(
            torchlike.nn.Linear(8, 16), torchlike.nn.LayerNorm(16), torchlike.nn.GELU(), torchlike.nn.Linear(16, 4)
        )
        optimizer = torchlike.optim.SGD(net.parameters(), lr=0.1)
        x, y = torchlike.randn(32, 8), torchlike.randint(0, 4, (32,))
        for _ in range(3):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            if pipeline:
                with torchlike.pipeline():
                    optimizer.step()
            else:
                optimizer.step()
        return loss.item()

    expected = train(pipeline=False)
    with dc.use_kernels("numba"):
        eager = train(pipeline=False)
        assert train(pipeline=True) == eager
    assert eager == pytest.approx(expected, rel=1e-5)
