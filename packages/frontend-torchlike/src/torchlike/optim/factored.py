"""Optimizers for matrices: a factored second moment, and orthogonal steps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from ..values.dtypes import finfo
from .numbers import read_number
from .optimizer import Optimizer
from .settings import collect_settings


def _require(wanted: bool, message: str) -> None:
    if not wanted:
        raise ValueError(message)


class Adafactor(Optimizer):
    """Steps scaled by squares that are kept by rows and columns (Shazeer, 2018; source: ``torch.optim.Adafactor``)."""

    _decays = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        _require(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
        _require(bool(lr >= 0.0), f"Learning rate should be >= 0 but is: {lr}")
        _require(beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if not isinstance(eps, (list, tuple)) or len(eps) != 2:
            raise TypeError(f"eps takes two numbers, but got {eps!r}")
        _require(eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}")
        _require(eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}")
        _require(d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}")
        _require(bool(weight_decay >= 0.0), f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, collect_settings(locals()))

    def make_state(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        if grad.dim() <= 1:
            return {"variance": FUNCTIONS["zeros_like"](grad)}
        rows, columns = list(grad.shape), list(grad.shape)
        rows[-1] = columns[-2] = 1
        return {"row_var": grad.new_zeros(rows), "col_var": grad.new_zeros(columns)}

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float, lr: Any
    ) -> None:
        lr = read_number(lr)
        eps1, eps2 = group["eps"]
        eps1 = finfo(param.dtype).eps if eps1 is None else eps1
        weight = step ** group["beta2_decay"]
        alpha = max(eps2, param.norm(2).item() / param.numel() ** 0.5) * min(lr, 1 / step**0.5)
        if group["weight_decay"]:
            param.mul_(1 - lr * group["weight_decay"])
        if grad.dim() > 1:
            for name, dim in (("row_var", -1), ("col_var", -2)):
                mean = grad.norm(dim=dim, keepdim=True).square_().div_(grad.size(dim))
                state[name].lerp_(mean, weight)
            estimate = state["row_var"] @ state["col_var"]
            estimate.div_(state["row_var"].mean(dim=-2, keepdim=True).clamp_(min=eps1))
        else:
            state["variance"].lerp_(grad * grad, weight)
            estimate = state["variance"].clone()
        change = estimate.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        scale = max(1.0, change.norm(2).item() / (change.numel() ** 0.5 * group["d"]))
        param.add_(change, alpha=-alpha / scale)


def _orthogonalize(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Return a matrix of nearly orthogonal rows or columns, by iterations of Newton and Schulz in bfloat16."""
    _require(steps < 100, "Number of steps must be less than 100 for computational efficiency")
    _require(matrix.dim() == 2, "Input tensor gradient must be a 2D matrix")
    _require(len(coefficients) == 3, "Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    is_tall = matrix.size(0) > matrix.size(1)
    found = matrix.bfloat16()
    if is_tall:
        found = found.T
    found.div_(found.norm().clamp(min=eps))
    for _ in range(steps):
        gram = found @ found.T
        found = FUNCTIONS["addmm"](found, FUNCTIONS["addmm"](gram, gram, gram, beta=b, alpha=c), found, beta=a)
    return found.T if is_tall else found


class Muon(Optimizer):
    """Momentum whose steps are made orthogonal, for matrices (Jordan, 2024; source: ``torch.optim.Muon``)."""

    _counts, _decays = False, False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        _require(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
        _require(bool(lr >= 0.0), f"Learning rate should be >= 0 but is: {lr}")
        _require(momentum >= 0.0, f"momentum should be >= 0 but is: {momentum}")
        _require(bool(weight_decay >= 0.0), f"weight decay should be >= 0 but is: {weight_decay}")
        _require(
            adjust_lr_fn in (None, "original", "match_rms_adamw"),
            f"Adjust learning rate function {adjust_lr_fn} is not supported",
        )
        super().__init__(params, collect_settings(locals()))
        for param in self._each_param():
            _require(
                param.dim() == 2,
                f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}",
            )

    def make_state(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        return {"momentum_buffer": FUNCTIONS["zeros_like"](grad)}

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float, lr: Any
    ) -> None:
        lr, momentum, buffer = read_number(lr), group["momentum"], state["momentum_buffer"]
        buffer.lerp_(grad, 1 - momentum)
        change = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        change = _orthogonalize(change, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = param.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            ratio = 0.2 * math.sqrt(max(rows, columns))
        else:
            ratio = math.sqrt(max(1, rows / columns))
        param.mul_(1 - lr * group["weight_decay"])
        param.add_(change, alpha=-lr * ratio)
