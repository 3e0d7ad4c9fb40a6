"""Adam for sparse gradients: steps where the gradient has elements, and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ..tensors.tensor import Tensor
from .numbers import read_number
from .optimizer import Optimizer
from .settings import check_settings, collect_settings


class SparseAdam(Optimizer):
    """Adam that moves only where a gradient has elements (source: ``torch.optim.SparseAdam``).

    Raises ``RuntimeError`` for gradients that are not sparse, ``ValueError`` for parameters that are.

    >>> import torchlike
    >>> rows = torchlike.nn.Embedding(3, 1, sparse=True)
    >>> optimizer = SparseAdam(rows.parameters(), lr=0.5)
    >>> before = rows.weight.detach().clone()
    >>> rows(torchlike.tensor([2])).sum().backward()
    >>> optimizer.step()
    >>> before - rows.weight.detach()
    tensor([[0.0000],
            [0.0000],
            [0.5000]])
    """

    _counts = False
    _zeros = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        settings = collect_settings(locals())
        check_settings(settings, "lr eps betas")
        for name, value in (("learning rate", lr), ("epsilon value", eps)):
            if value == 0:
                raise ValueError(f"Invalid {name}: {value}")
        super().__init__(params, settings)
        refused: dict[str, tuple[str, Callable[[Tensor], bool]]] = {
            "Sparse": ("requires dense parameter tensors", lambda param: param.is_sparse),
            "Complex": ("does not support complex parameters", lambda param: param.is_complex()),
        }
        for what, (why, is_wrong) in refused.items():
            wrong = [
                [number, place]
                for number, group in enumerate(self.param_groups)
                for place, param in enumerate(group["params"])
                if is_wrong(param)
            ]
            if wrong:
                raise ValueError(f"{what} params at indices {wrong}: SparseAdam {why}")

    def _check_layout(self, grad: Tensor, group: dict[str, Any]) -> None:
        if not grad.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")

    def make_state(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": 0, **super().make_state(param, grad, group)}

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float, lr: Any
    ) -> None:
        from ..sparse.tensor import record_of, replace_values  # few programs have sparse gradients

        state["step"] += 1
        grad = grad.coalesce()
        record, values = record_of(grad), grad.values()
        if not values.numel():
            return
        moments = []
        for name, new, beta in zip(self._zeros, (values, values**2), group["betas"], strict=True):
            old = state[name].sparse_mask(grad).values()
            change = new.sub(old).mul_(1 - beta)
            state[name].add_(replace_values(record, change))
            moments.append(change.add_(old))
        mean, square = moments
        first, second = (1 - beta ** state["step"] for beta in group["betas"])
        size = read_number(lr) * math.sqrt(second) / first
        param.add_(replace_values(record, mean.div_(square.sqrt_().add_(group["eps"])).mul_(-size)))
