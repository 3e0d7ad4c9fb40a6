"""Fisher-Snedecor distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.fishersnedecor"  # see Note [Public paths]

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torchlike
from torchlike import Size, Tensor

from .. import constraints
from ..distribution import Distribution
from ..utils import broadcast_all
from .gamma import Gamma


class FisherSnedecor(Distribution):
    """The F distribution of ``df1`` and ``df2`` degrees of freedom (source: ``torch.distributions.FisherSnedecor``)."""

    arg_constraints: ClassVar[Any] = {"df1": constraints.positive, "df2": constraints.positive}
    support: Any = constraints.positive
    has_rsample = True

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1, self._gamma2 = Gamma(self.df1 * 0.5, self.df1), Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new._gamma1, new._gamma2 = self._gamma1.expand(batch_shape), self._gamma2.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        return torchlike.where(self.df2 <= 2, math.nan, self.df2 / (self.df2 - 2))

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return torchlike.where(self.df1 <= 2, math.nan, mode)

    @property
    def variance(self) -> Tensor:
        rest = self.df1 * (self.df2 - 2).pow(2) * (self.df2 - 4)
        found = 2 * self.df2.pow(2) * (self.df1 + self.df2 - 2) / rest
        return torchlike.where(self.df2 <= 4, math.nan, found)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = Size(sample_shape)
        x1 = self._gamma1.rsample(shape).view(self._extended_shape(shape))
        x2 = self._gamma2.rsample(shape).view(self._extended_shape(shape))
        tiny = torchlike.finfo(x2.dtype).tiny
        return (x1 / x2.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        gammas = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        power = half1 * ratio.log() + (half1 - 1) * torchlike.log(value)
        return gammas + power - (half1 + half2) * torchlike.log1p(ratio * value)
