"""Random numbers that jax draws: distributions, the generator's state, numbers of pipelines and captured functions."""

import copy
import pickle
import threading

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_core.discovery import loader
from torchlike import nn
from torchlike.utils.checkpoint import checkpoint

pytest.importorskip("jax")

COUNT = 20_000
FLOATS = ["float32", "float64", "float16", "bfloat16"]
jax = {"device": "jax"}


@pytest.fixture(autouse=True)
def _seed():
    torchlike.manual_seed(20)


@pytest.fixture
def planned(monkeypatch):
    """Yield the programs that are planned, each with its device and its steps."""
    torchlike.empty(0, device="jax")
    found, plan = [], loader().plan

    def keep(name, program):
        steps = [*(plan(name, program) or ())]
        found.append((name, program, steps))
        return steps

    monkeypatch.setattr(loader(), "plan", keep)
    return found


def values(tensor):
    tensor = tensor.detach().cpu()
    return (tensor if tensor.is_complex() else tensor.to(torchlike.float64)).numpy()


def fresh(dtype, count=COUNT):
    return torchlike.empty(count, dtype=getattr(torchlike, dtype), **jax)


def full(value, dtype="float32", count=COUNT):
    return torchlike.full((count,), value, dtype=getattr(torchlike, dtype), **jax)


def assert_moments(drawn, mean, variance, fourth=3.0):
    """Compare mean and variance within five of their standard deviations; ``fourth`` is the kurtosis."""
    drawn = np.asarray(drawn, np.float64).ravel()
    assert abs(drawn.mean() - mean) < 5 * (variance / drawn.size) ** 0.5
    assert abs(drawn.var() - variance) < 5 * variance * ((fourth - 1) / drawn.size) ** 0.5


def assert_distribution(drawn, name, *shape, **where):
    """Compare with a continuous distribution of SciPy's, by the test of Kolmogorov and Smirnov."""
    stats = pytest.importorskip("scipy.stats")
    assert stats.kstest(np.ravel(drawn), getattr(stats, name)(*shape, **where).cdf).pvalue > 1e-4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distributions(dtype):
    assert_distribution(values(fresh(dtype).uniform_(-3, 5)), "uniform", loc=-3, scale=8)
    assert_distribution(values(fresh(dtype).normal_(4, 0.5)), "norm", loc=4, scale=0.5)
    assert_distribution(values(fresh(dtype).exponential_(2)), "expon", scale=0.5)
    assert_distribution(values(fresh(dtype).cauchy_(1, 2)), "cauchy", loc=1, scale=2)
    assert_distribution(values(fresh(dtype).log_normal_(0.5, 0.25)), "lognorm", 0.25, scale=np.exp(0.5))
    assert_distribution(values(torchlike._standard_gamma(full(2.5, dtype))), "gamma", 2.5)
    assert_distribution(values(torchlike._standard_gamma(full(0.3, dtype))), "gamma", 0.3)
    assert_distribution(values(torchlike.normal(full(1.0, dtype), full(3.0, dtype))), "norm", loc=1, scale=3)
    assert_distribution(values(torchlike.normal(2.0, full(3.0, dtype))), "norm", loc=2, scale=3)


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_numbers_leave_out_the_end(dtype):
    drawn = values(torchlike.rand(COUNT, dtype=getattr(torchlike, dtype), **jax))
    assert drawn.min() >= 0 and drawn.max() < 1
    assert_moments(drawn, 0.5, 1 / 12, 1.8)
    drawn = values(fresh(dtype).uniform_(-3, 5))
    assert drawn.min() >= -3 and drawn.max() < 5 and drawn.min() < -2.9 and drawn.max() > 4.9
    assert values(fresh(dtype, 5).uniform_(2, 2)).tolist() == [2] * 5


