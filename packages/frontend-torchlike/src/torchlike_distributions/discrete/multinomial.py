"""Multinomial distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.multinomial"  # see Note [Public paths]

import math
from collections.abc import Sequence
from numbers import Number
from typing import Any, ClassVar, Self

import torchlike
from torchlike import Size, Tensor

from .. import constraints
from ..utils import broadcast_all
from .binomial import Binomial
from .categorical import OverCategories


class Multinomial(OverCategories):
    """Counts of ``total_count`` draws by category (source: ``torch.distributions.Multinomial``)."""

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, Number):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new.total_count = self.total_count
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = Size(sample_shape)
        drawn = self._categorical.sample((self.total_count, *shape))
        drawn = drawn.permute(*range(1, drawn.dim()), 0)
        counts = self.probs.new_zeros(self._extended_shape(shape))
        counts.scatter_add_(-1, drawn, torchlike.ones_like(drawn, dtype=counts.dtype))
        return counts

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        ways = torchlike.lgamma(value.sum(-1) + 1) - torchlike.lgamma(value + 1).sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        count = torchlike.tensor(self.total_count)
        binomial = Binomial(self.total_count, probs=self.probs)
        weights = torchlike.exp(binomial.log_prob(binomial.enumerate_support(False)))[1:]
        values = torchlike.lgamma(binomial.enumerate_support(False) + 1)[1:]
        expected = (weights * values).sum([0, -1])
        return self.total_count * self._categorical.entropy() - torchlike.lgamma(count + 1) + expected
