"""Gumbel distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.gumbel"  # see Note [Public paths]

import math
from typing import Any, ClassVar

import torchlike
from torchlike import Tensor

from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import AffineTransform, ExpTransform
from ..utils import broadcast_all, euler_constant
from .uniform import Uniform


class Gumbel(TransformedDistribution):
    """The Gumbel distribution of ``loc`` and ``scale`` (source: ``torch.distributions.Gumbel``)."""

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    _parameters = ("loc", "scale")

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = torchlike.finfo(self.loc.dtype)
        low = torchlike.full_like(self.loc, info.tiny)
        base = Uniform(low, torchlike.full_like(self.loc, 1 - info.eps), validate_args=validate_args)
        ones = torchlike.ones_like(self.scale)
        steps = [ExpTransform().inv, AffineTransform(0, -ones), ExpTransform().inv, AffineTransform(loc, -self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
