"""Categorical distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.categorical"  # see Note [Public paths]

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torchlike
from torchlike import Size, Tensor

from .. import constraints
from ..distribution import Distribution
from ..utils import lazy_property, logits_to_probs, probs_to_logits


class Categorical(Distribution):
    """An index along the last dimension of ``probs`` or ``logits`` (source: ``torch.distributions.Categorical``).

    >>> import torchlike
    >>> Categorical(logits=torchlike.zeros(4)).entropy()
    tensor(1.3863)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            if probs.dim() < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            if logits.dim() < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._param = self.probs if probs is not None else self.logits
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    _parameter_dims: ClassVar[dict[str, int]] = {"probs": 1, "logits": 1, "_param": 1}

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = self._expand_parameters(("probs", "logits", "_param"), batch_shape, _instance)
        new._num_events = self._num_events
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        """The log probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Size:
        """The shape of the probabilities."""
        return self._param.size()

    @property
    def mean(self) -> Tensor:
        return torchlike.full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return torchlike.full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = Size(sample_shape)
        with torchlike.no_grad():
            table = self.probs.reshape(-1, self._num_events)
            return torchlike.multinomial(table, shape.numel(), True).T.reshape(self._extended_shape(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        value, scores = torchlike.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return scores.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=torchlike.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = torchlike.arange(self._num_events, dtype=torchlike.int64, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


class OverCategories(Distribution):
    """A distribution that is made from a categorical one."""

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = self._get_checked_instance(self._known_class(), _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return self._expand_parameters((), batch_shape, new)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The log probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the probabilities."""
        return self._categorical.param_shape
