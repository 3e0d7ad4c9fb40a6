"""Copies and pickles of sharded modules, and what tensors on a mesh of processes do not answer."""

from __future__ import annotations

import copy
import pickle

import pytest

import torchlike
from torchlike import nn
from torchlike.distributed.fsdp import FSDPModule, FullyShardedDataParallel, fully_shard
from torchlike.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh


@pytest.fixture
def mesh():
    return init_device_mesh("cpu", (1,), mesh_dim_names=("data",))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_a_sharded_module_is_copied_whole(mesh, copied):
    torchlike.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    fully_shard(net[0], mesh=mesh)
    fully_shard(net, mesh=mesh)
    other, x = copied(net), torchlike.ones(2, 4)
    assert type(other) is type(net)
    assert isinstance(other[0], FSDPModule)
    assert [each.placements for each in other.parameters()] == [each.placements for each in net.parameters()]
    other(x).sum().backward()
    assert all(each.grad is None for each in net.parameters())
    net(x).sum().backward()
    for one, two in zip(net.parameters(), other.parameters(), strict=True):
        assert torchlike.equal(one.grad.full_tensor(), two.grad.full_tensor())
        assert one is not two


def test_a_mesh_is_flattened():
    mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "model"))
    found = mesh._flatten()
    assert (found.mesh_dim_names, found.shape, found.mesh.tolist()) == (("data_model",), (1,), [0])
    assert mesh._flatten("all").mesh_dim_names == ("all",)


def test_the_older_form_is_refused_with_the_newer_one():
    with pytest.raises(NotImplementedError, match="fully_shard"):
        FullyShardedDataParallel(nn.Linear(2, 2))


def test_what_a_part_does_not_answer_is_said(mesh):
    x = distribute_tensor(torchlike.ones(4), mesh, [Shard(0)])
    with pytest.raises(RuntimeError, match=r"tolist\(\) is not supported for a tensor on a mesh[\s\S]*full_tensor"):
        x.tolist()
    with pytest.raises(TypeError, match=r"numpy\(\) is not supported for a tensor on a mesh"):
        x.numpy()
    index = distribute_tensor(torchlike.tensor([0, 1]), mesh, [Replicate()])
    with pytest.raises(RuntimeError, match=r"aten::embedding: got mixed torch\.Tensor and DTensor"):
        nn.functional.embedding(index, torchlike.ones(5, 3))
