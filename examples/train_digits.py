"""Train a small classifier on the UCI handwritten digits, on a device found as a plugin.

    python examples/train_digits.py                  # trains on the cpu, ends above 96 %
    python examples/train_digits.py --pipeline       # the same numbers, each step recorded and run as a whole
    python examples/train_digits.py --capture        # the same numbers, each step recorded twice, and replayed from then on
    python examples/train_digits.py --device meta    # shows shapes and memory, computes nothing

Needs scikit-learn, which carries the 1,797 images, and tqdm.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import dispatch_core as dc
import torchlike
from torchlike import Tensor, nn
from torchlike.nn import functional as F  # noqa: N812  # torch's own abbreviation

CLASSES = 10


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Train a digit classifier through torchlike.")
    parser.add_argument("--device", default="cpu", help="cpu (default), meta for a dry run, or any installed plugin's")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training images (default: 30)")
    parser.add_argument("--batch-size", type=int, default=64, help="images per step (default: 64)")
    parser.add_argument("--hidden", type=int, default=128, help="units of the hidden layer (default: 128)")
    parser.add_argument("--seed", type=int, default=0, help="of the split, the weights and the order (default: 0)")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--pipeline", action="store_true", help="record each training step, then run it as a whole")
    ways.add_argument("--capture", action="store_true", help="record a training step of each shape, then replay it")
    arguments = parser.parse_args()
    for name in ("epochs", "batch_size", "hidden"):
        if getattr(arguments, name) < 1:
            parser.error(f"argument --{name.replace('_', '-')}: must be at least 1")
    return arguments


def make_model(inputs: int, hidden: int, device: str) -> nn.Sequential:
    """Make a network of one hidden layer."""
    return nn.Sequential(nn.Linear(inputs, hidden, device=device), nn.ReLU(), nn.Linear(hidden, CLASSES, device=device))


def load_digits(device: str, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the images and labels to train on, and the fifth that is held out."""
    from sklearn.datasets import load_digits as read
    from sklearn.model_selection import train_test_split

    images, labels = read(return_X_y=True)
    parts = train_test_split(
        images.astype("float32") / 16, labels.astype("int64"), test_size=0.2, random_state=seed, stratify=labels
    )
    train_images, test_images, train_labels, test_labels = (torchlike.from_numpy(part).to(device) for part in parts)
    return train_images, train_labels, test_images, test_labels


def accuracy(model: nn.Module, images: Tensor, labels: Tensor) -> float:
    """Return the share of images whose label the model finds."""
    with torchlike.no_grad():
        right: Any = (model(images).argmax(dim=1) == labels).sum()
    return float(right) / len(labels)


def make_step(model: nn.Module, optimizer: Any) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the function of a batch that makes one training step and returns the loss."""

    def step(images: Tensor, labels: Tensor) -> Tensor:
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def train_epoch(
    model: nn.Module,
    optimizer: Any,
    images: Tensor,
    labels: Tensor,
    batch_size: int,
    pipe: Any = None,
    step: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> Iterator[Tensor]:
    """Take the images in a random order, and yield the loss of every batch; ``pipe`` records the calls."""
    step = step or make_step(model, optimizer)
    order = torchlike.randperm(len(images)).to(images.device)
    for batch in order.split(batch_size):
        loss = step(images[batch], labels[batch])
        if pipe is not None:
            pipe.flush()
        yield loss


def train(arguments: argparse.Namespace) -> None:
    """Train, and report accuracy, backend and the operators called most."""
    from tqdm import tqdm

    device = arguments.device
    torchlike.manual_seed(arguments.seed)
    images, labels, test_images, test_labels = load_digits(device, arguments.seed)
    model = make_model(images.shape[1], arguments.hidden, device)
    optimizer = torchlike.optim.Adam(model.parameters(), lr=3e-3)
    step: Any = make_step(model, optimizer)
    if arguments.capture:
        step = torchlike.capture(step)
    steps = -(-len(images) // arguments.batch_size)
    loss = torchlike.zeros(())
    block = torchlike.pipeline() if arguments.pipeline else nullcontext()
    started = time.perf_counter()
    with (
        # While operators are profiled, a captured function runs them one by one.
        nullcontext() if arguments.capture else dc.profile(record_shapes=False) as profile,
        tqdm(total=arguments.epochs * steps, unit="step", disable=None) as progress,
        block as pipe,
    ):
        for epoch in range(arguments.epochs):
            losses = train_epoch(model, optimizer, images, labels, arguments.batch_size, pipe, step)
            for loss in losses:  # noqa: B007  # the last one is shown
                progress.update()
            progress.set_description(f"epoch {epoch + 1}/{arguments.epochs}")
            progress.set_postfix(loss=f"{loss.item():.4f}")
    seconds = time.perf_counter() - started
    print(f"accuracy on {len(test_labels)} held-out images: {accuracy(model, test_images, test_labels):.2%}")
    print(f"trained on {len(labels)} images in {seconds:.1f} s, to a loss of {loss.item():.6f}\n")
    if pipe is not None:
        stats = pipe.stats()
        print(f"pipeline: {stats.recorded:,} calls recorded, {sum(stats.eager.values()):,} run at once\n")
    report_backend(device)
    if profile is None:
        stats = step.stats()
        print(f"\ncaptured: {stats.replays:,} steps replayed, {stats.recordings} recorded, {stats.variants} variants")
    else:
        print("\nthe ten operators called most:")
        print(profile.table(row_limit=10))


def dry_run(arguments: argparse.Namespace) -> None:
    """Print the shapes of parameters and activations and the memory they would take; nothing is computed."""
    device = arguments.device
    model = make_model(64, arguments.hidden, device)
    batch: Any = torchlike.empty(arguments.batch_size, 64, device=device)
    rows = [("parameter", name, parameter) for name, parameter in model.named_parameters()]
    rows.append(("activation", "input", batch))
    for name, layer in model.named_children():
        batch = layer(batch)
        rows.append(("activation", f"{name} {type(layer).__name__}", batch))
    total = {"parameter": 0, "activation": 0}
    print(f"{'kind':<12}{'name':<12}{'shape':<16}{'dtype':<10}{'bytes':>10}")
    for kind, name, tensor in rows:
        total[kind] += tensor.nbytes
        print(f"{kind:<12}{name:<12}{tuple(tensor.shape)!s:<16}{tensor.dtype!s:<10}{tensor.nbytes:>10,}")
    # A training step also holds a gradient and Adam's two running means for every parameter.
    print(f"\nparameters  {total['parameter']:>10,} bytes, with gradients and Adam's state {4 * total['parameter']:,}")
    print(f"activations {total['activation']:>10,} bytes for a batch of {arguments.batch_size}\n")
    report_backend(device)


def report_backend(device: str) -> None:
    """Print which backend ran, and which distribution it came from."""
    name = dc.Device.parse(device).type
    state = dc.backends()[name]
    print(f"backend: {name}, key {state.dispatch_key}, from {state.distribution} {state.version}")


def main() -> int:
    """Run; a device that cannot be used ends in one message on stderr and status 2."""
    arguments = parse_arguments()
    try:
        torchlike.empty(0, device=arguments.device)
    except (dc.BackendError, dc.ArgumentError) as error:
        print(f"train_digits: cannot use device {arguments.device!r}: {error}", file=sys.stderr)
        return 2
    if dc.Device.parse(arguments.device).type == "meta":
        dry_run(arguments)
    else:
        train(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
