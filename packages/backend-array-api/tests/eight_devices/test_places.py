"""Where tensors lie on eight devices: by name, by what they are made like, and once they have been written to."""

from __future__ import annotations

import copy
import io

import jax
import numpy as np
import pytest
from placed_writes import CAPTURED, CUT, MESH, WRITES, place, placements

import dispatch_core as dc
import torchlike as torch
from dispatch_aten.errors import DimensionError
from dispatch_aten.placements import DeviceMesh, PlacementError, Replicate, Shard
from dispatch_aten.placements.operators import placement_of

nn = torch.nn


def is_committed(tensor):
    return dc.frontends.materialize(tensor).committed


@pytest.fixture
def plain():
    return torch.arange(32.0, device="jax").reshape(8, 4)


@pytest.fixture
def placed(plain):
    return place(plain, MESH, *CUT)


def test_devices_have_numbers():
    made = torch.ones(3, device="jax:3")
    assert str(made.device) == str((made + 1).device) == str(torch.zeros_like(made).device) == "jax:3"
    assert str(torch.ones(3, device="jax").device) == str(torch.zeros(2).to("jax").device) == "jax"
    assert str(torch.zeros(2).to("jax:1").device) == str(made.to("jax:1").device) == "jax:1"
    assert made.to("jax") is made
    for factory in (torch.zeros, torch.empty, torch.rand, torch.arange):
        assert str(factory(2, device="jax:5").device) == "jax:5"
    with torch.device("jax:2"):
        assert str(torch.ones(2).device) == "jax:2"
    with pytest.raises(dc.BackendUnavailableError, match=r"'jax:8'.* there are 8"):
        torch.ones(2, device="jax:8")


def test_what_the_default_device_makes_joins_any_mesh(plain, placed):
    assert not is_committed(plain)
    assert str((plain[0] + torch.ones(4, device="jax:0")).device) == "jax:0"
    assert placements(plain + placed) == CUT


def test_a_tensor_on_several_devices_says_where(placed):
    assert str(placed.device) == "jax"
    text = " ".join(repr(placed).split())
    assert "device='jax', placements=(Shard(dim=0), Shard(dim=1)), mesh=DeviceMesh((data=2, model=4), 'jax')" in text
    assert "placements" not in repr(torch.ones(2, device="jax:1"))
    assert str(placed.to("jax:0").device) == "jax:0"
    assert placed.to("jax") is placed


def test_tensors_that_lie_apart_are_refused_by_name(plain, placed):
    one, other = torch.ones(8, 4, device="jax:1"), torch.ones(8, 4, device="jax:2")
    with pytest.raises(dc.DeviceMismatchError, match="jax:1 and jax:2"):
        one + other
    with pytest.raises(PlacementError, match=r"aten::add.Tensor: the arrays lie apart: on jax:1; .* on DeviceMesh"):
        one + placed
    turned = DeviceMesh("jax", np.arange(8)[::-1].reshape(2, 4), mesh_dim_names=("data", "model"))
    with pytest.raises(PlacementError, match=r"\[\[7, 6, 5, 4\], \[3, 2, 1, 0\]\]"):
        place(plain, turned, *CUT) * placed
    with pytest.raises(PlacementError, match="lie apart"), dc.pipeline():
        _kept = one * placed + 1
    np.testing.assert_array_equal((place(plain, MESH["model"], Shard(1)) + placed).cpu(), 2 * plain.cpu())


def grad_of(x):
    leaf = x.detach().requires_grad_()
    (leaf.sum() * 2).backward()
    return leaf.grad


LIKE = {
    **{
        name: getattr(torch, name) for name in "zeros_like ones_like empty_like rand_like randn_like clone sign".split()
    },
    "full_like": lambda x: torch.full_like(x, 2),
    "randint_like": lambda x: torch.randint_like(x, 5),
    "new_zeros": lambda x: x.new_zeros(8, 4),
    "new_ones": lambda x: x.new_ones(8, 4),
    "new_full": lambda x: x.new_full((8, 4), 3),
    "new_empty": lambda x: x.new_empty(8, 4),
    "double": lambda x: x.double(),
    "deepcopy": copy.deepcopy,
    "grad": grad_of,
}


@pytest.mark.parametrize("name", LIKE)
@pytest.mark.parametrize("block", ["eager", "pipeline"])
def test_what_is_made_like_a_tensor_lies_as_it_does(name, block, placed):
    if block == "eager":
        made = LIKE[name](placed)
    else:
        with dc.pipeline():
            made = LIKE[name](placed)
    assert placements(made) == CUT


