"""Draw a pipeline's recording of one training step of the digits example's model, and print its counts.

    python examples/pipeline_graph.py step.svg     # or .dot, .mmd, .html, .txt
    python examples/pipeline_graph.py --optimizer SGD docs/digits_step.svg

The images are random ones of the digits' shape, so that nothing needs to be downloaded or installed.
"""

from __future__ import annotations

import argparse
import sys

from train_digits import CLASSES, make_model

import dispatch_core as dc
import torchlike
from torchlike import Tensor, nn
from torchlike.nn import functional as F  # noqa: N812  # torch's own abbreviation

PIXELS, BATCH, HIDDEN = 64, 64, 128


def training_step(model: nn.Module, optimizer: torchlike.optim.Optimizer, images: Tensor, labels: Tensor) -> Tensor:
    """Take one training step, as the example does for each batch."""
    loss = F.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def main() -> int:
    """Record a step, save its graph, run it."""
    parser = argparse.ArgumentParser(description="Draw one training step of the digits example.")
    parser.add_argument("path", help="where to; the suffix says in which form")
    parser.add_argument("--optimizer", choices=("Adam", "SGD"), default="Adam")
    arguments = parser.parse_args()
    path = arguments.path
    torchlike.manual_seed(0)
    model = make_model(PIXELS, HIDDEN, "cpu")
    optimizer = getattr(torchlike.optim, arguments.optimizer)(model.parameters(), lr=3e-3)
    images, labels = torchlike.rand(BATCH, PIXELS), torchlike.randint(0, CLASSES, (BATCH,))
    # The first step makes the optimizer's state; from the second on all steps are alike.
    training_step(model, optimizer, images, labels)
    with dc.pipeline() as pipe:
        loss = training_step(model, optimizer, images, labels)
        try:
            pipe.graph().save(path)
        except dc.ArgumentError as error:
            print(f"pipeline_graph: {error}", file=sys.stderr)
            return 2
    print(f"loss {loss.item():.4f}\n{pipe.stats()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
