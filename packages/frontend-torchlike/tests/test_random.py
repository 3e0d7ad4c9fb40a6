"""Seeds and generators."""

import torchlike


def draw():
    return torchlike.rand(3).tolist(), torchlike.randn(20).tolist(), torchlike.randperm(9).tolist()


def test_a_seed_repeats_everything():
    torchlike.manual_seed(7)
    first = draw()
    assert draw() != first
    torchlike.manual_seed(7)
    assert draw() == first
    assert torchlike.initial_seed() == 7


def test_torchs_own_stream():
    torchlike.manual_seed(0)
    assert [round(x, 4) for x in torchlike.rand(3).tolist()] == [0.4963, 0.7682, 0.0885]
    assert torchlike.randint(0, 10, (3,)).tolist() == torchlike.randint(0, 10, (3,), generator=_after_three()).tolist()


def _after_three():
    generator = torchlike.Generator().manual_seed(0)
    torchlike.rand(3, generator=generator)
    return generator


def test_the_state_can_be_kept_and_restored():
    torchlike.rand(1)
    state = torchlike.get_rng_state()
    first = draw()
    torchlike.set_rng_state(state)
    assert draw() == first


def test_generators_are_independent():
    a, b = torchlike.Generator().manual_seed(1), torchlike.Generator().manual_seed(1)
    torchlike.manual_seed(2)
    before = torchlike.get_rng_state()
    assert torchlike.rand(4, generator=a).tolist() == torchlike.rand(4, generator=b).tolist()
    x = torchlike.empty(5)
    assert x.normal_(generator=a).tolist() == torchlike.empty(5).normal_(generator=b).tolist()
    after = torchlike.get_rng_state()
    assert str(before) == str(after)
