"""Distributions of transformed values."""

from __future__ import annotations

__name__ = "torchlike.distributions.transformed_distribution"  # see Note [Public paths]

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torchlike
from torchlike import Size, Tensor

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost


class TransformedDistribution(Distribution):
    """A base distribution followed by transforms (source: ``torch.distributions.TransformedDistribution``)."""

    arg_constraints: ClassVar[Any] = {}

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list) and all(isinstance(each, Transform) for each in transforms):
            self.transforms = transforms
        else:
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        whole = ComposeTransform(self.transforms)
        if len(base_shape) < whole.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {whole.domain.event_dim}, but got {base_shape}."
            )
        forward = whole.forward_shape(base_shape)
        base_distribution = base_distribution.expand(
            whole.inverse_shape(forward)[: len(base_shape) - len(base_distribution.event_shape)]
        )
        more = whole.domain.event_dim - len(base_distribution.event_shape)
        if more > 0:
            base_distribution = Independent(base_distribution, more)
        self.base_dist = base_distribution
        event_dim = max(
            len(base_distribution.event_shape) + whole.codomain.event_dim - whole.domain.event_dim,
            whole.codomain.event_dim,
        )
        cut = len(forward) - event_dim
        super().__init__(forward[:cut], forward[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = self._get_checked_instance(self._known_class(), _instance)
        self._expand_parameters(self._parameters or (), batch_shape, new)
        new.transforms = self.transforms
        whole = ComposeTransform(self.transforms)
        shape = whole.inverse_shape(Size(batch_shape) + self.event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self.event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    @property
    def has_rsample(self) -> bool:
        """Whether gradients flow through samples."""
        return bool(self.base_dist.has_rsample)

    def _transform(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with torchlike.no_grad():
            return self._transform(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._transform(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        event_dim, found, y = len(self.event_shape), torchlike.zeros(()), value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            found = found - sum_rightmost(transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim)
            y = x
        return found + sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _monotone(self, value: Tensor) -> Tensor:
        """Return probabilities as they are for rising transforms, and from above for falling ones."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in self.transforms[::-1]:
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotone(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transform(self.base_dist.icdf(self._monotone(value)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.transforms})"
