"""Negative binomial distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.negative_binomial"  # see Note [Public paths]

from collections.abc import Sequence
from typing import Any, ClassVar

import torchlike
from torchlike import Tensor

from .. import constraints
from ..continuous.gamma import Gamma
from ..distribution import Distribution
from .binary import Binary


class NegativeBinomial(Binary):
    """The number of successes before ``total_count`` failures (source: ``torch.distributions.NegativeBinomial``)."""

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support: Any = constraints.nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._set_counts(total_count, probs, logits)
        Distribution.__init__(self, self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * torchlike.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / torchlike.sigmoid(-self.logits)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with torchlike.no_grad():
            rates = Gamma(self.total_count, torchlike.exp(-self.logits), validate_args=False).sample(sample_shape)
            return torchlike.poisson(rates)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        sigmoid = torchlike.nn.functional.logsigmoid
        chance = self.total_count * sigmoid(-self.logits) + value * sigmoid(self.logits)
        total = self.total_count + value
        ways = -torchlike.lgamma(total) + torchlike.lgamma(1.0 + value) + torchlike.lgamma(self.total_count)
        return chance - ways.masked_fill(total == 0.0, 0.0)
