"""Checkpoints of one process: what they keep, and what a folder that is not whole is answered with."""

from __future__ import annotations

import json

import pytest

import torchlike
from torchlike import nn, optim
from torchlike.distributed import checkpoint
from torchlike.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)

OPTIMIZERS = {
    "SGD": lambda parameters: optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.1),
    "Adam": lambda parameters: optim.Adam(parameters, lr=0.1, weight_decay=0.1),
    "Rprop": optim.Rprop,
    "ASGD": optim.ASGD,
}


def make(name):
    torchlike.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    return net, OPTIMIZERS[name](net.parameters())


def train(net, optimizer, steps=3):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = net(torchlike.ones(2, 3)).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_taking_the_state_of_an_optimizer_that_has_not_stepped_changes_no_training(name):
    net, optimizer = make(name)
    expected = train(net, optimizer)
    net, optimizer = make(name)
    states = get_optimizer_state_dict(net, optimizer)
    assert {*states["state"]} == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert not optimizer.state
    assert train(net, optimizer) == expected


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_goes_on_from_a_checkpoint_as_if_it_had_not_stopped(name, tmp_path):
    net, optimizer = make(name)
    train(net, optimizer)
    model, states = get_state_dict(net, optimizer)
    checkpoint.save({"model": model, "optimizer": states, "step": 3}, checkpoint_id=tmp_path / "three")
    expected = train(net, optimizer)

    net, optimizer = make(name)
    model, states = get_state_dict(net, optimizer)
    state = {"model": model, "optimizer": states, "step": 0}
    checkpoint.load(state, checkpoint_id=tmp_path / "three")
    set_state_dict(net, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    assert (state["step"], train(net, optimizer)) == (3, expected)


def test_several_optimizers_have_their_own_groups():
    net, _ = make("SGD")
    pair = [OPTIMIZERS["SGD"](net[0].parameters()), OPTIMIZERS["Adam"](net[2].parameters())]
    states = get_optimizer_state_dict(net, pair)
    assert [each["params"] for each in states["param_groups"]] == [["0.weight", "0.bias"], ["2.weight", "2.bias"]]
    set_optimizer_state_dict(net, pair, states)
    with pytest.raises(ValueError, match=r"the optimizer has no parameter '2\.bias'"):
        set_optimizer_state_dict(net, pair[::-1][1:], {"state": {}, "param_groups": states["param_groups"][1:]})


def test_frozen_parameters_may_be_left_out():
    net, _ = make("SGD")
    net[0].weight.requires_grad_(False)
    found = checkpoint.state_dict.get_model_state_dict(net, options=StateDictOptions(ignore_frozen_params=True))
    assert [*found] == ["0.bias", "2.weight", "2.bias"]


def change_index(folder, **changes):
    index = json.loads((folder / "part-0.json").read_text())
    index["weight"]["parts"][0] |= changes
    (folder / "part-0.json").write_text(json.dumps(index))


@pytest.mark.parametrize("file", ["missing.safetensors", "../outside.safetensors"])
def test_a_checkpoint_reads_the_files_of_its_folder_and_no_others(file, tmp_path):
    torchlike.save({"weight": torchlike.ones(2)}, tmp_path / "outside.safetensors", format="safetensors")
    checkpoint.save({"weight": torchlike.ones(2)}, checkpoint_id=tmp_path / "one")
    change_index(tmp_path / "one", file=file)
    state = {"weight": torchlike.zeros(2)}
    with pytest.raises(checkpoint.CheckpointException, match="is no whole checkpoint: there is no file"):
        checkpoint.load(state, checkpoint_id=tmp_path / "one")
    assert state["weight"].tolist() == [0, 0]


def test_an_object_gives_its_state_and_takes_it(tmp_path):
    net, _ = make("SGD")
    checkpoint.save({"net": net}, checkpoint_id=tmp_path / "one")
    other = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    checkpoint.load({"net": other}, checkpoint_id=tmp_path / "one")
    assert torchlike.equal(other[2].weight, net[2].weight)


def test_names_that_a_checkpoint_has_not_may_be_left(tmp_path):
    checkpoint.save({"a": torchlike.ones(2), "n": 3}, checkpoint_id=tmp_path / "one")
    state = {"a": torchlike.zeros(2), "b": torchlike.zeros(1), "m": 5, "n": 0}
    with pytest.raises(checkpoint.CheckpointException, match="it has no tensor 'b'"):
        checkpoint.load(state, checkpoint_id=tmp_path / "one")
    checkpoint.load(
        state, checkpoint_id=tmp_path / "one", planner=checkpoint.DefaultLoadPlanner(allow_partial_load=True)
    )
    assert (state["a"].tolist(), state["b"].tolist(), state["m"], state["n"]) == ([1, 1], [0], 5, 3)


def test_a_reader_tells_what_a_checkpoint_has(tmp_path):
    writer = checkpoint.FileSystemWriter(tmp_path / "one")
    checkpoint.save({"a": torchlike.ones(2, 3), "n": 3}, storage_writer=writer, planner=checkpoint.DefaultSavePlanner())
    found = checkpoint.FileSystemReader(tmp_path / "one").read_metadata().state_dict_metadata
    assert (found["a"].size, found["a"].properties.dtype) == ((2, 3), torchlike.float32)
    assert [(each.offsets, each.sizes) for each in found["a"].chunks] == [((0, 0), (2, 3))]
    assert isinstance(found["n"], checkpoint.BytesStorageMetadata)


def test_planners_of_a_program_are_refused(tmp_path):
    class Own(checkpoint.DefaultSavePlanner):
        pass

    with pytest.raises(NotImplementedError, match="a planner of class Own"):
        checkpoint.save({}, checkpoint_id=tmp_path / "one", planner=Own())
    assert not (tmp_path / "one").exists()


def test_objects_with_a_state_are_known():
    assert isinstance(nn.Linear(1, 1), checkpoint.stateful.Stateful)
    assert not isinstance({}, checkpoint.stateful.Stateful)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_flat_state_of_an_optimizer_is_its_state(name):
    net, optimizer = make(name)
    train(net, optimizer)
    flat = get_optimizer_state_dict(net, optimizer, options=StateDictOptions(flatten_optimizer_state_dict=True))
    assert flat["param_groups.2.bias.lr"] == optimizer.param_groups[0]["lr"]
    assert all(type(each) is not dict for each in flat.values())
    kept = {name: each.clone() if hasattr(each, "clone") else each for name, each in flat.items()}
    copied = [each.detach().clone() for each in net.parameters()]
    expected = train(net, optimizer)

    net, optimizer = make(name)
    for each, values in zip(net.parameters(), copied, strict=True):
        each.data.copy_(values)
    set_optimizer_state_dict(net, optimizer, kept)
    assert train(net, optimizer) == expected
    changed = kept | {"param_groups.2.bias.lr": 7.0}
    with pytest.raises(RuntimeError, match="the same saved param_group value"):
        set_optimizer_state_dict(net, optimizer, changed)


def test_options_that_do_not_fit_and_states_that_lack_something_are_refused():
    with pytest.raises(ValueError, match="full_state_dict must be True when broadcast_from_rank0"):
        StateDictOptions(broadcast_from_rank0=True)
    net, optimizer = make("Adam")
    train(net, optimizer)
    states = get_optimizer_state_dict(net, optimizer)
    del states["state"]["0.bias"]
    with pytest.raises(RuntimeError, match=r"Missing optimizer state for parameter '0\.bias'"):
        set_optimizer_state_dict(net, optimizer, states)
    set_optimizer_state_dict(net, optimizer, states, options=StateDictOptions(strict=False))


def test_states_of_parts_of_a_model_have_its_names_or_their_own():
    net, _ = make("SGD")
    assert [*get_model_state_dict(net, submodules={net[2]})] == ["2.weight", "2.bias"]
    own = StateDictOptions(keep_submodule_prefixes=False)
    assert [*get_model_state_dict(net, submodules={net[2]}, options=own)] == ["weight", "bias"]
