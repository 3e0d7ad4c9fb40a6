"""Beta distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.beta"  # see Note [Public paths]

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torchlike
from torchlike import Tensor

from .. import constraints
from ..distribution import ExponentialFamily
from ..utils import broadcast_all
from .dirichlet import Dirichlet


class Beta(ExponentialFamily):
    """The beta distribution (source: ``torch.distributions.Beta``)."""

    arg_constraints: ClassVar[Any] = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support: Any = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ) -> None:
        both = broadcast_all(concentration1, concentration0)
        self._dirichlet = Dirichlet(torchlike.stack(both, -1), validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = self._get_checked_instance(Beta, _instance)
        new._dirichlet = self._dirichlet.expand(batch_shape)
        return self._expand_parameters((), batch_shape, new)

    @property
    def concentration1(self) -> Tensor:
        """The parameter of the values near one."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """The parameter of the values near zero."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return self._dirichlet.log_prob(torchlike.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return torchlike.lgamma(x) + torchlike.lgamma(y) - torchlike.lgamma(x + y)
