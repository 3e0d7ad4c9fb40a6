"""Random numbers that the device draws: their distributions, the state of its generator, and the calls that are made."""

import copy
import itertools
import pickle

import numpy as np
import pytest

torchlike = pytest.importorskip("torchlike", reason="programs are torch's")

import dispatch_core as dc  # noqa: E402  # after the skip
from dispatch_aten.generator import Generator, default_generator  # noqa: E402
from dispatch_backend_npu import runtime  # noqa: E402

pytestmark = pytest.mark.usefixtures("npu")

COUNT = 40_000
npu = {"device": "npu"}


@pytest.fixture(autouse=True)
def _seeded(npu):
    torchlike.manual_seed(20)


def values(tensor):
    return tensor.detach().cpu().to(torchlike.float64).numpy()


def assert_moments(drawn, mean, variance, fourth=3.0):
    """Compare mean and variance within five of their standard deviations; ``fourth`` is the kurtosis."""
    drawn = np.asarray(drawn, np.float64).ravel()
    assert abs(drawn.mean() - mean) < 5 * (variance / drawn.size) ** 0.5
    assert abs(drawn.var() - variance) < 5 * variance * ((fourth - 1) / drawn.size) ** 0.5


FLOATS = ["float32", "float64", "float16", "bfloat16"]


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_numbers(dtype, host_calls):
    kind = getattr(torchlike, dtype)
    drawn = values(torchlike.rand(200, COUNT // 200, dtype=kind, **npu))
    assert drawn.min() >= 0 and drawn.max() < 1
    assert_moments(drawn, 0.5, 1 / 12, 1.8)
    drawn = values(torchlike.empty(COUNT, dtype=kind, **npu).uniform_(-3, 5))
    assert drawn.min() >= -3 and drawn.max() < 5 and drawn.min() < -2.9 and drawn.max() > 4.9
    assert_moments(drawn, 1, 64 / 12, 1.8)
    assert not host_calls()


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_numbers(dtype):
    kind = getattr(torchlike, dtype)
    assert_moments(values(torchlike.randn(COUNT, dtype=kind, **npu)), 0, 1)
    drawn = values(torchlike.empty(COUNT, dtype=kind, **npu).normal_(4, 0.5))
    assert_moments(drawn, 4, 0.25)
    # A third of them lies farther than one standard deviation from the mean.
    assert abs((abs(drawn - 4) > 0.5).mean() - 0.3173) < 0.02
    assert values(torchlike.empty(5, dtype=kind, **npu).normal_(2, 0)).tolist() == [2] * 5


@pytest.mark.parametrize("dtype", FLOATS)
def test_exponential_numbers(dtype, host_calls):
    drawn = values(torchlike.empty(COUNT, dtype=getattr(torchlike, dtype), **npu).exponential_(2))
    # In halves the nearest number to a draw may be 0, in one of some 10 million.
    assert drawn.min() > 0 or (dtype == "float16" and (drawn == 0).sum() <= 1)
    assert_moments(drawn, 0.5, 0.25, 9)
    assert not host_calls()


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "bool", "uint8", "int8", "int64"])
def test_truth_values(dtype):
    kind = getattr(torchlike, dtype)
    for drawn in (
        torchlike.empty(COUNT, dtype=kind, **npu).bernoulli_(0.3),
        torchlike.bernoulli(torchlike.empty(COUNT, dtype=kind, **npu), 0.3),
    ):
        assert drawn.dtype == kind and {*values(drawn).tolist()} == {0, 1}
        assert_moments(values(drawn), 0.3, 0.21, 1 / 0.21 - 3)
    for p in (0, 1):
        assert {*values(torchlike.empty(50, dtype=kind, **npu).bernoulli_(p)).tolist()} == {p}


def test_truth_values_of_chances():
    chances = torchlike.tensor([0.0, 0.2, 1.0], **npu).expand(COUNT, 3)
    drawn = values(torchlike.bernoulli(chances))
    assert drawn[:, 0].max() == 0 and drawn[:, 2].min() == 1
    assert_moments(drawn[:, 1], 0.2, 0.16, 1 / 0.16 - 3)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8", "float32", "float16"])
def test_integers(dtype, host_calls):
    kind = getattr(torchlike, dtype)
    low, high = (0, 9) if dtype == "uint8" else (-6, 3)
    for drawn in (
        torchlike.randint(low, high, (COUNT,), dtype=kind, **npu),
        torchlike.empty(COUNT, dtype=kind, **npu).random_(low, high),
    ):
        counts = np.bincount(values(drawn).astype(int) - low, minlength=9)
        assert counts.size == 9 and abs(counts - COUNT / 9).max() < 5 * (COUNT / 9) ** 0.5
    assert {*values(torchlike.empty(500, dtype=kind, **npu).random_(3)).tolist()} == {0, 1, 2}
    assert not host_calls()


