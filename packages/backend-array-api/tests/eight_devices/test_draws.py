"""Random numbers over eight devices: those of one device, drawn where they lie."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from torchlike import nn
from torchlike.distributed._composable import replicate
from torchlike.distributed.tensor import Replicate, Shard, distribute_tensor

COLLECTIVE = re.compile(r"all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter")


def draw(x):
    """Draw like a tensor, by most operators, none of which moves its parts."""
    return {
        "dropout": nn.functional.dropout(x, 0.5),
        "randn": torchlike.randn_like(x),
        "integers": torchlike.randint_like(x, 100),
        "uniform": torchlike.zeros_like(x).uniform_(-1, 1),
        "truths": torchlike.bernoulli(x / 100),
        "channels": nn.functional.dropout2d(x[:, :, None, None], 0.3),
        "normal": torchlike.normal(x, x),
    }


def found_by(how, x):
    torchlike.manual_seed(4)
    if how == "pipeline":
        with dc.pipeline():
            return draw(x)
    return draw(x)


@pytest.mark.parametrize("placements", [[Shard(0), Shard(1)], [Replicate(), Shard(0)]])
def test_placed_tensors_draw_the_numbers_of_one_device(grid, placements):
    x = torchlike.arange(64.0, device="jax").reshape(8, 8) + 1
    wanted = found_by("eager", x)
    placed = distribute_tensor(x, grid, placements)
    captured = torchlike.capture(draw)
    for _ in range(4):
        captured(placed)
    assert captured.stats().replays
    torchlike.manual_seed(4)
    others = [captured(placed), found_by("eager", placed), found_by("pipeline", placed)]
    for name, numbers in wanted.items():
        for found in others:
            np.testing.assert_allclose(found[name].tolist(), numbers.tolist(), rtol=1e-6, atol=1e-6, err_msg=name)
            assert found[name].placements == tuple(placements), name


def test_numbers_by_the_values_of_placed_tensors(grid):
    x = torchlike.arange(64.0, device="jax").reshape(8, 8) + 1
    placed = distribute_tensor(x, grid, [Shard(0), Shard(1)])
    for run in (
        torchlike.poisson,
        torchlike._standard_gamma,
        lambda x: torchlike.binomial(x, x / 100),
        lambda x: torchlike.multinomial(x, 2),
        lambda x: nn.functional.rrelu(x - 30, training=True),
    ):
        found = []
        for each in (x, placed):
            torchlike.manual_seed(4)
            found.append(run(each).tolist())
        assert found[0] == found[1]


def test_parts_are_drawn_without_a_word(line):
    from dispatch_backend_array_api.jax_random import kernels

    x = distribute_tensor(torchlike.ones(64, 64, device="jax"), line, [Shard(0)])._dispatch_data
    with jax.enable_x64(True):
        run = kernels._compile(kernels._truths, x.shape, x.dtype, x.sharding)
        text = run.lower(np.array([1, 2], np.uint64), 0.5).compile().as_text()
    assert not COLLECTIVE.search(text)
    assert "[8,64]" in text


def test_each_index_has_a_generator():
    torchlike.manual_seed(4)
    drawn = {index: torchlike.rand(3, device=f"jax:{index}") for index in (3, 0)}
    assert {index: each.device.index for index, each in drawn.items()} == {3: 3, 0: 0}
    assert drawn[3].tolist() == drawn[0].tolist()
    torchlike.manual_seed(4)
    with dc.pipeline():
        found = [
            torchlike.rand(3, device="jax:3"),
            torchlike.rand(3, device="jax:0"),
            torchlike.rand(3, device="jax:3"),
        ]
    assert found[0].tolist() == found[1].tolist() == drawn[0].tolist() != found[2].tolist()
    assert len(torchlike.jax.default_generators) == 8


def test_a_placed_step_with_dropout_moves_nothing(line):
    losses = {}
    for mesh in (None, line):
        torchlike.manual_seed(0)
        net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 10)).to("jax")
        batch = torchlike.randn(64, 16, device="jax"), torchlike.randint(0, 10, (64,), device="jax")
        if mesh is not None:
            replicate(net, device_mesh=mesh)
            batch = tuple(distribute_tensor(each, mesh, [Shard(0)]) for each in batch)
        rule = torchlike.optim.SGD(net.parameters(), lr=0.1)

        def step(x, y, net=net, rule=rule):
            rule.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            rule.step()
            return loss.detach()

        captured = torchlike.capture(step)
        losses[mesh] = [captured(*batch).item() for _ in range(5)]
    np.testing.assert_allclose(losses[line], losses[None], rtol=1e-5)
    with jax.transfer_guard("disallow_explicit"):
        jax.block_until_ready(captured(*batch)._dispatch_data)
