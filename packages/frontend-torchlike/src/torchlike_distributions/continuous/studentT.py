"""Student's t distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.studentT"  # see Note [Public paths]

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torchlike
from torchlike import Tensor

from .. import constraints
from ..distribution import Distribution
from ..utils import broadcast_all
from .chi2 import Chi2


class StudentT(Distribution):
    """Student's t of ``df`` degrees of freedom, ``loc`` and ``scale`` (source: ``torch.distributions.StudentT``)."""

    arg_constraints: ClassVar[Any] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support: Any = constraints.real
    has_rsample = True

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new._chi2 = self._chi2.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        return torchlike.where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        found = torchlike.where(self.df > 2, finite, math.inf)
        return torchlike.where(self.df <= 1, math.nan, found)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = torchlike.randn(shape, dtype=self.df.dtype, device=self.df.device)
        return self.loc + self.scale * drawn * torchlike.rsqrt(self._chi2.rsample(sample_shape) / self.df)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        y = (value - self.loc) / self.scale
        gammas = torchlike.lgamma(0.5 * self.df) - torchlike.lgamma(0.5 * (self.df + 1.0))
        normalizer = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + gammas
        return -0.5 * (self.df + 1.0) * torchlike.log1p(y**2.0 / self.df) - normalizer

    def entropy(self) -> Tensor:
        half = 0.5 * (self.df + 1)
        beta = torchlike.lgamma(0.5 * self.df) + math.lgamma(0.5) - torchlike.lgamma(half)
        return (
            self.scale.log()
            + half * (torchlike.digamma(half) - torchlike.digamma(0.5 * self.df))
            + 0.5 * self.df.log()
            + beta
        )