def test_integers_far_from_zero_keep_their_range():
    drawn = values(torchlike.randint(10**12, 10**12 + 4, (COUNT,), **npu)) - 1e12
    assert {*drawn.tolist()} == {0, 1, 2, 3}
    assert abs(np.bincount(drawn.astype(int)) - COUNT / 4).max() < 5 * (COUNT / 4) ** 0.5


def test_long_ranges_have_every_integer():
    drawn = values(torchlike.randint(0, 2**31, (COUNT,), **npu))
    assert_moments(drawn / 2**31, 0.5, 1 / 12, 1.8)
    assert len({*(drawn % 16).tolist()}) == 16
    assert values(torchlike.empty(200, dtype=torchlike.int64, **npu).random_()).max() > 2**60
    for kind, most in ((torchlike.int8, 127), (torchlike.uint8, 255), (torchlike.bool, 1)):
        drawn = values(torchlike.empty(COUNT, dtype=kind, **npu).random_())
        assert (drawn.min(), drawn.max()) == (0, most)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "float32"])
def test_permutations(dtype, host_calls):
    kind = getattr(torchlike, dtype)
    first = torchlike.randperm(200, dtype=kind, **npu)
    assert first.dtype == kind and sorted(values(first).tolist()) == list(range(200))
    assert values(torchlike.randperm(200, dtype=kind, **npu)).tolist() != values(first).tolist()
    places = np.array([values(torchlike.randperm(3, **npu)) for _ in range(1200)]).astype(int) @ [9, 3, 1]
    counts = np.unique(places, return_counts=True)[1]
    assert counts.size == 6 and abs(counts - 200).max() < 5 * 200**0.5
    assert torchlike.randperm(0, **npu).shape == (0,)
    assert not host_calls()


def test_draws_of_weights():
    weights = torchlike.tensor([[1.0, 0.0, 3.0], [0.0, 1.0, 0.0]], **npu)
    drawn = values(torchlike.multinomial(weights, 4000, replacement=True))
    assert abs((drawn[0] == 2).mean() - 0.75) < 0.04 and {*drawn[1].tolist()} == {1}
    assert sorted(values(torchlike.multinomial(weights[0], 2)).tolist()) == [0, 2]


@pytest.mark.of_functions
def test_the_numbers_are_philox_s(simulator):
    """The words of step 0 of key 0 are those of the algorithm's authors."""
    torchlike.npu.manual_seed(0)
    words = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert torchlike.rand(4, **npu).tolist() == [(word >> 8) * 2.0**-24 for word in words]


def test_runs_are_independent():
    one, two = values(torchlike.randn(COUNT, **npu)), values(torchlike.randn(COUNT, **npu))
    for other in (two, np.roll(one, 1), np.roll(one, 4)):
        assert abs((one * other).mean()) < 5 / COUNT**0.5


def test_views_are_filled_in_their_places():
    whole = torchlike.zeros(40, 40, **npu)
    whole[::2, 1:39].uniform_(1, 2)
    found = values(whole)
    assert found[1::2].max() == 0 and found[:, [0, 39]].max() == 0 and found[::2, 1:39].min() >= 1
    with pytest.raises(RuntimeError, match="single memory location"):
        torchlike.zeros(1, **npu).expand(3).normal_()


@pytest.mark.no_pipeline(reason="a pipeline refuses it where it ends")
def test_what_torch_refuses_is_refused():
    for call in (
        lambda: torchlike.zeros(3, **npu).normal_(0, -1),
        lambda: torchlike.zeros(3, **npu).uniform_(2, 1),
        lambda: torchlike.zeros(3, **npu).bernoulli_(1.5),
        lambda: torchlike.zeros(3, **npu).exponential_(0),
        lambda: torchlike.randint(3, 3, (2,), **npu),
        lambda: torchlike.zeros(3, dtype=torchlike.int32, **npu).uniform_(),
        lambda: torchlike.native_dropout(torchlike.ones(3, **npu), 1.5, True),
        lambda: torchlike.zeros(3, **npu).normal_(generator=Generator("cpu")),
        lambda: torchlike.randperm(3, generator=Generator("cpu"), **npu),
    ):
        with pytest.raises(RuntimeError):
            call()


# The state of generators.


def test_one_seed_means_the_same_numbers_again():
    def draw():
        parts = torchlike.rand(3, **npu), torchlike.randn(5, **npu), torchlike.randint(9, (4,), **npu)
        return [each.tolist() for each in (*parts, torchlike.nn.functional.dropout(torchlike.ones(9, **npu)))]

    found = draw()
    assert draw() != found
    torchlike.manual_seed(20)
    assert draw() == found
    torchlike.npu.manual_seed(21)
    assert draw() != found and torchlike.npu.initial_seed() == 21


