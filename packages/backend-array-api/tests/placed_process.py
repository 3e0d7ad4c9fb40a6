"""One of two processes that work on one mesh of four devices: ``python placed_process.py NUMBER PORT``."""

import io
import os
import sys

if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax

if __name__ == "__main__":
    jax.distributed.initialize(f"127.0.0.1:{sys.argv[2]}", 2, int(sys.argv[1]))

# JAX is told of the other process before anything computes.
import numpy as np
from placed_training import PLANS, place, placements, train

import torchlike as torch
from dispatch_aten.errors import DimensionError
from dispatch_aten.placements import DeviceMesh, Shard


def check_reads(mesh):
    x = torch.arange(8.0, device="jax").reshape(4, 2)
    placed = place(x, mesh, Shard(0))
    assert not placed._dispatch_data.is_fully_addressable
    assert placed.tolist() == x.tolist() == torch.as_tensor(placed.cpu().numpy()).tolist()
    assert placed[2, 1].item() == 5
    assert "placements=(Shard(dim=0),)" in repr(placed)
    file = io.BytesIO()
    torch.save(placed, file)
    file.seek(0)
    assert torch.load(file).tolist() == x.tolist()
    assert str(torch.ones(2, device="jax:1").device) == "jax:1"
    assert torch.jax.device_count() == 2


def check_indices(mesh):
    table, index = torch.nn.Embedding(5, 3).to("jax"), place(torch.tensor([0, 4, 2, 1]).to("jax"), mesh, Shard(0))
    assert placements(table(index)) is not None
    try:
        table(index + 1)
    except (DimensionError, IndexError):
        return
    raise AssertionError("an index out of range was not refused")


def check_draws(mesh):
    found = []
    for each in (torch.ones(8, 4, device="jax"), place(torch.ones(8, 4).to("jax"), mesh, Shard(0))):
        torch.manual_seed(7)
        drop = torch.capture(lambda x: torch.nn.functional.dropout(x, 0.5) + torch.rand_like(x))
        found.append([drop(each).tolist() for _ in range(4)] + [torch.randn_like(each).tolist()])
    assert found[0] == found[1]


def check_training(mesh):
    is_whole = os.environ.get("DISPATCH_DRAWN_SHARE") == "1"
    first = {("SGD", "capture"), ("Adam", "pipeline")}  # the others take as long again, several times
    for optimizer in ("SGD", "Adam"):
        wanted = train(None, mesh, optimizer, "eager")
        for block in ("eager", "pipeline", "capture"):
            for plan in PLANS if is_whole else [*PLANS][-1:] if (optimizer, block) in first else ():
                found = train(plan, mesh, optimizer, block)
                np.testing.assert_allclose(found.losses, wanted.losses, rtol=1e-5)
                for one, other in zip(found.parameters, wanted.parameters, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    four = DeviceMesh("jax", np.arange(4), mesh_dim_names=("data",))
    check_reads(four)
    check_indices(four)
    check_draws(four)
    check_training(four)
    print("all is well")
