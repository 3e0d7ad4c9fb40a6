"""Training on a mesh equals training on one device: data-parallel, tensor-parallel, and with parameters in parts."""

from __future__ import annotations

import numpy as np
import pytest

import torchlike
from torchlike.distributed import checkpoint
from torchlike.distributed._composable import replicate
from torchlike.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torchlike.distributed.fsdp import FSDPModule, fully_shard
from torchlike.distributed.tensor import Replicate, Shard, distribute_module, distribute_tensor
from torchlike.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

STEPS = 20
OPTIMIZERS = {
    "SGD": lambda parameters: torchlike.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": lambda parameters: torchlike.optim.Adam(parameters, lr=0.01),
}


def make():
    torchlike.manual_seed(0)
    return torchlike.nn.Sequential(torchlike.nn.Linear(16, 32), torchlike.nn.GELU(), torchlike.nn.Linear(32, 10))


def batch():
    random = np.random.default_rng(0)
    return torchlike.tensor(random.standard_normal((32, 16), np.float32)), torchlike.tensor(random.integers(0, 10, 32))


def train(net, optimizer, x, y, steps=STEPS, around=lambda step: step):
    def step(x, y):
        optimizer.zero_grad()
        loss = torchlike.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        torchlike.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return loss

    run = around(step)
    return [run(x, y).item() for _ in range(steps)]


@pytest.fixture(scope="module")
def expected():
    """Return the losses of one device, by optimizer."""
    nets = {name: make() for name in OPTIMIZERS}
    return {name: train(net, OPTIMIZERS[name](net.parameters()), *batch()) for name, net in nets.items()}


def fsdp(net, line, grid):
    fully_shard(net, mesh=line)
    return line, [Shard(0)]


def data_parallel(net, line, grid):
    replicate(net, device_mesh=line)
    return line, [Shard(0)]


