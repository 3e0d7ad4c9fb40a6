"""Files of tensors on a mesh: checkpoints in parts, of which a process reads its own."""

from __future__ import annotations

import tracemalloc

import pytest
from placed_writes import MESH, place, placements

import torchlike as torch
from dispatch_aten.placements import Replicate, Shard
from torchlike.distributed import checkpoint
from torchlike.distributed.checkpoint import reading
from torchlike.distributed.tensor import init_device_mesh

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
    assert most < nbytes // 4
    assert torch.equal(state["x"].cpu(), saved.cpu())


def test_a_replicated_tensor_is_read_once(tmp_path, monkeypatch):
    mesh = init_device_mesh("jax", (8,))
    checkpoint.save({"x": torch.arange(8.0)}, checkpoint_id=tmp_path / "one")
    read, own = [], reading._Reader.read
    monkeypatch.setattr(reading._Reader, "read", lambda self, *args: (read.append(args[2:]), own(self, *args))[1])
    state = {"x": place(torch.zeros(8, device="jax"), mesh, Replicate())}
    checkpoint.load(state, checkpoint_id=tmp_path / "one")
    assert (read, state["x"].tolist()) == ([((0,), (8,))], list(range(8)))
