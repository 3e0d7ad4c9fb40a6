"""Logistic-normal distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.logistic_normal"  # see Note [Public paths]

from typing import Any, ClassVar

from torchlike import Tensor

from .. import constraints
from ..continuous.normal import Normal
from ..transformed_distribution import TransformedDistribution
from ..transforms import StickBreakingTransform


class LogisticNormal(TransformedDistribution):
    """Points of a simplex, made of normal values by breaking a stick (source: ``torch.distributions.LogisticNormal``)."""

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The means of the normal values."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal values."""
        return self.base_dist.base_dist.scale
