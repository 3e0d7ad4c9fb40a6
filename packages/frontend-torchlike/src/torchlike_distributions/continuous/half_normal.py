"""Half-normal distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.half_normal"  # see Note [Public paths]

import math
from typing import Any, ClassVar

import torchlike
from torchlike import Tensor

from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import AbsTransform
from .normal import Normal


class HalfDistribution(TransformedDistribution):
    """Absolute values of a distribution that is symmetric about zero."""

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True

    @property
    def scale(self) -> Tensor:
        """The scale before the absolute value."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return torchlike.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return torchlike.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(HalfDistribution):
    """Absolute values of normal ones with mean zero (source: ``torch.distributions.HalfNormal``)."""

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
