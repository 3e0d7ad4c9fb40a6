"""Categorical distributions whose values are one-hot vectors."""

from __future__ import annotations

__name__ = "torchlike.distributions.one_hot_categorical"  # see Note [Public paths]

from collections.abc import Sequence
from typing import Any, ClassVar

import torchlike
from torchlike import Tensor

from .. import constraints
from .categorical import OverCategories


class OneHotCategorical(OverCategories):
    """A one-hot vector along the last dimension (source: ``torch.distributions.OneHotCategorical``)."""

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support: Any = constraints.one_hot
    has_enumerate_support = True

    @property
    def mean(self) -> Tensor:
        return self._categorical.probs

    @property
    def mode(self) -> Tensor:
        return torchlike.nn.functional.one_hot(self.probs.argmax(-1), self.probs.shape[-1]).to(self.probs)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = self._categorical.sample(sample_shape)
        return torchlike.nn.functional.one_hot(drawn, self._categorical._num_events).to(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self.event_shape[0]
        values = torchlike.eye(count, dtype=self._param.dtype, device=self._param.device)
        values = values.view((count,) + (1,) * len(self.batch_shape) + (count,))
        return values.expand((count, *self.batch_shape, count)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same with gradients that flow straight to the probabilities (source: ``torch.distributions``)."""

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn, probs = self.sample(sample_shape), self._categorical.probs
        return drawn + (probs - probs.detach())
