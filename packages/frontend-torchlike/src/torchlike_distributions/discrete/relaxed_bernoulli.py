"""Relaxed Bernoulli distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.relaxed_bernoulli"  # see Note [Public paths]

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torchlike
from torchlike import Tensor

from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import SigmoidTransform
from ..utils import broadcast_all, clamp_probs
from .binary import Binary


class LogitRelaxedBernoulli(Binary):
    """The log odds of a relaxed Bernoulli value (source: ``torch.distributions.relaxed_bernoulli``)."""

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: Any = constraints.real

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        drawn = clamp_probs(torchlike.rand(shape, dtype=probs.dtype, device=probs.device))
        odds = drawn.log() - (-drawn).log1p() + probs.log() - (-probs).log1p()
        return odds / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        away = logits - value.mul(self.temperature)
        return self.temperature.log() + away - 2 * away.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """A number between zero and one, near them at a low temperature (source: ``torch.distributions.RelaxedBernoulli``)."""

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: Any = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The log odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probability."""
        return self.base_dist.probs
