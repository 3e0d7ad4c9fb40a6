"""Dirichlet distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.dirichlet"  # see Note [Public paths]

from collections.abc import Sequence
from typing import Any, ClassVar

import dispatch_core as dc
import torchlike
from torchlike import Tensor

from .. import constraints
from ..distribution import ExponentialFamily


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution along the last dimension (source: ``torch.distributions.Dirichlet``)."""

    arg_constraints: ClassVar[Any] = {"concentration": constraints.independent(constraints.positive, 1)}
    support: Any = constraints.simplex
    has_rsample = True
    _parameter_dims: ClassVar[dict[str, int]] = {"concentration": 1}

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        flat = (self.concentration < 1).all(dim=-1, keepdim=True)
        first = torchlike.nn.functional.one_hot(mode.nan_to_num().argmax(dim=-1), self.concentration.shape[-1]).to(mode)
        return torchlike.where(flat, first, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = dc.ops.aten._standard_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        return drawn / drawn.sum(-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        density = torchlike.xlogy(self.concentration - 1.0, value).sum(-1)
        return density + torchlike.lgamma(self.concentration.sum(-1)) - torchlike.lgamma(self.concentration).sum(-1)

    def entropy(self) -> Tensor:
        size, total = self.concentration.size(-1), self.concentration.sum(-1)
        normalizer = torchlike.lgamma(self.concentration).sum(-1) - torchlike.lgamma(total)
        spread = ((self.concentration - 1.0) * torchlike.digamma(self.concentration)).sum(-1)
        return normalizer - (size - total) * torchlike.digamma(total) - spread

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.lgamma().sum(-1) - torchlike.lgamma(x.sum(-1))
