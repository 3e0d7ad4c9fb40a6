"""Continuous Bernoulli distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.continuous_bernoulli"  # see Note [Public paths]

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torchlike
from torchlike import Tensor

from .. import constraints
from ..utils import broadcast_all, clamp_probs
from .binary import Binary


class ContinuousBernoulli(Binary):
    """A Bernoulli density on the numbers from zero to one (source: ``torch.distributions.ContinuousBernoulli``)."""

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: Any = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._lims = lims
        super().__init__(probs, logits, validate_args)
        if probs is not None:
            self.probs = self._param = clamp_probs(self.probs)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new._lims = self._lims
        return new

    def _outside(self) -> Tensor:
        return torchlike.max(self.probs <= self._lims[0], self.probs > self._lims[1])

    def _cut(self) -> Tensor:
        """Return the probabilities with those near one half moved away, where the formulas divide by zero."""
        return torchlike.where(self._outside(), self.probs, self._lims[0] * torchlike.ones_like(self.probs))

    def _log_constant(self) -> Tensor:
        cut = self._cut()
        low = torchlike.where(cut <= 0.5, cut, torchlike.zeros_like(cut))
        high = torchlike.where(cut >= 0.5, cut, torchlike.ones_like(cut))
        scale = torchlike.log(torchlike.abs(torchlike.log1p(-cut) - torchlike.log(cut)))
        scale = scale - torchlike.where(cut <= 0.5, torchlike.log1p(-2.0 * low), torchlike.log(2.0 * high - 1.0))
        x = torchlike.pow(self.probs - 0.5, 2)
        return torchlike.where(self._outside(), scale, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        cut = self._cut()
        means = cut / (2.0 * cut - 1.0) + 1.0 / (torchlike.log1p(-cut) - torchlike.log(cut))
        x = self.probs - 0.5
        return torchlike.where(self._outside(), means, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * torchlike.pow(x, 2)) * x)

    @property
    def stddev(self) -> Tensor:
        return torchlike.sqrt(self.variance)

    @property
    def variance(self) -> Tensor:
        cut = self._cut()
        found = cut * (cut - 1.0) / torchlike.pow(1.0 - 2.0 * cut, 2)
        found = found + 1.0 / torchlike.pow(torchlike.log1p(-cut) - torchlike.log(cut), 2)
        x = torchlike.pow(self.probs - 0.5, 2)
        return torchlike.where(self._outside(), found, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torchlike.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        loss = torchlike.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._log_constant() - loss

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        cut = self._cut()
        found = torchlike.pow(cut, value) * torchlike.pow(1.0 - cut, 1.0 - value) + cut - 1.0
        found = torchlike.where(self._outside(), found / (2.0 * cut - 1.0), value)
        found = torchlike.where(value <= 0.0, torchlike.zeros_like(found), found)
        return torchlike.where(value >= 1.0, torchlike.ones_like(found), found)

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut()
        found = torchlike.log1p(-cut + value * (2.0 * cut - 1.0)) - torchlike.log1p(-cut)
        return torchlike.where(self._outside(), found / (torchlike.log(cut) - torchlike.log1p(-cut)), value)

    def entropy(self) -> Tensor:
        low, high = torchlike.log1p(-self.probs), torchlike.log(self.probs)
        return self.mean * (low - high) - self._log_constant() - low
