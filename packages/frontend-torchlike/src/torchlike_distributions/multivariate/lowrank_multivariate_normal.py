"""Multivariate normal distributions whose covariance is a diagonal and a matrix of low rank."""

from __future__ import annotations

__name__ = "torchlike.distributions.lowrank_multivariate_normal"  # see Note [Public paths]

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torchlike
from torchlike import Tensor

from .. import constraints
from ..distribution import Distribution
from ..utils import lazy_property
from .multivariate_normal import mahalanobis


class LowRankMultivariateNormal(Distribution):
    """The covariance is ``cov_factor cov_factor^T + diag(cov_diag)`` (source: ``torch.distributions``)."""

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support: Any = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        batch = torchlike.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc, self.cov_diag = loc.expand(batch + event_shape), cov_diag.expand(batch + event_shape)
        self.cov_factor = cov_factor.expand(batch + cov_factor.shape[-2:])
        super().__init__(batch, event_shape, validate_args=validate_args)

    _parameter_dims: ClassVar[dict[str, int]] = {"loc": 1, "cov_factor": 2, "cov_diag": 1}

    @lazy_property
    def _capacitance_tril(self) -> Tensor:
        return _batch_capacitance_tril(self.cov_factor, self.cov_diag)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The variance."""
        return self.cov_factor.pow(2).sum(-1) + self.cov_diag

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self.cov_factor @ self.cov_factor.mT + torchlike.diag_embed(self.cov_diag)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower triangular root of the covariance."""
        return torchlike.linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        solved = torchlike.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return torchlike.diag_embed(self.cov_diag.reciprocal()) - solved.mT @ solved

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        options: Any = {"dtype": self.loc.dtype, "device": self.loc.device}
        weights = torchlike.randn((*shape[:-1], self.cov_factor.shape[-1]), **options)
        noise = torchlike.randn(shape, **options)
        return self.loc + (self.cov_factor @ weights.unsqueeze(-1)).squeeze(-1) + self.cov_diag.sqrt() * noise

    def _log_det(self) -> Tensor:
        return _batch_lowrank_logdet(self.cov_factor, self.cov_diag, self._capacitance_tril)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        distance = _batch_lowrank_mahalanobis(self.cov_factor, self.cov_diag, value - self.loc, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> Tensor:
        found = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return found.expand(self._batch_shape)


# The functions and their arguments have torch's own names for libraries that import them.
def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """Return the lower triangular root of one plus the factor's square by the diagonal's inverse."""
    inner = (W.mT / D.unsqueeze(-2)) @ W
    one = torchlike.eye(inner.shape[-1], dtype=inner.dtype, device=inner.device)
    return torchlike.linalg.cholesky(inner + one)


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    """Return the logarithm of the covariance's determinant, which the factor enters by ``capacitance_tril``."""
    return 2 * capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """Return the squared distance of vectors by the covariance."""
    scaled = (W.mT @ (x / D).unsqueeze(-1)).squeeze(-1)
    return (x.pow(2) / D).sum(-1) - mahalanobis(capacitance_tril, scaled)
