"""Adam and its relatives: steps scaled by running means of gradients and of their squares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from .at_once import step_adam
from .numbers import make_number, multiply, read_number, to_plain, write_number
from .optimizer import Optimizer
from .settings import check_pair, check_settings, collect_settings


class Adam(Optimizer):
    """Steps scaled by running means of gradients and their squares (Kingma and Ba, 2015; source: ``torch.optim.Adam``)."""

    _zeros = ("exp_avg", "exp_avg_sq")
    _instead = ", please consider SparseAdam instead"
    _at_once = step_adam

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float | Tensor = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        settings = collect_settings(locals())
        check_pair(betas, "betas")
        tensors = {"lr": lr, "betas[0]": betas[0], "betas[1]": betas[1]}
        for name, value in tensors.items():
            if isinstance(value, Tensor):
                if foreach and not capturable:
                    raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
                if value.numel() != 1:
                    raise ValueError(f"Tensor {name} must be 1-element")
        check_settings(settings, "lr eps betas weight_decay")
        if not (
            all(isinstance(beta, float) for beta in betas[:2]) or all(isinstance(beta, Tensor) for beta in betas[:2])
        ):
            raise ValueError("betas must be either both floats or both Tensors")
        super().__init__(params, {**settings, "betas": tuple(to_plain(beta) for beta in betas)})

    def make_state(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        made = super().make_state(param, grad, group)
        if group["amsgrad"]:
            made["max_exp_avg_sq"] = FUNCTIONS["zeros_like"](param)
        return made

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float, lr: Any
    ) -> None:
        (beta1, beta2), eps, mean, square = group["betas"], group["eps"], state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        if isinstance(beta2, Tensor) and beta2.requires_grad:
            square.lerp_(grad.square(), 1 - group["betas"][1])
        else:
            square.mul_(beta2).addcmul_(grad, grad, value=1 - read_number(beta2))
        # A recorded step computes with the number of steps as a tensor, in its own precision, as torch does.
        at: Any = state["step"] if group["differentiable"] else step
        size, root = lr / (1 - beta1**at), (1 - beta2**at) ** 0.5
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            square = largest.copy_(
                FUNCTIONS["maximum"](largest.clone() if group["differentiable"] else largest, square)
            )
        if group["differentiable"]:
            param.addcdiv_(mean.clone(), (square.sqrt() / (root * -size)).add_(eps / -size))
        else:
            scale = square.sqrt().div_(read_number(root)).add_(eps)
            param.addcdiv_(mean, scale, value=-read_number(size))


class AdamW(Adam):
    """Adam whose weight decay is no part of the gradient (Loshchilov and Hutter, 2019; source: ``torch.optim.AdamW``)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float | Tensor = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(**collect_settings(locals()), params=params, decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


class Adamax(Optimizer):
    """Adam with the largest gradient instead of the mean of squares (source: ``torch.optim.Adamax``)."""

    _zeros = ("exp_avg", "exp_inf")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        settings = collect_settings(locals())
        check_settings(settings, "lr eps betas weight_decay")
        super().__init__(params, settings)

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float, lr: Any
    ) -> None:
        (beta1, beta2), mean, largest = group["betas"], state["exp_avg"], state["exp_inf"]
        mean.lerp_(grad, 1 - beta1)
        largest.copy_(FUNCTIONS["maximum"](largest * beta2, grad.abs().add_(group["eps"])))
        param.addcdiv_(mean, largest, value=-read_number(lr / (1 - beta1**step)))


class NAdam(Optimizer):
    """Adam with Nesterov's momentum (Dozat, 2016; source: ``torch.optim.NAdam``)."""

    _zeros = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        settings = collect_settings(locals())
        check_settings(settings, "lr eps betas weight_decay momentum_decay")
        super().__init__(params, settings)

    def make_state(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"mu_product": make_number(1.0), **super().make_state(param, grad, group)}

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float, lr: Any
    ) -> None:
        (beta1, beta2), decay = group["betas"], group["momentum_decay"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mu, mu_next = (beta1 * (1.0 - 0.5 * (0.96 ** (at * decay))) for at in (step, step + 1))
        product = multiply(state, "mu_product", mu)
        write_number(state, "mu_product", product)
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        scale = square.div(1 - beta2**step).sqrt()
        now, ahead = -lr * (1.0 - mu) / (1.0 - product), -lr * mu_next / (1.0 - product * mu_next)
        if group["differentiable"]:
            scale = scale.add(group["eps"])
            param.addcdiv_(grad * now, scale)
            param.addcdiv_(mean * ahead, scale)
        else:
            scale.add_(group["eps"])
            param.addcdiv_(grad, scale, value=read_number(now))
            param.addcdiv_(mean, scale, value=read_number(ahead))


class RAdam(Optimizer):
    """Adam whose first steps are rectified (Liu et al., 2020; source: ``torch.optim.RAdam``)."""

    _zeros = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        settings = collect_settings(locals())
        check_settings(settings, "lr eps betas weight_decay")
        super().__init__(params, settings)

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float, lr: Any
    ) -> None:
        (beta1, beta2), mean, square = group["betas"], state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction = 1 - beta2**step
        change = mean / (1 - beta1**step) * lr
        # The length of the average, at its longest and now.
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * (beta2**step) / correction
        if length > 5.0:
            root = square.sqrt()
            root = root.add(group["eps"]) if group["differentiable"] else root.add_(group["eps"])
            rectified = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            change = change * (correction**0.5 / root) * rectified**0.5
        param.add_(change, alpha=-1.0)
