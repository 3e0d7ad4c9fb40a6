"""Steps along the gradient, and steps by its signs alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from .at_once import step_sgd
from .numbers import read_number
from .optimizer import Optimizer
from .settings import check_settings, collect_settings


class SGD(Optimizer):
    """Gradient descent, with momentum (source: ``torch.optim.SGD``).

    >>> import torchlike
    >>> w = torchlike.tensor([1.], requires_grad=True)
    >>> optimizer = SGD([w], lr=0.1)
    >>> (w * 3).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.7000], requires_grad=True)
    """

    _counts = False
    _takes_sparse = True
    _at_once = step_sgd

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        settings = collect_settings(locals())
        check_settings(settings, "lr momentum weight_decay")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, settings)

    def _has_state(self, group: dict[str, Any]) -> bool:
        return bool(group["momentum"] != 0)

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float, lr: Any
    ) -> None:
        momentum = group["momentum"]
        if momentum:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        if isinstance(lr, Tensor) and lr.requires_grad:
            param.addcmul_(grad, lr, value=-1)
        else:
            param.add_(grad, alpha=-read_number(lr))


class Rprop(Optimizer):
    """Steps of each element's own size, by the signs of its gradients (Riedmiller, 1993; source: ``torch.optim.Rprop``)."""

    _zeros = ("prev",)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        settings = collect_settings(locals())
        check_settings(settings, "lr")
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, settings)

    def make_state(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr = read_number(group["lr"])
        size = FUNCTIONS["full_like"](grad, complex(lr, lr) if param.is_complex() else lr)
        return {**super().make_state(param, grad, group), "step_size": size}

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float, lr: Any
    ) -> None:
        where, prev, size = FUNCTIONS["where"], state["prev"], state["step_size"]
        shrink, grow = group["etas"]
        sign = grad.mul(prev.clone() if group["differentiable"] else prev).sign()
        one = FUNCTIONS["full_like"](sign, 1)
        factor = where(sign > 0, one * grow, where(sign < 0, one * shrink, one))
        size.mul_(factor).clamp_(*group["step_sizes"])
        grad = grad.masked_fill(sign < 0, 0)
        param.addcmul_(grad.sign(), size, value=-1)
        prev.copy_(grad)
