"""What the jobs share: the values that one prints, a few steps of training, and Lightning, which has two names."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

__all__ = ["report", "train", "train_by_lightning", "weights"]


def report(**values: Any) -> None:
    """Print a job's values as the last line, tensors as lists of numbers; of several processes the first one does."""
    if os.environ.get("RANK", "0") == "0":
        print(json.dumps(_plain(values)), flush=True)  # noqa: T201  # a job is a program


def weights(module: torch.nn.Module) -> dict[str, float]:
    """Return the sum of each parameter, in double precision: sums of random weights tell one draw from another."""
    return {name: parameter.detach().double().sum().item() for name, parameter in module.named_parameters()}


def train(
    loss: Callable[[], torch.Tensor], parameters: Any, steps: int = 3, *, lr: float = 0.1, **options: Any
) -> list[float]:
    """Take steps of gradient descent, and return the loss before each."""
    optimizer = torch.optim.SGD(parameters, lr=lr, **options)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


def train_by_lightning(L: Any) -> None:
    """Train a module by the trainer of Lightning, under either of its names, read the checkpoint back, and report."""

    class Net(L.LightningModule):
        """A small network that notes its losses."""

        def __init__(self, width: int = 8) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.layers = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))
            self.losses: list[float] = []

        def training_step(self, batch: Any, number: int) -> torch.Tensor:
            loss = torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1])
            self.log("loss", loss)
            self.losses.append(loss.item())
            return loss

        def validation_step(self, batch: Any, number: int) -> None:
            self.log("checked", torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1]))

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.Adam(self.parameters(), lr=0.01)

    rows = TensorDataset(torch.randn(16, 4), torch.randn(16, 1))
    net = Net()
    first = weights(net)
    with tempfile.TemporaryDirectory() as folder:
        trainer = L.Trainer(
            max_epochs=1,
            accelerator="cpu",
            devices=1,
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=folder,
        )
        trainer.fit(net, DataLoader(rows, 4, shuffle=True), DataLoader(rows, 8))
        trainer.save_checkpoint(f"{folder}/net.ckpt")
        again = Net.load_from_checkpoint(f"{folder}/net.ckpt", weights_only=False)
    checked = trainer.callback_metrics["checked"]
    report(first=first, losses=net.losses, checked=checked, last=weights(net), same=weights(again) == weights(net))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)
