"""Inverse gamma distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.inverse_gamma"  # see Note [Public paths]

import math
from typing import Any, ClassVar

import torchlike
from torchlike import Tensor

from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import PowerTransform
from .gamma import Gamma


class InverseGamma(TransformedDistribution):
    """Values whose reciprocals are gamma distributed (source: ``torch.distributions.InverseGamma``)."""

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        minus = -base.rate.new_ones(())
        super().__init__(base, PowerTransform(minus), validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        """The shape of the gamma distribution."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the gamma distribution."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        found = self.rate / (self.concentration - 1)
        return torchlike.where(self.concentration > 1, found, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        found = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return torchlike.where(self.concentration > 2, found, math.inf)

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape + self.rate.log() + shape.lgamma() - (1 + shape) * shape.digamma()
