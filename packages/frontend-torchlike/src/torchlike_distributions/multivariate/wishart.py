"""Wishart distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.wishart"  # see Note [Public paths]

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import dispatch_core as dc
import torchlike
from torchlike import Size, Tensor

from .. import constraints
from ..distribution import ExponentialFamily
from ..utils import lazy_property
from .multivariate_normal import precision_to_scale_tril


class Wishart(ExponentialFamily):
    """Positive definite matrices of ``df`` degrees of freedom (source: ``torch.distributions.Wishart``)."""

    support: Any = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = ("df", "covariance_matrix", "precision_matrix", "scale_tril")
    _parameter_dims: ClassVar[dict[str, int]] = {"covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}

    @property
    def arg_constraints(self) -> Any:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = {"covariance_matrix": covariance_matrix, "scale_tril": scale_tril, "precision_matrix": precision_matrix}
        named = {name: each for name, each in given.items() if each is not None}
        if len(named) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = named.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        df = torchlike.as_tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch, event = torchlike.broadcast_shapes(df.shape, matrix.shape[:-2]), matrix.shape[-2:]
        self.df = df.expand(batch)
        if (self.df <= event[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event[-1] - 1}.")
        setattr(self, name, matrix.expand((*batch, *event)))
        super().__init__(batch, event, validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = torchlike.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower triangular root of the scale."""
        return self._unbroadcasted_scale_tril.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The scale."""
        return (self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT).expand(
            self._batch_shape + self._event_shape
        )

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the scale."""
        return torchlike.cholesky_inverse(self._unbroadcasted_scale_tril).expand(self._batch_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.df.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = torchlike.where(factor <= 0, math.nan, factor)
        return factor.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        matrix = self.covariance_matrix
        diagonal = matrix.diagonal(dim1=-2, dim2=-1)
        return self.df.view((*self._batch_shape, 1, 1)) * (
            matrix.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        )

    def rsample(self, sample_shape: Sequence[int] = (), max_try_correction: Any = None) -> Tensor:
        # Bartlett's decomposition: a triangular matrix of normal values beside roots of chi-squared ones.
        size = self._event_shape[-1]
        shape = Size(sample_shape)
        steps = torchlike.arange(size, dtype=self.df.dtype, device=self.df.device)
        chi = dc.ops.aten._standard_gamma(
            (0.5 * (self.df.unsqueeze(-1) - steps)).expand((*shape, *self._batch_shape, size))
        )
        noise = torchlike.randn(self._extended_shape(shape), dtype=self.df.dtype, device=self.df.device).tril(-1)
        root = self._unbroadcasted_scale_tril @ (noise + torchlike.diag_embed((2 * chi).sqrt()))
        return root @ root.mT

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        size = self._event_shape[-1]
        solved = torchlike.cholesky_solve(value, self._unbroadcasted_scale_tril)
        normalizer = -self.df * (size * math.log(2) / 2 + self._half_log_det()) - torchlike.mvlgamma(
            self.df / 2, p=size
        )
        density = (self.df - size - 1) / 2 * torchlike.linalg.slogdet(value).logabsdet
        return normalizer + density - solved.diagonal(dim1=-2, dim2=-1).sum(-1) / 2

    def entropy(self) -> Tensor:
        size = self._event_shape[-1]
        half = 0.5 * (self.df.unsqueeze(-1) - torchlike.arange(size, dtype=self.df.dtype, device=self.df.device))
        spread = (self.df - size - 1) / 2 * torchlike.digamma(half).sum(-1)
        return (
            (size + 1) * (size * math.log(2) / 2 + self._half_log_det())
            + torchlike.mvlgamma(self.df / 2, p=size)
            - spread
            + self.df * size / 2
        )
