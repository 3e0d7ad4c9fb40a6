import threading

import numpy as np
import pytest

from dispatch_aten.errors import OperatorError
from dispatch_aten.generator import Generator, default_generator
from dispatch_backend_cpu.kernels import KERNELS
from dispatch_backend_cpu.mersenne_twister import MersenneTwister


def make_generator(seed=0):
    return Generator("cpu").manual_seed(seed)


def test_the_first_words_are_those_of_the_reference_implementation():
    # mt19937ar.c, init_genrand(5489)
    assert MersenneTwister(5489).words(3).tolist() == [3499211612, 581869302, 3890346734]


def test_one_seed_one_stream():
    draws = [KERNELS["rand.generator"]([5], generator=make_generator(3)) for _ in range(2)]
    np.testing.assert_array_equal(*draws)
    assert (KERNELS["rand.generator"]([5], generator=make_generator(4)) != draws[0]).any()


def test_torchs_first_numbers():
    # torch.manual_seed(0); torch.rand(3), torch.randint(10, (5,)) and torch.randperm(5) of fresh generators
    np.testing.assert_allclose(
        KERNELS["rand.generator"]([3], generator=make_generator()), [0.49625659, 0.76822180, 0.08847743]
    )
    np.testing.assert_allclose(
        KERNELS["randn.generator"]([3], generator=make_generator()), [1.5409961, -0.2934289, -2.1787894]
    )
    assert KERNELS["randint.generator"](10, [5], generator=make_generator()).tolist() == [4, 9, 3, 0, 3]
    assert KERNELS["randperm.generator"](5, generator=make_generator()).tolist() == [4, 0, 1, 3, 2]


def test_the_default_generator_serves_who_has_none():
    default_generator("cpu").manual_seed(7)
    np.testing.assert_array_equal(KERNELS["rand"]([4]), KERNELS["rand.generator"]([4], generator=make_generator(7)))


def test_states_are_taken_back():
    generator = make_generator()
    KERNELS["randn.generator"]([3], generator=generator)  # leaves a spare number behind
    state = generator.get_state()
    first = KERNELS["randn.generator"]([3], generator=generator)
    generator.set_state(state)
    np.testing.assert_array_equal(KERNELS["randn.generator"]([3], generator=generator), first)


def test_moments():
    numbers = KERNELS["randn.generator"]([20_001], generator=make_generator())
    assert abs(numbers.mean()) < 0.03
    assert abs(numbers.std() - 1) < 0.03
    coins = KERNELS["bernoulli_.float"](np.zeros(10_000), 0.25, generator=make_generator())
    assert abs(coins.mean() - 0.25) < 0.02


@pytest.mark.parametrize(("low", "high"), [(-3, 5), (0, 1), (-(2**62), 2**62)])
def test_integers_stay_in_range(low, high):
    found = KERNELS["randint.low_generator"](low, high, [1000], generator=make_generator())
    assert found.min() >= low
    assert found.max() < high


def test_wrong_parameters_change_nothing():
    a = np.zeros(3)
    generator = make_generator()
    for name, args in (("uniform_", (2.0, 1.0)), ("normal_", (0.0, -1.0)), ("bernoulli_.float", (1.5,))):
        with pytest.raises(OperatorError):
            KERNELS[name](a, *args, generator=generator)
    assert not a.any()
    np.testing.assert_array_equal(
        KERNELS["rand.generator"]([2], generator=generator), KERNELS["rand.generator"]([2], generator=make_generator())
    )


def test_a_generator_of_another_device_is_refused():
    with pytest.raises(OperatorError, match="Expected a 'cpu' device type for generator but found 'npu'"):
        KERNELS["rand.generator"]([2], generator=Generator("npu"))


def test_threads_share_a_generator_without_losing_numbers():
    generator, found = make_generator(), []

    def draw():
        for _ in range(50):
            found.extend(KERNELS["rand.generator"]([20], generator=generator).tolist())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(KERNELS["rand.generator"]([4000], generator=make_generator()).tolist())


@pytest.mark.parametrize("count", [1, 2, 3, 17, 255, 256, 1000, 5000])
def test_a_permutation_is_a_shuffle_step_by_step(count):
    draws = MersenneTwister(3).words(count - 1) % np.arange(count, 1, -1, dtype=np.uint64)
    order = list(range(count))
    for place, step in enumerate(draws.tolist()):
        order[place], order[place + step] = order[place + step], order[place]
    assert KERNELS["randperm.generator"](count, generator=make_generator(3)).tolist() == order


@pytest.mark.parametrize("char", "fd")
def test_few_draws_are_those_of_many(char):
    one, other = MersenneTwister(2), MersenneTwister(2)
    for count in (1, 3, 2, 4, 5):
        found = one.uniform(count, np.dtype(char))
        words = other.words(count * (1 + (char == "d"))).tolist()
        if char == "d":
            expected = [
                ((a << 32 | b) & (1 << 53) - 1) * 2.0**-53 for a, b in zip(words[::2], words[1::2], strict=True)
            ]
        else:
            expected = [(word & (1 << 24) - 1) * 2.0**-24 for word in words]
        assert (found.dtype.char, found.tolist()) == (char, expected)
