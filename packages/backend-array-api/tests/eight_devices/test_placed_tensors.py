"""Tensors on meshes of jax's devices, by torch's names."""

from __future__ import annotations

import numpy as np
import pytest

import torchlike
from torchlike import nn
from torchlike.distributed import tensor as placed
from torchlike.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, init_device_mesh
from torchlike.distributed.tensor.parallel import ColwiseParallel, SequenceParallel, parallelize_module

PLACEMENTS = [
    [Shard(0), Replicate()],
    [Replicate(), Shard(1)],
    [Shard(0), Shard(1)],
    [Shard(0), Shard(0)],
    [Replicate(), Replicate()],
]


def numbers(*shape):
    return torchlike.arange(float(np.prod(shape))).reshape(shape)


@pytest.mark.parametrize("before", PLACEMENTS)
@pytest.mark.parametrize("after", PLACEMENTS)
def test_a_tensor_is_redistributed_with_its_gradient(grid, before, after):
    x = distribute_tensor(numbers(8, 8).requires_grad_(), grid, before)
    assert (x.requires_grad, x.is_leaf, isinstance(x, DTensor)) == (True, True, True)
    y = x.redistribute(placements=after)
    assert (x.placements, y.placements, y.device_mesh) == (tuple(before), tuple(after), grid)
    whole = y.full_tensor()
    assert not isinstance(whole, DTensor)
    assert whole.tolist() == numbers(8, 8).tolist()
    (whole * whole).sum().backward()
    assert x.grad.placements == x.placements
    assert x.grad.tolist() == (2 * numbers(8, 8)).tolist()


def test_a_part_of_a_mesh_is_the_mesh_whole_along_the_rest(grid):
    x = distribute_tensor(numbers(8, 8), grid["model"], [Shard(1)])
    assert (x.device_mesh, x.placements) == (grid, (Replicate(), Shard(1)))
    assert (grid["model"].shape, grid["model"].root, grid.size("model")) == ((4,), grid, 4)
    other = distribute_tensor(numbers(8, 8), grid, [Shard(0), Replicate()])
    assert (x @ other).tolist() == (numbers(8, 8) @ numbers(8, 8)).tolist()


def test_parts_of_this_process(grid):
    x = distribute_tensor(numbers(8, 4), grid, [Shard(0), Shard(1)])
    assert x.to_local().tolist() == numbers(8, 4).tolist()
    part = numbers(8, 4).to("jax").requires_grad_()
    y = DTensor.from_local(part, grid, [Shard(0), Replicate()])
    assert (y.placements, y.shape) == ((Shard(0), Replicate()), (8, 4))
    (y * y).sum().backward()
    assert part.grad.tolist() == (2 * numbers(8, 4)).tolist()
    assert DTensor.from_local(numbers(8), grid, [Partial(), Replicate()]).placements == (Replicate(), Replicate())


@pytest.mark.parametrize("make", ["empty", "ones", "rand", "randn", "zeros"])
def test_factories_place_what_they_make(grid, make):
    x = getattr(placed, make)(8, 4, device_mesh=grid, placements=[Shard(0), Shard(1)], requires_grad=True)
    assert (x.placements, x.shape, x.requires_grad) == ((Shard(0), Shard(1)), (8, 4), True)
    assert placed.full((8,), 2, device_mesh=grid).tolist() == [2] * 8


def test_a_block_of_a_mesh_gives_it_to_functions(grid, line):
    with grid, line:
        assert distribute_tensor(numbers(8)).device_mesh == line
    with pytest.raises(ValueError, match="there is no mesh"):
        distribute_tensor(numbers(8))


def test_what_cannot_be_placed_is_refused_by_name(grid, line):
    x = distribute_tensor(numbers(8, 8), grid, [Shard(0), Replicate()])
    calls = {
        "Sharding dim 3 greater than tensor ndim 1": lambda: distribute_tensor(
            numbers(8), grid, [Shard(3), Replicate()]
        ),
        "Found placements length: 1, and device_mesh.ndim: 2": lambda: distribute_tensor(numbers(8), grid, [Shard(0)]),
        "dimension 0 of size 3 cannot be cut in 8 equal parts": lambda: distribute_tensor(numbers(3), line, [Shard(0)]),
        "has device 19, and there are 8 of jax": lambda: init_device_mesh("jax", (20,)),
        "redistributing to Partial is for internal use only": lambda: x.redistribute(
            placements=[Partial(), Replicate()]
        ),
        "has parts that are to be summed": lambda: distribute_tensor(numbers(8), line, [Partial()]),
        "lies on .* already": lambda: distribute_tensor(x, line, [Replicate()]),
        "is no placement": lambda: distribute_tensor(numbers(8), line, [0]),
        "placements are needed": lambda: x.redistribute(line),
        "from_local: the tensor lies on a mesh already": lambda: DTensor.from_local(x, grid, [Shard(0), Replicate()]),
        "should have same length": lambda: init_device_mesh("jax", (8,), mesh_dim_names=("a", "b")),
        "must be unique": lambda: init_device_mesh("jax", (2, 2), mesh_dim_names=("a", "a")),
        "a mesh is made of devices of a type": lambda: init_device_mesh("jax:1", (1,)),
        "no groups of processes": line.get_group,
    }
    for text, call in calls.items():
        with pytest.raises(ValueError, match=text):
            call()
    with pytest.raises(KeyError, match="Valid mesh_dim_names are"):
        grid["width"]
    with pytest.raises(AttributeError, match="has no attribute 'placements'"):
        _ = numbers(2).placements
    with pytest.raises(TypeError, match="DTensor is not called"):
        DTensor(numbers(2))


def test_meshes_are_equal_by_what_they_are(grid):
    again = init_device_mesh("jax", (2, 4), mesh_dim_names=("data", "model"))
    assert (again, hash(again), again["data"]) == (grid, hash(grid), grid["data"])
    assert grid != init_device_mesh("jax", (2, 4), mesh_dim_names=("model", "data"))
    assert (grid.mesh.tolist(), grid.ndim, grid.device_type) == ([[0, 1, 2, 3], [4, 5, 6, 7]], 2, "jax")
    assert repr(grid) == "DeviceMesh((data=2, model=4), 'jax')"


def test_a_style_that_does_not_fit_names_the_module(line):
    net = nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 3)).to("jax")
    with pytest.raises(ValueError, match=r"in the module '1', Linear: dimension 0 of size 3 cannot be cut"):
        parallelize_module(net, line, {"1": ColwiseParallel()})
    parallelize_module(net, line, {"0": SequenceParallel()})
    with pytest.raises(ValueError, match=r"in the module '0', LayerNorm: dimension 1 of size 3 cannot be cut"):
        net(torchlike.ones(2, 3, 3, device="jax"))
