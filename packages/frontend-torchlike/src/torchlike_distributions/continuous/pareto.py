"""Pareto distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.pareto"  # see Note [Public paths]

from typing import Any, ClassVar

from torchlike import Tensor

from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import AffineTransform, ExpTransform
from ..utils import broadcast_all
from .exponential import Exponential


class Pareto(TransformedDistribution):
    """The Pareto distribution of ``scale`` and ``alpha`` (source: ``torch.distributions.Pareto``)."""

    arg_constraints: ClassVar[Any] = {"alpha": constraints.positive, "scale": constraints.positive}
    _parameters = ("scale", "alpha")

    def __init__(self, scale: Tensor | float, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(loc=0, scale=self.scale)], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        alpha = self.alpha.clamp(min=2)
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
