"""Gradient descent that keeps the average of its points."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..tensors.tensor import Tensor
from .numbers import make_number, read_number, round_number, write_number
from .optimizer import Optimizer
from .settings import check_settings, collect_settings


class ASGD(Optimizer):
    """Averaged gradient descent (Polyak and Juditsky, 1992; source: ``torch.optim.ASGD``), to ``state["ax"]``."""

    _zeros = ("ax",)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        settings = collect_settings(locals())
        check_settings(settings, "lr weight_decay")
        super().__init__(params, settings)

    def make_state(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        numbers = {"eta": make_number(read_number(group["lr"])), "mu": make_number(1.0)}
        return {**numbers, **super().make_state(param, grad, group)}

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float, lr: Any
    ) -> None:
        lambd, eta, mu, average = group["lambd"], read_number(state["eta"]), read_number(state["mu"]), state["ax"]
        param.mul_(1 - lambd * eta)
        param.add_(grad, alpha=-eta)
        if mu == 1:
            average.copy_(param)
        else:
            average.add_(param.sub(average).mul_(mu))
        write_number(state, "eta", round_number(read_number(lr / ((1 + lambd * lr * step) ** group["alpha"]))))
        write_number(state, "mu", round_number(1 / max(1, step - group["t0"])))