def tensor_parallel(net, line, grid):
    parallelize_module(net, grid["model"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    return grid, [Shard(0), Replicate()]


def hybrid(net, line, grid):
    fully_shard(net, mesh=grid)
    return grid, [Shard(0), Shard(0)]


def by_hand(net, line, grid):
    def cut(name, module, mesh):
        if name == "0":
            module.weight = torchlike.nn.Parameter(distribute_tensor(module.weight, mesh, [Shard(0)]))

    distribute_module(net, line, cut)
    return line, [Replicate()]


def plan_and_parts(net, line, grid):
    found = tensor_parallel(net, line, grid)
    fully_shard(net, mesh=grid["data"])
    return found


STYLES = [fsdp, data_parallel, tensor_parallel, hybrid, by_hand, plan_and_parts]
AROUND = {"eager": lambda step: step, "captured": torchlike.capture}
#: Those that run each time; the others take as long as all the rest.
FIRST = {
    ("SGD", "captured", "fsdp"),
    ("Adam", "captured", "tensor_parallel"),
    ("SGD", "eager", "hybrid"),
    ("Adam", "eager", "data_parallel"),
    ("SGD", "captured", "by_hand"),
    ("Adam", "captured", "plan_and_parts"),
}
CASES = [
    pytest.param(name, around, style, marks=() if (name, around, style.__name__) in FIRST else pytest.mark.long)
    for name in OPTIMIZERS
    for around in AROUND
    for style in STYLES
]


@pytest.mark.parametrize(("name", "kind", "style"), CASES)
def test_losses_equal_those_of_one_device(line, grid, expected, name, kind, style):
    losses, around = expected[name], AROUND[kind]
    net = make().to("jax")
    mesh, placements = style(net, line, grid)
    before = [each.placements for each in net.parameters()]
    x, y = (distribute_tensor(each, mesh, placements) for each in batch())
    found = train(net, OPTIMIZERS[name](net.parameters()), x, y, around=around)
    assert np.abs(np.array(found) - losses).max() < 1e-5
    assert [each.placements for each in net.parameters()] == before
    assert [each.grad.placements for each in net.parameters()] == before


def test_parameters_that_no_dimension_of_fits_are_whole(line):
    net = fully_shard(make().to("jax"), mesh=line)
    assert [each.placements for each in net.parameters()] == [(Shard(0),), (Shard(0),), (Shard(1),), (Replicate(),)]
    assert isinstance(net, FSDPModule)
    assert type(net).__name__ == "FSDPSequential"
    with pytest.raises(ValueError, match="has taken this FSDPSequential already"):
        fully_shard(net, mesh=line)


def test_parameters_of_a_plan_are_cut_along_the_rest_of_the_mesh(line, grid):
    net = make().to("jax")
    plan_and_parts(net, line, grid)
    assert [each.placements for each in net.parameters()] == [
        (Shard(1), Shard(0)),
        (Replicate(), Shard(0)),
        (Shard(0), Shard(1)),
        (Shard(0), Replicate()),
    ]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_checkpoint_is_resumed_on_another_mesh(line, grid, tmp_path, name):
    net = make()
    losses = train(net, OPTIMIZERS[name](net.parameters()), *batch(), steps=12)
    net = fully_shard(make().to("jax"), mesh=line)
    optimizer = OPTIMIZERS[name](net.parameters())
    x, y = (distribute_tensor(each, line, [Shard(0)]) for each in batch())
    found = train(net, optimizer, x, y, steps=6)
    model, states = get_state_dict(net, optimizer)
    checkpoint.save({"model": model, "optimizer": states, "step": 6}, checkpoint_id=tmp_path / "six")

    net = make().to("jax")
    tensor_parallel(net, line, grid)
    optimizer = OPTIMIZERS[name](net.parameters())
    model, states = get_state_dict(net, optimizer)
    state = {"model": model, "optimizer": states, "step": 0}
    checkpoint.load(state, checkpoint_id=tmp_path / "six")
    assert state["step"] == 6
    set_state_dict(net, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    x, y = (distribute_tensor(each, grid, [Shard(0), Replicate()]) for each in batch())
    found += train(net, optimizer, x, y, steps=6)
    assert np.abs(np.array(found) - losses).max() < 1e-5


def test_a_checkpoint_that_does_not_fit_changes_nothing(line, tmp_path):
    net = fully_shard(make().to("jax"), mesh=line)
    checkpoint.save({"model": net.state_dict(), "step": 1}, checkpoint_id=tmp_path / "one")
    state = {"model": {"0.weight": torchlike.zeros(32, 16), "2.weight": torchlike.zeros(3)}, "step": 0}
    with pytest.raises(
        checkpoint.CheckpointException, match=r"'model.2.weight' has shape \(10, 32\) there and \(3,\) here"
    ):
        checkpoint.load(state, checkpoint_id=tmp_path / "one")
    assert (state["step"], state["model"]["0.weight"].abs().sum().item()) == (0, 0)
    for call, text in {
        lambda: checkpoint.load({}, checkpoint_id=tmp_path): "is no whole checkpoint",
        lambda: checkpoint.load({"nothing": 1}, checkpoint_id=tmp_path / "one"): "it has no value 'nothing'",
        lambda: checkpoint.save({}): "no folder was named",
    }.items():
        with pytest.raises(checkpoint.CheckpointException, match=text):
            call()


def test_a_checkpoint_is_written_while_the_program_goes_on(line, tmp_path):
    net = fully_shard(make().to("jax"), mesh=line)
    before = net[0].weight.detach().cpu().tolist()
    written = checkpoint.async_save({"model": net.state_dict()}, checkpoint_id=tmp_path / "now")
    with torchlike.no_grad():
        net[0].weight.zero_()
    written.result()
    state = {"model": net.state_dict()}
    checkpoint.load(state, checkpoint_id=tmp_path / "now")
    assert net[0].weight.cpu().tolist() == before
