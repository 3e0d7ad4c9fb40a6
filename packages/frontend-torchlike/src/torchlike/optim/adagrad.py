"""Steps scaled by sums or running means of the gradients' squares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from .numbers import make_number, read_number
from .optimizer import Optimizer
from .settings import check_settings, collect_settings


class Adagrad(Optimizer):
    """Steps scaled by the sum of squares (Duchi et al., 2011; source: ``torch.optim.Adagrad``)."""

    _takes_sparse = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        settings = collect_settings(locals())
        check_settings(settings, "lr lr_decay weight_decay initial_accumulator_value eps")
        super().__init__(params, settings)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param] |= {"step": make_number(0.0), **self.make_state(param, param, group)}

    def make_state(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        start = group["initial_accumulator_value"]
        full = FUNCTIONS["full_like"](param.detach(), complex(start, start) if param.is_complex() else start)
        return {"sum": full}

    def _check_layout(self, grad: Tensor, group: dict[str, Any]) -> None:
        if grad.is_sparse and group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")

    def share_memory(self) -> None:
        """Do nothing: processes that are forked begin with the sums, and others get copies of them."""

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float, lr: Any
    ) -> None:
        total, eps = state["sum"], group["eps"]
        if grad.is_sparse:
            from ..sparse.tensor import replace_values  # few programs have sparse gradients

            grad = grad.coalesce()
            total.add_(grad**2)
            root = total.sparse_mask(grad).values().sqrt_().add_(eps)
            scaled = replace_values(grad._dispatch_data, grad.values() / root)
            param.add_(scaled, alpha=-read_number(lr / (1 + (step - 1) * group["lr_decay"])))
            return
        total.addcmul_(grad, grad, value=1)
        root = total.sqrt() + eps if group["differentiable"] else total.sqrt().add_(eps)
        param.addcdiv_(grad, root, value=-read_number(lr / (1 + (step - 1) * group["lr_decay"])))


class Adadelta(Optimizer):
    """Steps scaled by the running means of the squares of steps and gradients (source: ``torch.optim.Adadelta``)."""

    _zeros = ("square_avg", "acc_delta")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        settings = collect_settings(locals())
        check_settings(settings, "lr rho eps weight_decay")
        super().__init__(params, settings)

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float, lr: Any
    ) -> None:
        rho, eps, square, steps = group["rho"], group["eps"], state["square_avg"], state["acc_delta"]
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        root, delta = square.add(eps).sqrt_(), steps.add(eps).sqrt_()
        if group["differentiable"]:
            delta = delta.clone()
        delta.div_(root).mul_(grad)
        steps.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-read_number(lr))


class RMSprop(Optimizer):
    """Steps scaled by the running mean of squares (Tieleman and Hinton, 2012; source: ``torch.optim.RMSprop``)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        settings = collect_settings(locals())
        check_settings(settings, "lr eps momentum weight_decay alpha")
        super().__init__(params, settings)

    def make_state(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        names = ["square_avg", *["momentum_buffer"][: group["momentum"] > 0], *["grad_avg"][: bool(group["centered"])]]
        return {name: FUNCTIONS["zeros_like"](param) for name in names}

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float, lr: Any
    ) -> None:
        alpha, eps, square = group["alpha"], group["eps"], state["square_avg"]
        square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            mean.lerp_(grad, 1 - alpha)
            root = square.addcmul(mean, mean, value=-1).sqrt_()
        else:
            root = square.sqrt()
        root = root.add(eps) if group["differentiable"] else root.add_(eps)
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"]
            buffer.mul_(group["momentum"]).addcdiv_(grad, root)
            param.add_(buffer, alpha=-read_number(lr))
        else:
            param.addcdiv_(grad, root, value=-read_number(lr))
