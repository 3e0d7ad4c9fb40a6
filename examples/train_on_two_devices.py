"""Train a small classifier on the UCI handwritten digits, on two devices of one type, each with half of every batch.

    python examples/train_on_two_devices.py --device npu       # on a simulator where there is none: docs/npu.md
    python examples/train_on_two_devices.py --device opencl    # examples/opencl_backend
    python examples/train_on_two_devices.py --device opencl --pipeline

Each device has the whole network. After backward the gradients of both are added up on the first, and the first's parameters
are copied to the second: the numbers are those of one device with the whole batch, but for the order of their sums.
Needs scikit-learn, which carries the 1,797 images.
"""

from __future__ import annotations

import argparse
import copy
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import dispatch_core as dc
import torchlike
from torchlike import Tensor, nn
from torchlike.nn import functional as F  # noqa: N812  # torch's own abbreviation


def load_digits() -> tuple[Tensor, Tensor]:
    """Return the images and labels, on the host."""
    from sklearn.datasets import load_digits as read

    images, labels = read(return_X_y=True)
    return torchlike.from_numpy(images.astype("float32") / 16), torchlike.from_numpy(labels.astype("int64"))


def make_model(seed: int) -> nn.Sequential:
    """Make a network of one hidden layer on the host."""
    torchlike.manual_seed(seed)
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def block(pipeline: bool) -> AbstractContextManager[Any]:
    """Return the block that a step runs in."""
    return torchlike.pipeline() if pipeline else nullcontext()


def train_step(replicas: list[nn.Module], optimizer: Any, images: Tensor, labels: Tensor) -> Tensor:
    """Make a step in which each replica takes its part of the batch, and return the loss, on the first device."""
    losses = []
    parts = zip(replicas, images.chunk(len(replicas)), labels.chunk(len(replicas)), strict=True)
    for replica, some, their_labels in parts:
        device = next(replica.parameters()).device
        replica.zero_grad()
        loss = F.cross_entropy(replica(some.to(device)), their_labels.to(device), reduction="sum") / len(images)
        loss.backward()
        losses.append(loss.detach())
    first, *others = replicas
    with torchlike.no_grad():
        for mine, *theirs in zip(*(each.parameters() for each in replicas), strict=True):
            for parameter in theirs:
                mine.grad += parameter.grad.to(mine.device)
        optimizer.step()
        for other in others:
            for parameter, mine in zip(other.parameters(), first.parameters(), strict=True):
                parameter.copy_(mine)
    return sum((each.to(losses[0].device) for each in losses[1:]), losses[0])


def train(devices: list[str], epochs: int, *, pipeline: bool = False, seed: int = 0) -> tuple[list[float], nn.Module]:
    """Train on the devices, and return the losses and the network on the first of them."""
    images, labels = load_digits()
    model = make_model(seed)
    replicas = [copy.deepcopy(model).to(device) for device in devices]
    optimizer = torchlike.optim.Adam(replicas[0].parameters(), lr=3e-3)
    losses = []
    for _ in range(epochs):
        for batch in torchlike.randperm(len(images)).split(128):
            with block(pipeline):
                loss = train_step(replicas, optimizer, images[batch], labels[batch])
            losses.append(loss.item())
    return losses, replicas[0]


def main() -> int:
    """Run; a device that cannot be used ends in one message on stderr and status 2."""
    parser = argparse.ArgumentParser(description="Train a digit classifier on two devices through torchlike.")
    parser.add_argument("--device", required=True, help="a type with two devices, such as npu or opencl")
    parser.add_argument("--epochs", type=int, default=4, help="passes over the images (default: 4)")
    parser.add_argument("--pipeline", action="store_true", help="record each training step, then run it as a whole")
    arguments = parser.parse_args()
    devices = [f"{arguments.device}:{index}" for index in range(2)]
    try:
        for device in devices:
            torchlike.empty(0, device=device)
    except (dc.BackendError, dc.ArgumentError) as error:
        print(f"train_on_two_devices: {error}", file=sys.stderr)
        return 2
    expected, _ = train(devices[:1], arguments.epochs)
    losses, model = train(devices, arguments.epochs, pipeline=arguments.pipeline)
    images, labels = (each.to(devices[0]) for each in load_digits())
    right = (model(images).argmax(dim=1) == labels).sum().item()
    most = max(abs(loss - other) / other for loss, other in zip(losses, expected, strict=True))
    print(f"{len(losses)} steps on {' and '.join(devices)}: loss {losses[0]:.4f} to {losses[-1]:.4f}")
    print(f"greatest difference to one device: {most:.1e} of the loss")
    print(f"accuracy on {len(labels)} images: {right / len(labels):.2%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
