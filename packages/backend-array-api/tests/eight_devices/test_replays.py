"""Replays on a mesh: they move nothing, compile nothing for another number, and talk as little as a step by hand."""

from __future__ import annotations

import re
from collections import Counter

import jax
import jax.numpy as jnp
import pytest

import torchlike
from dispatch_backend_array_api import xla
from torchlike import nn
from torchlike.distributed._composable import replicate
from torchlike.distributed.tensor import Shard, distribute_tensor

COLLECTIVE = re.compile(r"= .*?(all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter)(?:-start)?\(")
OPTIMIZERS = {
    "SGD": lambda parameters: torchlike.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": lambda parameters: torchlike.optim.Adam(parameters, lr=0.01),
}


@pytest.fixture
def puts(monkeypatch):
    """Yield a list that gets what is put on devices."""
    found, put = [], jax.device_put
    monkeypatch.setattr(jax, "device_put", lambda what, *where: (found.append(what), put(what, *where))[1])
    return found


@pytest.fixture
def called(monkeypatch):
    """Yield a list that gets each compiled function that is called, and the looks of its arguments."""
    found, choose = [], xla.Compiled._choose

    def look(each):
        if not isinstance(each, jax.Array):
            return each
        kind = each.aval
        return jax.ShapeDtypeStruct(kind.shape, kind.dtype, sharding=each.sharding, weak_type=kind.weak_type)

    def note(self, given):
        function, homes = choose(self, given)

        def call(*arguments):
            found.append((function, jax.tree.map(look, arguments)))
            return function(*arguments)

        return call, homes

    monkeypatch.setattr(xla.Compiled, "_choose", note)
    return found


def make_step(optimizer, line):
    torchlike.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)).to("jax")
    batch = torchlike.randn(64, 64).to("jax"), torchlike.randint(0, 10, (64,)).to("jax")
    if line is not None:
        replicate(net, device_mesh=line)
        batch = tuple(distribute_tensor(each, line, [Shard(0)]) for each in batch)
    rule = OPTIMIZERS[optimizer](net.parameters())

    def step(x, y):
        rule.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        rule.step()
        return loss.detach()

    captured = torchlike.capture(step)
    for _ in range(5):
        captured(*batch).item()
    assert captured.stats().replays
    return net, rule, batch, captured


@pytest.mark.parametrize("on_mesh", [False, True])
def test_a_replay_moves_nothing(line, on_mesh, puts):
    _, rule, batch, captured = make_step("SGD", line if on_mesh else None)
    puts.clear()
    with jax.transfer_guard("disallow_explicit"):
        losses = [jax.block_until_ready(captured(*batch)._dispatch_data) for _ in range(3)]
    assert not puts
    rule.param_groups[0]["lr"] *= 0.5
    last = captured(*batch).item()
    assert len(puts) == len(puts[0]) == 1
    assert last < float(losses[-1])


@pytest.mark.parametrize("on_mesh", [False, True])
def test_numbers_that_change_each_time_are_put_together(line, on_mesh, puts):
    _, _, batch, captured = make_step("Adam", line if on_mesh else None)
    puts.clear()
    for _ in range(3):
        captured(*batch).item()
    numbers = [each for each in puts if isinstance(each, dict)]
    assert len(numbers) == 3
    assert max(map(len, numbers)) <= 2


def test_another_number_compiles_nothing(line, monkeypatch):
    _, rule, batch, captured = make_step("SGD", line)
    monkeypatch.setattr(xla.Compiled, "trace", lambda *_: pytest.fail("a program is traced again"))
    before = captured(*batch).item()
    for _ in range(3):
        rule.param_groups[0]["lr"] *= 0.5
        last = captured(*batch).item()
    assert last < before


def test_a_step_has_few_collectives(line, called):
    net, _, (x, y), _ = make_step("SGD", line)
    function, looks = called[-1]
    with jax.enable_x64(True):
        found = Counter(COLLECTIVE.findall(function.lower(*looks).compile().as_text()))

    def loss(p, x, y):
        scores = jax.nn.relu(x @ p[0].T + p[1]) @ p[2].T + p[3]
        return -jnp.take_along_axis(jax.nn.log_softmax(scores), y[:, None], 1).mean()

    @jax.jit
    def by_hand(p, x, y):
        value, gradients = jax.value_and_grad(loss)(p, x, y)
        return value, [a - 0.1 * b for a, b in zip(p, gradients, strict=True)]

    p = [each._dispatch_data for each in net.parameters()]
    wanted = Counter(COLLECTIVE.findall(by_hand.lower(p, x._dispatch_data, y._dispatch_data).compile().as_text()))
    assert wanted == {"all-reduce": 1}
    # One for the count of targets that are not ignored, and one for whether they are all right.
    assert found == {"all-reduce": 3}
