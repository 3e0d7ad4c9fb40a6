"""Multivariate normal distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.multivariate_normal"  # see Note [Public paths]

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torchlike
from torchlike import Tensor

from .. import constraints
from ..distribution import Distribution
from ..utils import lazy_property


class MultivariateNormal(Distribution):
    """The normal distribution of vectors (source: ``torch.distributions.MultivariateNormal``).

    Its covariance is given by ``covariance_matrix``, ``precision_matrix``, or ``scale_tril``, its lower triangular root.

    >>> import torchlike
    >>> MultivariateNormal(torchlike.zeros(2), torchlike.eye(2)).log_prob(torchlike.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support: Any = constraints.real_vector
    has_rsample = True
    _parameters = ("loc", "_unbroadcasted_loc", "covariance_matrix", "precision_matrix", "scale_tril")
    _parameter_dims: ClassVar[dict[str, int]] = {
        "loc": 1,
        "covariance_matrix": 2,
        "precision_matrix": 2,
        "scale_tril": 2,
    }

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {"covariance_matrix": covariance_matrix, "scale_tril": scale_tril, "precision_matrix": precision_matrix}
        named = {name: each for name, each in given.items() if each is not None}
        if len(named) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = named.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch = torchlike.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch, *matrix.shape[-2:])))
        self.loc = loc.expand((*batch, loc.shape[-1]))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
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
        """The lower triangular root of the covariance."""
        return self._unbroadcasted_scale_tril.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        root = self._unbroadcasted_scale_tril
        return (root @ root.mT).expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        found = torchlike.cholesky_inverse(self._unbroadcasted_scale_tril)
        return found.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        found = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return found.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = torchlike.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self._unbroadcasted_scale_tril @ drawn.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        distance = mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def entropy(self) -> Tensor:
        found = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return found.expand(self._batch_shape)


def mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """Return the squared distance of vectors, by the covariance of which ``bL`` is the lower triangular root."""
    solved = torchlike.linalg.solve_triangular(bL, bx.unsqueeze(-1), upper=False)
    return solved.squeeze(-1).pow(2).sum(-1)


def precision_to_scale_tril(P: Tensor) -> Tensor:
    """Return the lower triangular root of the inverse of a precision matrix."""
    root = torchlike.linalg.cholesky(torchlike.flip(P, (-2, -1)))
    inverse = torchlike.flip(root, (-2, -1)).mT
    one = torchlike.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return torchlike.linalg.solve_triangular(inverse, one, upper=False)


# Under torch's own names for libraries that import them.
_batch_mahalanobis, _precision_to_scale_tril = mahalanobis, precision_to_scale_tril


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Return the products of matrices and vectors, whose batches are broadcast."""
    return (bmat @ bvec.unsqueeze(-1)).squeeze(-1)