@pytest.mark.parametrize("dtype", FLOATS)
def test_numbers_of_each_width(dtype):
    assert_moments(values(torchlike.randn(COUNT, dtype=getattr(torchlike, dtype), **jax)), 0, 1)
    drawn = values(fresh(dtype).exponential_(2))
    assert drawn.min() > 0
    assert_moments(drawn, 0.5, 0.25, 9)
    assert_moments(values(fresh(dtype).geometric_(0.5)), 2, 2, 9.5)
    assert_moments(values(torchlike.poisson(full(4.0, dtype))), 4, 4, 3.25)
    assert_moments(values(torchlike.poisson(full(50.0, dtype))), 50, 50)
    assert not values(torchlike.poisson(full(0.0, dtype))).any()
    assert values(fresh(dtype, 5).normal_(2, 0)).tolist() == [2] * 5


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_draw_both_parts(dtype):
    drawn = values(torchlike.randn(COUNT, dtype=getattr(torchlike, dtype), **jax))
    for part in (drawn.real, drawn.imag):
        assert_moments(part, 0, 0.5)
    assert abs(np.corrcoef(drawn.real, drawn.imag)[0, 1]) < 5 / COUNT**0.5
    drawn = values(fresh(dtype).uniform_(1, 3))
    for part in (drawn.real, drawn.imag):
        assert_moments(part, 2, 1 / 3, 1.8)
    drawn = values(fresh(dtype).normal_(5, 2))
    assert_moments(drawn.real, 5, 2)
    assert_moments(drawn.imag, 0, 2)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "bool", "uint8", "int8", "int64"])
def test_truth_values(dtype):
    for drawn in (
        fresh(dtype).bernoulli_(0.3),
        torchlike.bernoulli(fresh(dtype), 0.3),
        fresh(dtype).bernoulli_(full(0.3)),
    ):
        assert str(drawn.dtype).endswith(dtype) and {*values(drawn).tolist()} == {0, 1}
        assert_moments(values(drawn), 0.3, 0.21, 1 / 0.21 - 3)
    for p in (0, 1):
        assert {*values(fresh(dtype).bernoulli_(p)).tolist()} == {p}


@pytest.mark.parametrize("dtype", FLOATS)
def test_small_chances_are_kept(dtype):
    """A probability of half a thousandth is finer than the numbers of 16 bits just below 1."""
    drawn = values(torchlike.bernoulli(full(0.0005, dtype, 400_000)))
    assert abs(drawn.sum() - 200) < 5 * 200**0.5
    assert values(torchlike.bernoulli(full(1.0, dtype))).all()


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8", "float32", "float16"])
def test_integers(dtype):
    low, high = (0, 9) if dtype == "uint8" else (-6, 3)
    kind = getattr(torchlike, dtype)
    for drawn in (torchlike.randint(low, high, (COUNT,), dtype=kind, **jax), fresh(dtype).random_(low, high)):
        counts = np.bincount(values(drawn).astype(int) - low, minlength=9)
        assert counts.size == 9 and abs(counts - COUNT / 9).max() < 5 * (COUNT / 9) ** 0.5
    assert {*values(fresh(dtype).random_(3)).tolist()} == {0, 1, 2}


def test_integers_of_long_ranges():
    drawn = torchlike.randint(-(2**63), 2**63 - 1, (COUNT,), **jax)
    assert_moments(values(drawn) / 2**63, 0, 1 / 3, 1.8)
    # Every bit is drawn, the lowest, too.
    assert abs(values(drawn & 1).mean() - 0.5) < 5 * 0.5 / COUNT**0.5
    assert_moments(values(fresh("int64").random_(-(2**63), None)) / 2**63, 0, 1 / 3, 1.8)
    assert_moments(values(torchlike.randint(0, 2**63 - 1, (COUNT,), **jax)) / 2**63, 0.5, 1 / 12, 1.8)
    far = values(torchlike.randint(10**12, 10**12 + 4, (COUNT,), **jax)) - 1e12
    assert abs(np.bincount(far.astype(int), minlength=4) - COUNT / 4).max() < 5 * (COUNT / 4) ** 0.5
    for dtype, most in (("int8", 127), ("uint8", 255), ("bool", 1), ("float16", 2**11), ("bfloat16", 2**8)):
        drawn = values(fresh(dtype).random_())
        assert (drawn.min(), drawn.max() > 0.99 * most, drawn.max() <= most) == (0, True, True)


