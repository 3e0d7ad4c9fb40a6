"""Files of tensors on a mesh: checkpoints in parts, of which a process reads its own."""

from __future__ import annotations

import copy
import io
import pickle
import tracemalloc
import warnings

import pytest
from placed_writes import MESH, place, placements

import torchlike as torch
from dispatch_aten.placements import Replicate, Shard
from dispatch_backend_array_api import jax_meshes
from torchlike.distributed import checkpoint
from torchlike.distributed.checkpoint import reading
from torchlike.distributed.tensor import init_device_mesh
from torchlike.tensors.mesh_places import describe_place

WAYS = [(Shard(0), Shard(1)), (Shard(1), Replicate()), (Replicate(), Replicate()), (Shard(0), Shard(0))]
DTYPES = ["float32", "float64", "int64", "bfloat16", "bool", "complex64"]


@pytest.mark.parametrize("before", WAYS)
@pytest.mark.parametrize("after", [*WAYS, None])
def test_a_checkpoint_is_read_on_another_mesh(tmp_path, before, after):
    saved = {
        each: place((torch.arange(128) % 7).reshape(8, 16).to(getattr(torch, each)).to("jax"), MESH, *before)
        for each in DTYPES
    }
    checkpoint.save(saved, checkpoint_id=tmp_path / "one")
    zeros = {each: torch.zeros(8, 16, dtype=getattr(torch, each), device="jax") for each in DTYPES}
    state = {each: zero if after is None else place(zero, MESH, *after) for each, zero in zeros.items()}
    checkpoint.load(state, checkpoint_id=tmp_path / "one")
    for each in DTYPES:
        assert placements(state[each]) == after
        assert torch.equal(state[each].cpu(), saved[each].cpu())


def test_a_tensor_of_another_dtype_is_filled(tmp_path):
    checkpoint.save({"x": torch.arange(16.0).reshape(8, 2)}, checkpoint_id=tmp_path / "one")
    state = {"x": place(torch.zeros(8, 2, dtype=torch.float64, device="jax"), MESH, Shard(0), Replicate())}
    checkpoint.load(state, checkpoint_id=tmp_path / "one")
    assert (state["x"].dtype, state["x"].tolist()) == (torch.float64, torch.arange(16.0).reshape(8, 2).tolist())


def test_the_host_has_a_part_at_a_time(tmp_path, monkeypatch):
    """The host's memory for a tensor is that of one device's part, whatever parts it was saved in."""
    shape, nbytes = (2048, 1024), 2048 * 1024 * 4
    saved = place(torch.rand(shape, device="jax"), MESH, Shard(1), Shard(1))
    checkpoint.save({"x": saved}, checkpoint_id=tmp_path / "one")
    state = {"x": place(torch.zeros(shape, device="jax"), MESH, Shard(0), Shard(0))}
    read, own = [], reading._Reader.read
    monkeypatch.setattr(
        reading._Reader, "read", lambda self, *args: (read.append((made := own(self, *args)).numel() * 4), made)[1]
    )
    tracemalloc.start()
    try:
        checkpoint.load(state, checkpoint_id=tmp_path / "one")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert read == [nbytes // 8] * 8
    assert most < nbytes * 1.2  # the parts, which devices of a CPU keep, and no whole beside them
    assert torch.equal(state["x"].cpu(), saved.cpu())


def test_a_replicated_tensor_is_read_once(tmp_path, monkeypatch):
    mesh = init_device_mesh("jax", (8,))
    checkpoint.save({"x": torch.arange(8.0)}, checkpoint_id=tmp_path / "one")
    read, own = [], reading._Reader.read
    monkeypatch.setattr(reading._Reader, "read", lambda self, *args: (read.append(args[2:]), own(self, *args))[1])
    state = {"x": place(torch.zeros(8, device="jax"), mesh, Replicate())}
    checkpoint.load(state, checkpoint_id=tmp_path / "one")
    assert (read, state["x"].tolist()) == ([((0,), (8,))], list(range(8)))


def save_and_load(value, format, **options):
    file = io.BytesIO()
    torch.save(value, file, format=format)
    file.seek(0)
    return torch.load(file, **options)


FORMATS = ["torch", "safetensors"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("way", WAYS)
def test_a_file_keeps_the_place_of_a_tensor(format, way):
    x = place(torch.arange(128.0).reshape(8, 16).to("jax"), MESH, *way)
    value = {"x": x, "p": torch.nn.Parameter(x + 0), "leaf": (x * 1).requires_grad_(), "plain": torch.ones(2)}
    value["p"].data = x
    found = save_and_load(value, format)
    for name in ("x", "p", "leaf"):
        assert (placements(found[name]), found[name].requires_grad) == (placements(value[name]), name != "x")
        assert torch.equal(found[name].cpu(), value[name].cpu())
        assert type(found[name]) is type(value[name])
    assert not vars(found["x"])
    assert placements(found["x"] @ found["x"].T) is not None


@pytest.mark.parametrize("format", FORMATS)
def test_map_location_chooses_another_place(format):
    x = place(torch.arange(16.0).reshape(8, 2).to("jax"), MESH, Shard(0), Replicate())
    for name in ("cpu", "jax:3"):
        found = save_and_load(x, format, map_location=name)
        assert (str(found.device), placements(found), found.tolist()) == (name, None, x.tolist())


@pytest.mark.parametrize("format", FORMATS)
def test_a_mesh_that_does_not_fit_is_said(format, monkeypatch):
    x = place(torch.arange(16.0).reshape(8, 2).to("jax"), MESH, Shard(0), Replicate())
    file = io.BytesIO()
    torch.save([x, x + 1], file, format=format)
    file.seek(0)
    monkeypatch.setattr("dispatch_backend_array_api.jax_meshes.count", lambda: 4)
    jax_meshes._mesh_of.cache_clear()
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("default")
            found = torch.load(file)
    finally:
        jax_meshes._mesh_of.cache_clear()
    assert len(said) == 1
    assert "has device 7, and there are 4 of jax" in str(said[0].message)
    assert [placements(each) for each in found] == [None, None]
    assert (found[0] + 1).tolist() == found[1].tolist()


@pytest.mark.parametrize(
    "changes",
    [
        {"cut": [3, None]},
        {"cut": [0]},
        {"cut": "x"},
        {"ranks": [[0, 1], [2]]},
        {"ranks": []},
        {"names": [1, 2]},
        {"a": 1},
    ],
)
@pytest.mark.parametrize("format", FORMATS)
def test_a_file_with_a_wrong_place_is_refused(format, changes, monkeypatch):
    x = place(torch.arange(16.0).reshape(8, 2).to("jax"), MESH, Shard(0), Replicate())
    for module in ("files", "torch_files.tensors"):
        monkeypatch.setattr(f"torchlike.serialization.{module}.describe_place", lambda x: describe_place(x) | changes)
    with pytest.raises(ValueError, match=r"cannot be read|is not a safetensors"):
        save_and_load(x, format)


def test_copies_and_pickles_keep_the_place():
    net = torch.nn.Linear(16, 8).to("jax")
    net.weight = torch.nn.Parameter(place(net.weight.detach(), MESH, Shard(0), Shard(1)))
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert placements(other.weight) == (Shard(0), Shard(1))
        assert torch.equal(other.weight.cpu(), net.weight.cpu())
