"""Gamma distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.gamma"  # see Note [Public paths]

from collections.abc import Sequence
from typing import Any, ClassVar

import dispatch_core as dc
import torchlike
from torchlike import Tensor

from .. import constraints
from ..distribution import ExponentialFamily
from ..utils import broadcast_all


class Gamma(ExponentialFamily):
    """The gamma distribution of shape ``concentration`` and ``rate`` (source: ``torch.distributions.Gamma``)."""

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = dc.ops.aten._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        with torchlike.no_grad():
            drawn.detach().clamp_(min=torchlike.finfo(drawn.dtype).tiny)
        return drawn

    def log_prob(self, value: Tensor) -> Tensor:
        value = torchlike.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._check_sample(value)
        power = torchlike.xlogy(self.concentration, self.rate) + torchlike.xlogy(self.concentration - 1, value)
        return power - self.rate * value - torchlike.lgamma(self.concentration)

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return torchlike.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape - torchlike.log(self.rate) + torchlike.lgamma(shape) + (1.0 - shape) * torchlike.digamma(shape)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return torchlike.lgamma(x + 1) + (x + 1) * torchlike.log(-y.reciprocal())
