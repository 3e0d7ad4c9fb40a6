"""Adam for sparse gradients, which there are none of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..tensors import Tensor
from .optimizer import Optimizer
from .settings import check_settings, collect_settings


class SparseAdam(Optimizer):
    """Adam for sparse gradients (source: ``torch.optim.SparseAdam``): all are dense here, which it refuses."""

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
        wrong = [
            [number, place]
            for number, group in enumerate(self.param_groups)
            for place, param in enumerate(group["params"])
            if param.is_complex()
        ]
        if wrong:
            raise ValueError(f"Complex params at indices {wrong}: SparseAdam does not support complex parameters")

    def _update_one(self, param: Tensor, grad: Tensor, group: dict[str, Any], lr: Any) -> None:
        raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
