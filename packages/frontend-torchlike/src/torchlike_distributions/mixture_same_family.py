"""Mixtures of distributions of one family."""

from __future__ import annotations

__name__ = "torchlike.distributions.mixture_same_family"  # see Note [Public paths]

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torchlike
from torchlike import Tensor

from . import constraints
from .discrete.categorical import Categorical
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """A mixture of the components along the last batch dimension (source: ``torch.distributions.MixtureSameFamily``)."""

    arg_constraints: ClassVar[Any] = {}

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(  # torch's class
                " The Mixture distribution needs to be an  instance of torchlike.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(  # torch's class
                "The Component distribution need to be an instance of torchlike.distributions.Distribution"
            )
        mixed, parts = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for left, right in zip(reversed(mixed), reversed(parts), strict=False):
            if left != 1 and right not in (1, left):
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                    f"`component_distribution.batch_shape`({parts})"
                )
        count = mixture_distribution.logits.shape[-1]
        if component_distribution.batch_shape[-1] != count:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` "
                f"({component_distribution.batch_shape[-1]})"
            )
        self._num_component, event_shape = count, component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(parts, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        Distribution.__init__(new, batch_shape, new._component_distribution.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    def _weights(self) -> Tensor:
        probs = self.mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self.component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        weights, dim = self._weights(), -1 - self._event_ndims
        within = (weights * self.component_distribution.variance).sum(dim)
        return within + (weights * (self.component_distribution.mean - self.mean.unsqueeze(dim)).pow(2.0)).sum(dim)

    def cdf(self, value: Tensor) -> Tensor:
        found = self.component_distribution.cdf(value.unsqueeze(-1 - self._event_ndims))
        return (found * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        found = self.component_distribution.log_prob(value.unsqueeze(-1 - self._event_ndims))
        return torchlike.logsumexp(found + torchlike.log_softmax(self.mixture_distribution.logits, -1), -1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with torchlike.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            index = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            index = index.expand((*chosen.shape, 1, *self.event_shape))
            return drawn.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