def test_permutations():
    drawn = [torchlike.randperm(4, **jax).tolist() for _ in range(600)]
    assert all(sorted(each) == [0, 1, 2, 3] for each in drawn)
    assert len({tuple(each) for each in drawn}) == 24
    assert sorted(torchlike.randperm(1000, **jax).tolist()) == [*range(1000)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("replacement", [False, True])
def test_drawn_classes(dtype, replacement):
    weights = torchlike.tensor([1.0, 0.0, 2.0, 5.0, 0.0], dtype=getattr(torchlike, dtype), **jax)
    first = values(torchlike.multinomial(weights.expand(COUNT, 5), 2, replacement))[:, 0]
    counts = np.bincount(first.astype(int), minlength=5)
    assert counts[1] == counts[4] == 0
    assert abs(counts[[0, 2, 3]] - COUNT * np.array([1, 2, 5]) / 8).max() < 5 * (COUNT / 4) ** 0.5
    both = values(torchlike.multinomial(weights.expand(COUNT, 5), 3, replacement))
    if not replacement:
        assert (np.sort(both, -1) == [0, 2, 3]).all()


def test_binomial_numbers():
    for count, chance in ((10.0, 0.3), (1000.0, 0.7)):
        spread = count * chance * (1 - chance)
        assert_moments(values(torchlike.binomial(full(count), full(chance))), count * chance, spread, 3.5)
    for count, chance, wanted in ((0.0, 0.5, 0), (7.0, 0.0, 0), (7.0, 1.0, 7)):
        assert {*values(torchlike.binomial(full(count, count=9), full(chance, count=9))).tolist()} == {wanted}


def test_dropout_and_its_gradient():
    x = torchlike.ones(COUNT, requires_grad=True, **jax)
    y = nn.functional.dropout(x, 0.2)
    kept = values(y) != 0
    assert_moments(kept, 0.8, 0.16, 3.25)
    assert np.allclose(values(y)[kept], 1.25)
    y.sum().backward()
    assert np.array_equal(values(x.grad), values(y))
    assert not values(nn.functional.dropout(x, 1.0)).any()
    assert values(nn.functional.dropout(x, 0.0)).all()
    channels = values(nn.functional.dropout2d(torchlike.ones(40, 50, 3, 3, **jax), 0.5)).reshape(2000, 9)
    assert (channels == channels[:, :1]).all() and 800 < (channels[:, 0] != 0).sum() < 1200
    assert_moments(values(nn.functional.alpha_dropout(torchlike.randn(COUNT, **jax), 0.3, True)), 0, 1, 3.5)
    slopes = -values(nn.functional.rrelu(full(-1.0), 0.1, 0.3, True))
    assert_moments(slopes, 0.2, 0.04 / 12, 1.8)


def test_gradients_through_gamma_numbers():
    shape = full(1.7).requires_grad_()
    torchlike._standard_gamma(shape).sum().backward()
    # The mean of the numbers is their shape, so the derivatives' mean is 1.
    assert abs(values(shape.grad).mean() - 1) < 0.02


def draw(generator=None):
    """Draw by most operators, from the device's generator and another one; no sum is rounded in another way by XLA."""
    x = torchlike.ones(6, 5, **jax)
    return [
        torchlike.rand(3, **jax),
        nn.functional.dropout(x, 0.3),
        torchlike.randn(3, generator=generator, **jax),
        torchlike.randint(2**40, (4,), generator=generator, **jax),
        torchlike.randperm(7, **jax),
        x.clone().exponential_(),
        torchlike.multinomial(x, 2),
        torchlike.bernoulli(x * 0.5),
        nn.functional.dropout2d(x[None, :, :, None], 0.4),
        torchlike.rand(2, generator=generator, dtype=torchlike.float64, **jax),
        x.new_empty(4).log_normal_(),
    ]


def lists(tensors):
    return [each.tolist() for each in tensors]


def set_seeds(generator):
    torchlike.manual_seed(1)
    generator.manual_seed(9)


def test_pipelines_and_captured_functions_draw_the_numbers_of_eager_calls(planned):
    generator = torchlike.Generator("jax")
    set_seeds(generator)
    wanted = [lists(draw(generator)) for _ in range(4)]
    assert len({str(each) for each in wanted}) == 4
    assert not planned
    set_seeds(generator)
    with dc.pipeline() as pipe:
        found = draw(generator)
    np.testing.assert_equal(lists(found), wanted[0])
    assert not pipe.stats().eager
    with dc.pipeline():
        found = draw(generator)
    np.testing.assert_equal(lists(found), wanted[1])
    # What is drawn now goes on after the programs.
    np.testing.assert_equal(lists(draw(generator)), wanted[2])
    captured = torchlike.capture(draw)
    set_seeds(generator)
    np.testing.assert_equal([lists(captured(generator)) for _ in range(4)], wanted)
    set_seeds(generator)
    np.testing.assert_equal([lists(captured(generator)) for _ in range(4)], wanted)
    assert captured.stats().replays >= 5
    assert {name for name, *_ in planned} == {"jax"}
    assert all([step.nodes for step in steps] == [tuple(range(len(p.nodes)))] for _, p, steps in planned)


def test_a_default_generator_that_is_named_draws_with_the_others():
    mine = torchlike.jax.default_generators[0]

    def three():
        return [torchlike.rand(2, generator=each, **jax).tolist() for each in (None, mine, None)]

    wanted = three()
    torchlike.manual_seed(20)
    with dc.pipeline():
        found = [torchlike.rand(2, generator=each, **jax) for each in (None, mine, None)]
    assert lists(found) == wanted


def make_step():
    net = nn.Sequential(
        nn.Linear(32, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 16), nn.Dropout(0.1), nn.Linear(16, 4)
    )
    net = net.to("jax")
    rule = torchlike.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step(x, y):
        rule.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        rule.step()
        return loss.detach()

    return step


def test_a_training_step_with_dropout_is_one_program_that_moves_nothing(planned):
    from jax import block_until_ready, transfer_guard

    losses = {}
    for captured in (False, True):
        torchlike.manual_seed(3)
        step = make_step()
        step = torchlike.capture(step) if captured else step
        batch = torchlike.randn(8, 32, **jax), torchlike.randint(4, (8,), **jax)
        losses[captured] = [step(*batch).item() for _ in range(6)]
    np.testing.assert_allclose(losses[True], losses[False], rtol=1e-5)
    assert {name for name, *_ in planned} == {"jax"}
    assert all([each.nodes for each in steps] == [tuple(range(len(p.nodes)))] for _, p, steps in planned)
    with transfer_guard("disallow_explicit"):
        found = [block_until_ready(step(*batch)._dispatch_data) for _ in range(3)]
    assert len({float(each) for each in found}) == 3


def test_replays_draw_on_where_the_generator_is():
    captured = torchlike.capture(lambda x: nn.functional.dropout(x, 0.5) * 2)
    x = torchlike.ones(64, **jax)
    for _ in range(4):
        captured(x)
    torchlike.manual_seed(5)
    wanted = [(nn.functional.dropout(x, 0.5) * 2).tolist() for _ in range(4)]
    torchlike.manual_seed(5)
    state = torchlike.jax.get_rng_state()
    found = [
        captured(x).tolist(),
        (nn.functional.dropout(x, 0.5) * 2).tolist(),
        captured(x).tolist(),
        captured(x).tolist(),
    ]
    assert found == wanted
    torchlike.jax.set_rng_state(state)
    assert captured(x).tolist() == wanted[0]
    with torchlike.random.fork_rng(device_type="jax"):
        assert captured(x).tolist() == wanted[1]
    assert captured(x).tolist() == wanted[1]


def test_another_probability_compiles_nothing(monkeypatch):
    from dispatch_backend_array_api import xla

    x = torchlike.ones(4096, **jax)
    traced, trace = [], xla.Compiled.trace
    monkeypatch.setattr(xla.Compiled, "trace", lambda self, *given: (traced.append(self), trace(self, *given))[1])
    for p in (0.1, 0.5, 0.9):
        with dc.pipeline():
            y = nn.functional.dropout(x, p)
        assert abs((values(y) == 0).mean() - p) < 0.04
    assert len(traced) == 1


def test_a_program_that_fails_takes_no_numbers():
    x, table = torchlike.ones(8, **jax), torchlike.ones(3, 2, **jax)
    wanted = torchlike.rand(3, **jax).tolist()
    torchlike.manual_seed(20)
    kept = []
    with pytest.raises((IndexError, dc.DispatchError)), dc.pipeline():
        kept.append(nn.functional.dropout(x, 0.5))
        kept.append(nn.functional.embedding(torchlike.tensor([7], **jax), table))
    # The nodes have run one by one, up to the wrong one.
    again = torchlike.rand(3, **jax).tolist()
    torchlike.manual_seed(20)
    nn.functional.dropout(x, 0.5)
    assert again == torchlike.rand(3, **jax).tolist() != wanted


def test_the_state_of_the_generator():
    generator = torchlike.Generator("jax").manual_seed(5)
    assert (generator.initial_seed(), generator.get_state().tolist()) == (5, [5, *[0] * 15])
    state = generator.get_state()
    first = torchlike.rand(4, generator=generator, **jax).tolist()
    twins = [copy.deepcopy(generator.engine), pickle.loads(pickle.dumps(generator))]
    second = torchlike.rand(4, generator=generator, **jax).tolist()
    assert twins[0].get_state() != generator.engine.get_state()
    assert torchlike.rand(4, generator=twins[1], **jax).tolist() == second != first
    generator.set_state(state)
    assert torchlike.rand(4, generator=generator, **jax).tolist() == first
    # A draw takes it further by the same step, whatever its size.
    before = generator.get_state().tolist()[8]
    torchlike.rand(100, generator=generator, **jax)
    assert generator.get_state().tolist()[8] - before == 4
    generator.manual_seed(2**64 - 1)
    assert torchlike.rand(4, generator=generator, **jax).tolist() != first
    with pytest.raises(RuntimeError, match="Expected a 'jax' device type for generator but found 'cpu'"):
        torchlike.rand(3, generator=torchlike.Generator(), **jax)


def test_seeds_and_offsets_give_other_numbers():
    drawn = set()
    for seed in (0, 1, 2**32, 2**33, 2**63):
        for offset in (0, 4, 2**32, 2**34):
            generator = torchlike.Generator("jax").manual_seed(seed)
            torchlike.rand(0, generator=generator, **jax)
            state = np.array([seed, offset], "<u8").view(np.uint8)
            generator.set_state(torchlike.from_numpy(state.copy()))
            drawn.add(tuple(torchlike.rand(2, generator=generator, **jax).tolist()))
    assert len(drawn) == 20


@pytest.mark.parametrize("use_reentrant", [False, True])
@pytest.mark.parametrize("deferred", [False, True])
def test_a_checkpoint_draws_the_same_numbers_again(use_reentrant, deferred):
    layer = nn.Linear(8, 8).to("jax")
    x = torchlike.randn(4, 8, **jax).requires_grad_()

    def part(x):
        return nn.functional.dropout(layer(x), 0.5)

    found = []
    for run in (part, lambda x: checkpoint(part, x, use_reentrant=use_reentrant)):
        torchlike.manual_seed(2)
        with dc.pipeline() if deferred else torchlike.enable_grad():
            run(x).sum().backward()
        found.append((x.grad.tolist(), torchlike.rand(2, **jax).tolist()))
        x.grad = None
    assert found[0] == found[1]


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_rows_of_vmap(randomness):
    x = torchlike.ones(3, 40, **jax)
    for function in (
        lambda row: nn.functional.dropout(row, 0.5),
        lambda row: row.clone().uniform_(),
        lambda row: row + torchlike.rand(40, **jax),
        torchlike.ops.aten.uniform,
    ):
        with torchlike.no_grad():
            found = torchlike.func.vmap(function, randomness=randomness)(x).tolist()
        assert (found[0] == found[1] == found[2]) == (randomness == "same")
        assert len({*found[0]}) > 1


def test_threads_draw_each_number_once():
    captured = torchlike.capture(lambda: torchlike.rand(4, **jax) * 2)
    wanted = {str((torchlike.rand(4, **jax) * 2).tolist()) for _ in range(24)}
    torchlike.manual_seed(20)
    found = []

    def work():
        for _ in range(6):
            found.append(str(captured().tolist()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert {*found} == wanted and len(found) == 24


@pytest.mark.parametrize("deferred", [False, True])
def test_refusals(deferred):
    x = torchlike.ones(3, 4, **jax)
    for call, words in (
        (lambda: torchlike.poisson(-x), "invalid Poisson rate"),
        (lambda: torchlike.bernoulli(x * 2), "p_in >= 0 && p_in <= 1"),
        (lambda: torchlike.normal(x, -x), "all elements of std >= 0.0"),
        (lambda: torchlike.normal(1.0, -x), "all elements of std >= 0.0"),
        (lambda: torchlike.multinomial(-x, 1), "probability tensor contains either"),
        (lambda: torchlike.multinomial(-x, 2, True), "probability entry < 0"),
        (lambda: torchlike.multinomial(x * 0, 1), "sum of probabilities <= 0"),
        (lambda: x.clone().uniform_(3, 2), "found from=3 > to=2"),
        (lambda: x.clone().normal_(0, -1), "std >= 0.0"),
        (lambda: torchlike.rand(3, dtype=torchlike.int64, **jax), "not implemented for 'Long'"),
        (lambda: x.clone().random_(5, 5), "'from' to be less than 'to'"),
        (lambda: nn.functional.dropout(x, 1.5), "between 0 and 1"),
    ):
        with pytest.raises((RuntimeError, ValueError, dc.DispatchError), match=words):
            if deferred:
                with dc.pipeline():
                    call()
            else:
                call()


def test_the_host_draws_nothing():
    before = dc.runtime.computed_on_host("jax")
    draw()
    torchlike.poisson(full(3.0, count=4))
    torchlike._sample_dirichlet(torchlike.ones(3, **jax))
    assert dc.runtime.computed_on_host("jax") == before
    assert torchlike.jax.default_generators[0].host is None
