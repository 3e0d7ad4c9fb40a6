"""Captured functions with tensors over several processes: their collectives are steps, which replays call in order."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from ranks_in_threads import ENGINE, run_ranks
from test_placed_tensors import full, place
from test_placed_training import CUT, STEPS, Block, place_model

import torchlike as torch
from torchlike.distributed.fsdp import fully_shard
from torchlike.distributed.tensor import DeviceMesh, Replicate, Shard

F = torch.nn.functional


def make_step(model: Any, kind: str) -> Any:
    optimizer = (
        torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        if kind == "SGD"
        else torch.optim.Adam(model.parameters(), lr=0.01)
    )

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss.detach()

    return step


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("way", ["data", "tensor", "sharded", "both"])
def test_captured_training_is_eager_training(way: str, kind: str) -> None:
    torch.manual_seed(3)
    model = Block().double()
    batches = [(torch.randint(0, 10, (8, 5)), torch.randint(0, 4, (8,))) for _ in range(2)]
    single = copy.deepcopy(model)
    plain = make_step(single, kind)
    expected = [float(plain(*batches[step % 2])) for step in range(STEPS)]

    def run(mesh: DeviceMesh) -> Any:
        lay: list[Any] = [Replicate() if way == "tensor" else Shard(0), *[Replicate()] * (mesh.ndim - 1)]
        if way == "sharded":
            made = copy.deepcopy(model)
            fully_shard(made, mesh=mesh)
            rank, count = mesh.get_rank(), mesh.size()
            there = [(x.chunk(count)[rank], y.chunk(count)[rank]) for x, y in batches]
        else:
            made = place_model(model, mesh, {} if way == "data" else CUT)
            there = [(place(x, mesh, lay), place(y, mesh, lay)) for x, y in batches]
        step = torch.capture(make_step(made, kind))
        losses = [float(full(step(*there[number % 2]))) for number in range(STEPS)]
        assert step.stats().replays > STEPS // 2
        for one, other in zip(made.parameters(), single.parameters(), strict=True):
            np.testing.assert_allclose(full(one.detach()).numpy(), other.detach().numpy(), 1e-11, 1e-12)
        return losses

    found = run_ranks((2, 2) if way == "both" else (2,), run)
    np.testing.assert_allclose(np.mean(found, 0), expected, 1e-12)


def test_a_replay_calls_the_collectives_whose_results_nothing_reads() -> None:
    def run(mesh: DeviceMesh) -> Any:
        group = mesh.get_group(0)

        @torch.capture
        def function(x: Any) -> Any:
            torch.ops.dispatch.all_reduce(x, "max", group)
            return torch.ops.dispatch.all_reduce_(x * 2, "sum", group)

        made = [function(torch.ones(3) * (mesh.get_rank() + number)).tolist() for number in range(5)]
        assert function.stats().replays >= 2
        return made

    ENGINE.calls.clear()
    expected = [[2.0 * (2 * number + 1)] * 3 for number in range(5)]
    assert run_ranks((2,), run) == [expected] * 2
    assert ENGINE.calls == ["all_reduce"] * 10


def test_a_replay_is_for_tensors_that_lie_as_they_did() -> None:
    def run(mesh: DeviceMesh) -> Any:
        @torch.capture
        def function(x: Any) -> Any:
            return x.sum()

        x = torch.arange(6.0)
        ways = [Shard(0), Replicate(), Shard(0), Replicate(), Shard(0), Replicate()]
        return [float(function(place(x + number, mesh, [way])).full_tensor()) for number, way in enumerate(ways)]

    assert run_ranks((2,), run) == [[15.0 + 6 * number for number in range(6)]] * 2
