"""Train a transformer whose layers are cut over 8 devices, and go on from its checkpoint with another mesh.

    python examples/train_sharded.py

The devices are JAX's; a CPU has as many virtual ones as the program asks for. Batches are cut along one dimension of the
mesh, the layers' weights along the other one (`parallelize_module`). Half of the steps run on a mesh of 2 x 4 devices, the
other half, from the checkpoint, on one of 4 x 2. The losses are those of one device.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")  # before JAX is imported

import torchlike as torch
from torchlike import Tensor, nn
from torchlike.distributed import checkpoint
from torchlike.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torchlike.distributed.tensor import DeviceMesh, Replicate, Shard, distribute_tensor, init_device_mesh
from torchlike.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

WIDTH, HEADS, LENGTH, CLASSES = 32, 4, 12, 10


class Block(nn.Module):
    """Attention and a feed-forward network, each added to its input."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """Return the input with the results of attention and network added."""
        batch, length, _ = x.shape
        normed = self.first(x)
        parts = (layer(normed) for layer in (self.query, self.key, self.value))
        query, key, value = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in parts)
        found = nn.functional.scaled_dot_product_attention(query, key, value)
        x = x + self.out(found.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(nn.functional.gelu(self.up(self.second(x))))


#: How a block's layers are cut: by columns where their outputs go on in parts, by rows where these are summed.
PLAN = {
    **{f"*.{name}": ColwiseParallel() for name in ("query", "key", "value", "up")},
    **{f"*.{name}": RowwiseParallel() for name in ("out", "down")},
}


def make_model() -> nn.Module:
    """Make two blocks and a classifier, the same ones each time."""
    torch.manual_seed(0)
    return nn.Sequential(Block(), Block(), nn.Flatten(), nn.Linear(LENGTH * WIDTH, CLASSES))


def make_batch() -> tuple[Tensor, Tensor]:
    """Make sequences with labels."""
    torch.manual_seed(1)
    return torch.randn(16, LENGTH, WIDTH), torch.randint(0, CLASSES, (16,))


def train(
    model: nn.Module, optimizer: torch.optim.Optimizer, inputs: Tensor, labels: Tensor, steps: int
) -> list[float]:
    """Train for some steps, each as one program; return the losses."""

    @torch.capture
    def step(inputs: Tensor, labels: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss

    return [step(inputs, labels).item() for _ in range(steps)]


def train_on(mesh: DeviceMesh, steps: int, folder: Path, *, resume: bool) -> list[float]:
    """Train the model on a mesh, from the checkpoint if ``resume``, and write one."""
    model = parallelize_module(make_model().to("jax"), mesh["model"], PLAN)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    inputs, labels = (distribute_tensor(each, mesh, [Shard(0), Replicate()]) for each in make_batch())
    weight = model[0].up.weight
    print(f"{mesh}: batches are {inputs.placements}, the weight of the first network {weight.placements}")
    parts, states = get_state_dict(model, optimizer)
    if resume:
        state = {"model": parts, "optimizer": states}
        checkpoint.load(state, checkpoint_id=folder)
        set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    losses = train(model, optimizer, inputs, labels, steps)
    parts, states = get_state_dict(model, optimizer)
    checkpoint.save({"model": parts, "optimizer": states}, checkpoint_id=folder)
    return losses


def main() -> None:
    """Train on one device and on two meshes, and compare the losses."""
    parser = argparse.ArgumentParser(description="Train a transformer that is cut over 8 devices.")
    parser.add_argument("--steps", type=int, default=20, help="batches to train on (default: 20)")
    steps = parser.parse_args().steps
    model = make_model()
    alone = train(model, torch.optim.Adam(model.parameters(), lr=0.01), *make_batch(), steps)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "checkpoint"
        sizes = {(2, 4): steps // 2, (4, 2): steps - steps // 2}
        found: list[float] = []
        for size, count in sizes.items():
            mesh = init_device_mesh("jax", size, mesh_dim_names=("data", "model"))
            found += train_on(mesh, count, folder, resume=bool(found))
    for number, (one, other) in enumerate(zip(alone, found, strict=True), 1):
        print(f"step {number:>2}  one device {one:.6f}  8 devices {other:.6f}")
    print(f"largest difference {max(abs(one - other) for one, other in zip(alone, found, strict=True)):.1e}")


if __name__ == "__main__":
    main()