@pytest.mark.of_functions
def test_a_state_is_seed_and_offset():
    torchlike.npu.manual_seed(2**63 + 5)
    torchlike.rand(10, **npu)
    state = torchlike.npu.get_rng_state()
    assert (state.dtype, state.shape) == (torchlike.uint8, (16,))
    assert np.frombuffer(state.numpy().tobytes(), "<u8").tolist() == [2**63 + 5, 12]
    torchlike.nn.functional.dropout(torchlike.ones(5, 5, **npu))
    assert np.frombuffer(torchlike.npu.get_rng_state().numpy().tobytes(), "<u8")[1] == 40
    after = torchlike.rand(5, **npu).tolist()
    torchlike.npu.set_rng_state(state)
    torchlike.empty(28, **npu).normal_()
    assert torchlike.rand(5, **npu).tolist() == after and torchlike.npu.initial_seed() == 2**63 + 5


def test_bytes_that_are_no_state_are_refused():
    for state in ([0] * 15, [0] * 8 + [3] + [0] * 7):
        with pytest.raises(RuntimeError, match=r"RNG state is wrong size|multiple of 4"):
            torchlike.npu.set_rng_state(torchlike.tensor(state, dtype=torchlike.uint8))


def test_the_host_s_draws_have_a_place_in_the_state(host_calls):
    torchlike.rand(3, **npu)
    torchlike.empty(3, **npu).cauchy_()
    state = torchlike.npu.get_rng_state()
    expected = torchlike.empty(3, **npu).cauchy_().tolist(), torchlike.rand(3, **npu).tolist()
    torchlike.npu.set_rng_state(state)
    assert (torchlike.empty(3, **npu).cauchy_().tolist(), torchlike.rand(3, **npu).tolist()) == expected


def test_a_fork_gives_the_numbers_back():
    with torchlike.random.fork_rng(devices=[0], device_type="npu"):
        inside = torchlike.rand(4, **npu).tolist()
    assert torchlike.rand(4, **npu).tolist() == inside


@pytest.mark.of_functions
@pytest.mark.parametrize("again", [copy.deepcopy, lambda generator: pickle.loads(pickle.dumps(generator))])
def test_a_generator_of_one_s_own(again):
    mine = torchlike.Generator("npu").manual_seed(3)
    first = torchlike.rand(6, generator=mine, **npu).tolist()
    other = again(mine)
    assert (
        torchlike.rand(6, generator=mine, **npu).tolist() == torchlike.rand(6, generator=other, **npu).tolist() != first
    )
    assert sorted(torchlike.randperm(5, generator=mine, **npu).tolist()) == list(range(5))


@pytest.mark.of_functions
def test_each_device_has_a_generator():
    if runtime.device_count() < 2:
        pytest.skip("one device only")
    torchlike.manual_seed(4)
    one = torchlike.rand(8, device="npu:0")
    dropped = torchlike.nn.functional.dropout(torchlike.ones(8, device="npu:1"))
    states = [default_generator(f"npu:{index}").get_state().tolist()[8] for index in (0, 1)]
    assert states == [8, 8] and dropped.device.index == 1
    torchlike.manual_seed(4)
    two = torchlike.rand(8, device="npu:1")
    assert one.tolist() == two.tolist() and two.device.index == 1
    torchlike.npu.manual_seed_all(5)
    assert torchlike.rand(8, device="npu:0").tolist() == torchlike.rand(8, device="npu:1").tolist() != one.tolist()


# Dropout.


def waits(simulator):
    return [name for name in simulator.log() if name.startswith(("aclrtSync", "aclrtMemcpy"))]


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline runs them later")
def test_a_dropout_and_its_gradient_are_three_calls_without_a_wait(simulator):
    x = torchlike.ones(300, 7, requires_grad=True, **npu)
    gradient = torchlike.ones_like(x)
    simulator.reset()
    y = torchlike.nn.functional.dropout(x, 0.2)
    (found,) = torchlike.autograd.grad(y, x, gradient)
    calls = [name for name in simulator.log() if name.startswith("aclnn") and not name.endswith("WorkspaceSize")]
    assert calls == ["aclnnDropoutGenMask", "aclnnDropoutDoMask", "aclnnDropoutDoMask"]
    assert waits(simulator) == []
    assert {*values(y).ravel().tolist()} == {0.0, 1.25} and (found == y).all()


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline runs them later")
def test_the_device_draws_without_a_wait(simulator):
    x = torchlike.ones(40, **npu)
    simulator.reset()
    for call in (x.normal_, x.uniform_, x.exponential_, x.bernoulli_, lambda: x.random_(5), lambda: x.random_(-3, 3)):
        call()
    torchlike.randperm(9, **npu)
    assert waits(simulator) == []
    made = simulator.counts()["tensors"]
    for _ in range(5):
        x.normal_()
    assert simulator.counts()["tensors"] == made


