"""Helpers of distributions (source: ``torch.distributions.utils``)."""

from __future__ import annotations

__name__ = "torchlike.distributions.utils"  # see Note [Public paths]

from collections.abc import Callable
from numbers import Number
from typing import Any

import torchlike
from torchlike import Tensor

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "euler_constant",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "sum_rightmost",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def _is_tensor_like(value: Any) -> bool:
    return hasattr(value, "__torch_function__")


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Return numbers and tensors as tensors of one shape; a number takes the dtype and device of a tensor beside it."""
    if not all(_is_tensor_like(each) or isinstance(each, Number) for each in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    like = next((each for each in values if isinstance(each, Tensor)), None)
    options = {"dtype": torchlike.get_default_dtype()} if like is None else {"dtype": like.dtype, "device": like.device}
    tensors = [each if _is_tensor_like(each) else torchlike.tensor(each, **options) for each in values]
    return tuple(torchlike.broadcast_tensors(*tensors))


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Return probabilities from log odds, or from unnormalized log probabilities along the last dimension."""
    return torchlike.sigmoid(logits) if is_binary else logits.softmax(-1)


def sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """Return the sum over the last ``dim`` dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Return numbers that are drawn from the standard normal distribution."""
    return torchlike.randn(shape, dtype=dtype, device=device)


#: torch's own name, which programs import.
_sum_rightmost = sum_rightmost


def clamp_probs(probs: Tensor) -> Tensor:
    """Return probabilities that differ from 0 and 1 by at least the dtype's epsilon."""
    eps = torchlike.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Return log odds, or log probabilities, from probabilities."""
    clamped = clamp_probs(probs)
    return torchlike.log(clamped) - torchlike.log1p(-clamped) if is_binary else torchlike.log(clamped)


class lazy_property:  # noqa: N801  # torch's name
    """A property that is computed at the first read, with gradients, and kept."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with torchlike.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the elements on and below a diagonal of matrices, row by row."""
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    rows, columns = torchlike.tril_indices(size, size, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return lower triangular matrices of elements given row by row."""
    count = vec.shape[-1]
    size = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(size) - size > torchlike.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a "
            "square D x D matrix."
        )
    side = round(size)
    rows, columns = torchlike.tril_indices(side, side, diag)
    matrix = vec.new_zeros((*vec.shape[:-1], side, side))
    matrix[..., rows, columns] = vec
    return matrix
