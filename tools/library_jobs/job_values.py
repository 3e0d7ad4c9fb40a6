"""What the jobs share: the values that one prints, and a few steps of training."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch

__all__ = ["report", "train", "weights"]


def report(**values: Any) -> None:
    """Print a job's values as the last line, tensors as lists of numbers."""
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


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)
