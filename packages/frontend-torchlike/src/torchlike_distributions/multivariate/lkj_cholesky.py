"""LKJ distributions of correlation matrices."""

from __future__ import annotations

__name__ = "torchlike.distributions.lkj_cholesky"  # see Note [Public paths]

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torchlike
from torchlike import Tensor

from .. import constraints
from ..distribution import Distribution
from ..utils import broadcast_all
from .beta import Beta


class LKJCholesky(Distribution):
    """Lower triangular roots of correlation matrices (source: ``torch.distributions.LKJCholesky``)."""

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive}
    support: Any = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        batch = self.concentration.size()
        marginal = self.concentration + 0.5 * (dim - 2)
        offset = torchlike.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = torchlike.cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(batch, (dim, dim), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new.dim = self.dim
        new._beta = self._beta.expand((*batch_shape, self.dim))
        return new

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with torchlike.no_grad():
            y = self._beta.sample(sample_shape).unsqueeze(-1)
            u = torchlike.randn(self._extended_shape(sample_shape), dtype=y.dtype, device=y.device).tril(-1)
            sphere = u / u.norm(dim=-1, keepdim=True)
            sphere[..., 0, :].fill_(0.0)
            w = torchlike.sqrt(y) * sphere
            diagonal = torchlike.clamp(1 - torchlike.sum(w**2, dim=-1), min=torchlike.finfo(w.dtype).tiny).sqrt()
            return w + torchlike.diag_embed(diagonal)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torchlike.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        density = torchlike.sum(order * diagonal.log(), dim=-1)
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        numerator = torchlike.mvlgamma(alpha - 0.5, less)
        return density - (0.5 * less * math.log(math.pi) + numerator - torchlike.lgamma(alpha) * less)
