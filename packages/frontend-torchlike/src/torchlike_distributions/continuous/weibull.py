"""Weibull distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.weibull"  # see Note [Public paths]

from typing import Any, ClassVar, Self

import torchlike
from torchlike import Tensor

from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import AffineTransform, PowerTransform
from ..utils import broadcast_all, euler_constant
from .exponential import Exponential


class Weibull(TransformedDistribution):
    """The Weibull distribution of ``scale`` and ``concentration`` (source: ``torch.distributions.Weibull``)."""

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive, "concentration": constraints.positive}
    support: Any = constraints.positive

    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(torchlike.ones_like(self.scale), validate_args=validate_args)
        steps = [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = self._get_checked_instance(Weibull, _instance)
        new.scale, new.concentration = self.scale.expand(batch_shape), self.concentration.expand(batch_shape)
        new.concentration_reciprocal = new.concentration.reciprocal()
        base = self.base_dist.expand(batch_shape)
        steps = [PowerTransform(exponent=new.concentration_reciprocal), AffineTransform(loc=0, scale=new.scale)]
        TransformedDistribution.__init__(new, base, steps, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self) -> Tensor:
        return self.scale * torchlike.exp(torchlike.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        first = torchlike.exp(2 * torchlike.lgamma(1 + self.concentration_reciprocal))
        return self.scale.pow(2) * (torchlike.exp(torchlike.lgamma(1 + 2 * self.concentration_reciprocal)) - first)

    def entropy(self) -> Tensor:
        return (
            euler_constant * (1 - self.concentration_reciprocal)
            + torchlike.log(self.scale * self.concentration_reciprocal)
            + 1
        )
