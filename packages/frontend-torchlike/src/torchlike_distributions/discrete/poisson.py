"""Poisson distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.poisson"  # see Note [Public paths]

from collections.abc import Sequence
from typing import Any, ClassVar

import torchlike
from torchlike import Tensor

from .. import constraints
from ..distribution import ExponentialFamily
from ..utils import broadcast_all


class Poisson(ExponentialFamily):
    """The Poisson distribution of ``rate`` (source: ``torch.distributions.Poisson``)."""

    arg_constraints: ClassVar[Any] = {"rate": constraints.nonnegative}
    support: Any = constraints.nonnegative_integer

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with torchlike.no_grad():
            return torchlike.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (torchlike.log(self.rate),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return torchlike.exp(x)