def test_another_shape_has_no_place(placed):
    assert placement_of(placed.new_zeros(3)) is None


@pytest.mark.parametrize(
    ("block", "name"),
    [(block, name) for block in ("eager", "pipeline") for name in WRITES] + [("captured", name) for name in CAPTURED],
)
def test_what_is_written_keeps_its_place(block, name, plain):
    write, wanted, x = WRITES[name], plain.clone(), place(plain, MESH, *CUT)
    torch.manual_seed(0)
    write(wanted, plain)
    torch.manual_seed(0)
    if block == "eager":
        write(x, plain)
    elif block == "pipeline":
        with dc.pipeline():
            write(x, plain)
    else:
        captured = dc.capture(lambda x, y: (write(x, y), None)[1])
        for _ in range(3):
            x = place(plain, MESH, *CUT)
            captured(x, plain)
        assert captured.stats().replays
    assert placements(x) == CUT
    np.testing.assert_allclose(x.cpu(), wanted.cpu(), rtol=1e-6)


def test_a_captured_function_follows_the_places_that_it_is_given(plain):
    captured = dc.capture(lambda x, total: total.add_(x.sum(0)) * 1)
    ways = [(Replicate(), Replicate())] * 3 + [
        (Replicate(), Shard(0)),
        (Shard(0), Replicate()),
        (Replicate(), Shard(0)),
    ]
    for way in ways:
        total = place(torch.zeros(4, device="jax"), MESH, *way)
        made = captured(place(plain, MESH, *CUT), total)
        assert placements(total) == way
        np.testing.assert_array_equal(made.cpu(), plain.cpu().sum(0))
    assert captured.stats().variants == 1
    on_one = torch.zeros(4, device="jax:1")
    captured(plain.to("jax:1"), on_one)
    assert str(on_one.device) == "jax:1"


def test_a_pipeline_makes_tensors_on_the_devices_that_are_named():
    with dc.pipeline():
        two, five = torch.ones(3, device="jax:2"), torch.ones(3, device="jax:5").add_(1)
        more, plain = two * 2 + torch.ones(3, device="jax:2"), torch.ones(3, device="jax") + 1
    assert [str(each.device) for each in (two, five, more, plain)] == ["jax:2", "jax:5", "jax:2", "jax"]
    assert more.tolist() == [3, 3, 3]


def test_arrays_on_explicit_axes_become_those_on_auto_axes(plain, placed):
    mesh = jax.sharding.Mesh(
        np.array(jax.devices()).reshape(2, 4), ("data", "model"), axis_types=(jax.sharding.AxisType.Explicit,) * 2
    )
    array = dc.frontends.materialize(plain)
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data", "model"))
    explicit = dc.wrap_like(plain, jax.device_put(array, sharding))
    assert placements(explicit) == CUT
    assert explicit.view(4, 8).tolist() == plain.view(4, 8).tolist()
    assert placements(explicit + placed) == CUT
    with dc.pipeline():
        found = explicit.view(4, 8) + 1
    assert found.tolist() == (plain.view(4, 8) + 1).tolist()


def test_a_model_is_loaded_where_it_lies():
    net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16)).to("jax")
    net[0].weight = nn.Parameter(place(net[0].weight.detach(), MESH, Shard(0), Shard(1)))
    net[1].running_mean = place(net[1].running_mean, MESH, Replicate(), Shard(0))
    optimizer = torch.optim.Adam(net.parameters())

    def step():
        optimizer.zero_grad()
        net(torch.ones(4, 8, device="jax")).sum().backward()
        optimizer.step()

    def where():
        state = [value for each in optimizer.state.values() for value in each.values() if value.dim()]
        return [placements(each) for each in (*net.state_dict().values(), *state)]

    step()
    before = where()
    assert before.count(CUT) == 3  # the weight, and its averages
    file = io.BytesIO()
    torch.save([net.state_dict(), optimizer.state_dict()], file)
    file.seek(0)
    for states in (torch.load(file, map_location="cpu"), copy.deepcopy([net.state_dict(), optimizer.state_dict()])):
        net.load_state_dict(states[0])
        optimizer.load_state_dict(states[1])
        assert where() == before
    step()
    assert where() == before
    assert placements(copy.deepcopy(net)[0].weight) == CUT


def test_indices_are_checked_on_several_devices():
    scores, target = torch.ones(8, 3, device="jax"), torch.tensor([0, 1, 2, 7] * 2).to("jax")
    with pytest.raises(DimensionError, match="Target 7 is out of bounds"):
        nn.functional.cross_entropy(
            place(scores, MESH, Shard(0), Replicate()), place(target, MESH, Shard(0), Replicate())
        )