@pytest.mark.parametrize("dtype", [*FLOATS])
@pytest.mark.parametrize("p", [0.0, 0.25, 1.0])
def test_dropout_keeps_and_scales(dtype, p):
    kind = getattr(torchlike, dtype)
    x = torchlike.arange(1, 4001, dtype=torchlike.float32, **npu).remainder(7).add(1).to(kind).view(50, 80).t()
    x.requires_grad_()
    y, mask = torchlike.native_dropout(x, p, True)
    assert (mask.dtype, mask.shape, mask.stride()) == (torchlike.bool, x.shape, x.stride())
    kept, scale = values(mask.to(torchlike.float32)), 0 if p == 1 else 1 / (1 - p)
    assert abs(kept.mean() - (1 - p)) < 0.05
    np.testing.assert_allclose(values(y), values(x) * kept * scale, rtol=1e-2 if dtype == "bfloat16" else 1e-3)
    y.sum().backward()
    np.testing.assert_allclose(values(x.grad), kept * scale, rtol=1e-2 if dtype == "bfloat16" else 1e-3)


def test_a_mask_is_an_array_like_any_other():
    x = torchlike.ones(1000, **npu)
    for read in (
        lambda mask: mask.cpu().npu() if hasattr(mask, "npu") else mask.cpu().to("npu"),
        lambda mask: mask.clone(),
        lambda mask: mask.view(10, 100).t().t().reshape(-1),
        lambda mask: mask.logical_not().logical_not(),
    ):
        y, mask = torchlike.native_dropout(x, 0.5, True)
        assert (read(mask) == (y == 2)).all()
    y, mask = torchlike.native_dropout(x, 0.5, True)
    mask.fill_(True)
    assert (torchlike.ops.aten.native_dropout_backward(x, mask, 2.0) == 2).all()
    y, mask = torchlike.native_dropout(x, 0.5, True)
    assert (torchlike.ops.aten.native_dropout_backward(x, mask, 3.0) == y * 1.5).all()
    half = torchlike.ops.aten.native_dropout_backward(x[:500], mask[500:], 2.0)
    assert (half == y[500:]).all()


def test_dropout_outside_training_and_of_nothing():
    x = torchlike.ones(3, **npu)
    y, mask = torchlike.native_dropout(x, 0.5, False)
    assert y.tolist() == [1.0] * 3 and mask.tolist() == [True] * 3
    assert torchlike.native_dropout(torchlike.ones(0, 3, **npu), 0.5, True)[0].shape == (0, 3)
    assert torchlike.nn.functional.dropout(torchlike.tensor(1.0, **npu), 0.5).item() in (0.0, 2.0)


def test_whole_channels_are_dropped():
    y = values(torchlike.nn.functional.dropout2d(torchlike.ones(20, 30, 2, 2, **npu), 0.5))
    assert {*y.reshape(600, 4).sum(1).tolist()} == {0.0, 8.0}


# Pipelines and captured functions.


@pytest.mark.no_pipeline(reason="it opens its own")
def test_a_pipeline_draws_the_numbers_that_single_calls_draw():
    def step(x):
        return torchlike.nn.functional.dropout(x * 2, 0.5) + torchlike.rand_like(x) + torchlike.randn(6, **npu)

    x = torchlike.ones(6, **npu)
    alone = [step(x).tolist() for _ in range(4)]
    torchlike.manual_seed(20)
    together = []
    for _ in range(4):
        with dc.pipeline():
            y = step(x)
        together.append(y.tolist())
    assert together == alone and alone[0] != alone[1]


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="it captures")
def test_each_replay_draws_other_numbers():
    layer = torchlike.nn.Linear(4, 8).to("npu")

    @dc.capture
    def step(x):
        loss = torchlike.nn.functional.dropout(layer(x), 0.5).square().sum()
        loss.backward()
        return loss, torchlike.rand(3, **npu)

    x = torchlike.ones(5, 4, **npu)
    offsets, found = [], []
    for _ in range(6):
        loss, drawn = step(x)
        found.append((round(loss.item(), 3), *drawn.tolist()))
        offsets.append(int(np.frombuffer(torchlike.npu.get_rng_state().numpy().tobytes(), "<u8")[1]))
    assert len({*found}) == 6
    assert {after - before for before, after in itertools.pairwise(offsets)} == {44}
    torchlike.manual_seed(20)
    layer.zero_grad()
    assert (round(step(x)[0].item(), 3)) == found[0][0]
