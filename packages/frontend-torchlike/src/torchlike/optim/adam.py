"""Adam, and Adam with decoupled weight decay."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..functions import FUNCTIONS
from ..tensors import Tensor
from .optimizer import Optimizer, check_implementation

zeros_like = FUNCTIONS["zeros_like"]


class Adam(Optimizer):
    """Steps scaled by running means of gradients and their squares (Kingma and Ba, 2015; source: ``torch.optim.Adam``)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if eps < 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for number, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {number}: {beta}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        settings: dict[str, Any] = {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay}
        settings |= {"amsgrad": amsgrad, "maximize": maximize, "decoupled_weight_decay": decoupled_weight_decay}
        chosen = check_implementation(
            foreach=foreach, differentiable=differentiable, fused=fused, capturable=capturable
        )
        super().__init__(params, {**settings, **chosen})

    def update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["maximize"]:
            grad = -grad
        lr, (beta1, beta2), decay = group["lr"], group["betas"], group["weight_decay"]
        if decay and group["decoupled_weight_decay"]:
            param.mul_(1 - lr * decay)
        elif decay:
            grad = grad.add(param, alpha=decay)
        if not state:
            names = ["exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else [])]
            # All or nothing: a step that fails for want of memory can be taken again.
            state |= {"step": 0, **{name: zeros_like(param) for name in names}}
        state["step"] += 1
        step, mean, square = state["step"], state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = square = state["max_exp_avg_sq"].maximum(square)
        scale = square.sqrt().div_(math.sqrt(1 - beta2**step)).add_(group["eps"])
        param.addcdiv_(mean, scale, value=-lr / (1 - beta1**step))


class AdamW(Adam):
    """Adam whose weight decay is no part of the gradient (Loshchilov and Hutter, 2019; source: ``torch.optim.AdamW``)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            maximize=maximize,
            foreach=foreach,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
