"""Half-Cauchy distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.half_cauchy"  # see Note [Public paths]

import math

import torchlike
from torchlike import Tensor

from ..transforms import AbsTransform
from .cauchy import Cauchy
from .half_normal import HalfDistribution


class HalfCauchy(HalfDistribution):
    """Absolute values of Cauchy ones with median zero (source: ``torch.distributions.HalfCauchy``)."""

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return torchlike.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return super().log_prob(torchlike.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))
