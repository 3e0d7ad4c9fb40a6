"""Replays on a mesh: they move nothing, compile nothing for another number, and talk as little as a step by hand."""

from __future__ import annotations

import re
from collections import Counter

import jax
import jax.numpy as jnp
import pytest
from replayed_steps import count_transfers, make_step, run_guarded

import torchlike
from dispatch_backend_array_api import xla
from torchlike.distributed.tensor import Shard, distribute_tensor
from torchlike.optim.lr_scheduler import StepLR

COLLECTIVE = re.compile(r"= .*?(all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter)(?:-start)?\(")
#: Those that run each time; the others take as long again.
FIRST = {("MLP", "SGD"), ("MLP", "Adam"), ("GPT", "AdamW")}
CASES = [
    pytest.param(kind, name, marks=() if (kind, name) in FIRST else pytest.mark.long)
    for kind in ("MLP", "GPT")
    for name in ("SGD", "Adam", "AdamW")
]


@pytest.fixture
def called(monkeypatch):
    """Yield a list that gets each compiled function that is called, and the looks of its arguments."""
    found, prepare = [], xla.Compiled.prepare

    def look(each):
        if not isinstance(each, jax.Array):
            return each
        kind = each.aval
        return jax.ShapeDtypeStruct(kind.shape, kind.dtype, sharding=each.sharding, weak_type=kind.weak_type)

    def note(self, values):
        function, *rest = prepare(self, values)

        def call(*arguments):
            found.append((function, jax.tree.map(look, arguments)))
            return function(*arguments)

        return call, *rest

    monkeypatch.setattr(xla.Compiled, "prepare", note)
    return found


@pytest.mark.parametrize("on_mesh", [False, True])
@pytest.mark.parametrize(("kind", "optimizer"), CASES)
def test_a_replay_moves_nothing(line, kind, optimizer, on_mesh, monkeypatch):
    step = make_step(kind, optimizer, line if on_mesh else None, lambda rule: StepLR(rule, 100))
    found = count_transfers(monkeypatch)
    losses = run_guarded(step)
    assert not found
    step.rule.param_groups[0]["lr"] *= 0.5
    last = step.run(*step.batch)
    assert found == {"put": 1}
    assert last.item() < losses[-1]


def test_another_number_compiles_nothing(line, monkeypatch):
    step = make_step("MLP", "SGD", line)
    monkeypatch.setattr(xla.Compiled, "trace", lambda *_: pytest.fail("a program is traced again"))
    before = step.run(*step.batch).item()
    for _ in range(3):
        step.rule.param_groups[0]["lr"] *= 0.5
        last = step.run(*step.batch).item()
    assert last < before


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_step_has_one_collective_more_than_by_hand(line, called, optimizer):
    net, _, _, (x, y), _ = make_step("MLP", optimizer, line)
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
    # One for the count of targets that are not ignored.
    assert found == {"all-reduce": 2}


def test_the_first_wrong_target_of_all_devices_is_named(line):
    """Each device keeps the first error of its own part; who reads gets the first of all, in time and then in place."""
    step = make_step("MLP", "SGD", line)
    x, good = step.batch
    wrong = good.full_tensor().cpu()
    wrong[[3, 40, 41, 63]] = torchlike.tensor([77, 12, 99, 11])
    later = good.full_tensor().cpu()
    later[0] = 55
    wrong, later = (distribute_tensor(each, line, [Shard(0)]) for each in (wrong, later))
    losses = [step.run(x, each) for each in (good, wrong, good, later)]
    with pytest.raises(IndexError, match="Target 77 is out of bounds"):
        losses[-1].item()
    assert torchlike.isfinite(losses[0])
    with pytest.raises(IndexError, match="Target 77 is out of bounds"):
        losses[2].item()
