"""Transforms of vectors and matrices."""

from __future__ import annotations

__name__ = "torchlike.distributions.transforms.vectors"  # see Note [Public paths]

import math
from typing import Any

import torchlike
from torchlike import Size, Tensor

from .. import constraints
from ..utils import tril_matrix_to_vec, vec_to_tril_matrix
from .composition import Transform
from .elementwise import SigmoidTransform


class CorrCholeskyTransform(Transform):
    """Vectors to lower triangular roots of correlation matrices."""

    domain, codomain, bijective = constraints.real_vector, constraints.corr_cholesky, True

    def _call(self, x: Tensor) -> Tensor:
        x = torchlike.tanh(x)
        eps = torchlike.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + torchlike.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * torchlike.nn.functional.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = 1 - torchlike.cumsum(y * y, dim=-1)
        shifted = torchlike.nn.functional.pad(left[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(shifted, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        left = 1 - (y * y).cumsum(dim=-1)
        found = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        softplus = torchlike.nn.functional.softplus
        return found - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(dim=-1)

    def forward_shape(self, shape: Any) -> Size:
        count = shape[-1]
        side = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if side * (side - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], side, side))

    def inverse_shape(self, shape: Any) -> Size:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class SoftmaxTransform(Transform):
    """``y = exp(x)`` divided by its sum; many inputs have one output."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Tensor) -> Tensor:
        probs = (x - x.max(-1, True)[0]).exp()
        return probs / probs.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(Transform):
    """Vectors to points of a simplex of one dimension more, by breaking a stick."""

    domain, codomain, bijective = constraints.real_vector, constraints.simplex, True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Tensor) -> Tensor:
        offset = x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)
        z = SigmoidTransform()._call(x - offset.log())
        left = (1 - z).cumprod(-1)
        pad = torchlike.nn.functional.pad
        return pad(z, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        front = y[..., :-1]
        offset = y.shape[-1] - front.new_ones(front.shape[-1]).cumsum(-1)
        left = torchlike.clamp(1 - front.cumsum(-1), min=torchlike.finfo(y.dtype).tiny)
        return front.log() - left.log() + offset.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        offset = x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)
        x = x - offset.log()
        return (-x + torchlike.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Size:
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Size:
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangular ones with a positive diagonal."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + torchlike.diag_embed(x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + torchlike.diag_embed(y.diagonal(dim1=-2, dim2=-1).log())


class PositiveDefiniteTransform(Transform):
    """Matrices to positive definite ones."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Tensor) -> Tensor:
        root = LowerCholeskyTransform()(x)
        return root @ root.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(torchlike.linalg.cholesky(y))
