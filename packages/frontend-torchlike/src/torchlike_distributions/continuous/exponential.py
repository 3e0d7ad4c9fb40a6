"""Exponential distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.exponential"  # see Note [Public paths]

from collections.abc import Sequence
from typing import Any, ClassVar

import torchlike
from torchlike import Tensor

from .. import constraints
from ..distribution import ExponentialFamily
from ..utils import broadcast_all


class Exponential(ExponentialFamily):
    """The exponential distribution of ``rate`` (source: ``torch.distributions.Exponential``)."""

    arg_constraints: ClassVar[Any] = {"rate": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return torchlike.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return 1 - torchlike.exp(-self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        return -torchlike.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - torchlike.log(self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return -torchlike.log(-x)
