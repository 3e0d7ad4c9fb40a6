"""Kumaraswamy distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.kumaraswamy"  # see Note [Public paths]

import math
from typing import Any, ClassVar

import torchlike
from torchlike import Tensor

from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import AffineTransform, PowerTransform
from ..utils import broadcast_all, euler_constant
from .uniform import Uniform


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution (source: ``torch.distributions.Kumaraswamy``)."""

    arg_constraints: ClassVar[Any] = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support: Any = constraints.unit_interval
    has_rsample = True
    _parameters = ("concentration1", "concentration0")

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            torchlike.full_like(self.concentration0, 0),
            torchlike.full_like(self.concentration0, 1),
            validate_args=validate_args,
        )
        steps = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, steps, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        ratio = 1 + n / self.concentration1
        beta = (
            torchlike.lgamma(ratio)
            + torchlike.lgamma(self.concentration0)
            - torchlike.lgamma(ratio + self.concentration0)
        )
        return self.concentration0 * torchlike.exp(beta)

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        log_mode = self.concentration0.reciprocal() * (-self.concentration0).log1p()
        log_mode = log_mode - (-self.concentration0 * self.concentration1).log1p()
        return torchlike.where((self.concentration0 < 1) | (self.concentration1 < 1), math.nan, log_mode.exp())

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - torchlike.pow(self.mean, 2)

    def entropy(self) -> Tensor:
        t1, t0 = 1 - self.concentration1.reciprocal(), 1 - self.concentration0.reciprocal()
        harmonic = torchlike.digamma(self.concentration0 + 1) + euler_constant
        return t0 + t1 * harmonic - torchlike.log(self.concentration1) - torchlike.log(self.concentration0)
