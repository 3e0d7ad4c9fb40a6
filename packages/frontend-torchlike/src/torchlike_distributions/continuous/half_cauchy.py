"""Half-Cauchy distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.half_cauchy"  # see Note [Public paths]

import math
from typing import Any, ClassVar, Self

import torchlike
from torchlike import Tensor

from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import AbsTransform
from .cauchy import Cauchy


class HalfCauchy(TransformedDistribution):
    """Absolute values of Cauchy ones with median zero (source: ``torch.distributions.HalfCauchy``)."""

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfCauchy, _instance))

    @property
    def scale(self) -> Tensor:
        """The half width."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return torchlike.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def mode(self) -> Tensor:
        return torchlike.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = torchlike.as_tensor(value, dtype=self.base_dist.scale.dtype, device=self.base_dist.scale.device)
        return torchlike.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
