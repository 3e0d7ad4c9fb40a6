"""Generalized Pareto distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.generalized_pareto"  # see Note [Public paths]

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torchlike
from torchlike import Tensor

from .. import constraints
from ..distribution import Distribution
from ..utils import broadcast_all


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution (source: ``torch.distributions.GeneralizedPareto``)."""

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        upper = torchlike.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)

    def _is_exponential(self) -> Tensor:
        return torchlike.isclose(self.concentration, torchlike.zeros_like(self.concentration))

    @property
    def mean(self) -> Tensor:
        found = self.loc + self.scale / (1 - self.concentration)
        return torchlike.where(self.concentration >= 1, math.inf, found)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        found = self.scale**2 / ((1 - self.concentration) ** 2 * (1 - 2 * self.concentration))
        return torchlike.where(self.concentration >= 0.5, math.inf, found)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torchlike.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _log_survival(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        safe = torchlike.where(self._is_exponential(), torchlike.ones_like(self.concentration), self.concentration)
        return torchlike.where(self._is_exponential(), -z, -torchlike.log1p(safe * z) / safe)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        z = (value - self.loc) / self.scale
        safe = torchlike.where(self._is_exponential(), torchlike.ones_like(self.concentration), self.concentration)
        curved = -(1 + 1 / safe) * torchlike.log1p(safe * z)
        return torchlike.where(self._is_exponential(), -z, curved) - self.scale.log()

    def log_survival_function(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of greater values."""
        self._check_sample(value)
        return self._log_survival(value)

    def log_cdf(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of smaller or equal values."""
        return torchlike.log1p(-torchlike.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return torchlike.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        below = torchlike.log1p(-value)
        safe = torchlike.where(self._is_exponential(), torchlike.ones_like(self.concentration), self.concentration)
        return self.loc + self.scale * torchlike.where(
            self._is_exponential(), -below, torchlike.expm1(-safe * below) / safe
        )

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)
