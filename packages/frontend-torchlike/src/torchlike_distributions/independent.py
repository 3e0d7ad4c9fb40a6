"""Distributions with batch dimensions taken as those of a value."""

from __future__ import annotations

__name__ = "torchlike.distributions.independent"  # see Note [Public paths]

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from torchlike import Size, Tensor

from . import constraints
from .distribution import Distribution
from .utils import sum_rightmost


class Independent(Distribution):
    """A distribution whose last batch dimensions belong to its values (source: ``torch.distributions.Independent``)."""

    arg_constraints: ClassVar[Any] = {}

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(base_distribution.batch_shape)}"
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        event_dim = reinterpreted_batch_ndims + len(base_distribution.event_shape)
        split = len(shape) - event_dim
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(shape[:split], shape[split:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = self._get_checked_instance(Independent, _instance)
        shape = Size(batch_shape)
        new.base_dist = self.base_dist.expand(shape + self.event_shape[: self.reinterpreted_batch_ndims])
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims
        Distribution.__init__(new, shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def has_rsample(self) -> bool:
        """Whether gradients flow through samples."""
        return bool(self.base_dist.has_rsample)

    @property
    def has_enumerate_support(self) -> bool:
        """Whether the values can be listed."""
        return self.reinterpreted_batch_ndims == 0 and bool(self.base_dist.has_enumerate_support)

    @constraints.dependent_property
    def support(self) -> Any:
        found = self.base_dist.support
        return (
            constraints.independent(found, self.reinterpreted_batch_ndims) if self.reinterpreted_batch_ndims else found
        )

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
