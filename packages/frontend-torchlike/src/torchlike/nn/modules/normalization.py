"""Normalizations without running statistics."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from ...creation.factories import FACTORIES
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor
from ...values.argument_types import DeviceLike, DTypeLike
from .. import functional as F  # noqa: N812  # torch's own abbreviation
from .. import init
from ..functional.normalizations import sum_over_neighbours
from ..parameter import Parameter
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class LocalResponseNorm(Module):
    """Division by a power of the mean square of ``size`` neighbouring channels (source: ``torch.nn.LocalResponseNorm``)."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """``LocalResponseNorm`` as Torch7 computed it: the window is symmetric, and never leaves the first channel behind."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        check_tensor(input, type(self).__name__)
        if input.ndim != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.ndim}D instead.")
        reach = (self.size - 1) // 2
        squares = input * input
        total = sum_over_neighbours(squares, reach, reach)
        left, channels = reach + 1, input.shape[1]
        if channels > left:
            first = squares.narrow(1, 0, 1)
            stays = FACTORIES["arange"](channels, device=input.device).ge(left).to(input.dtype)
            total = total + first * stays.reshape(1, -1, 1, 1)
        return input * (total * (self.alpha / self.size) + self.k).pow(-self.beta)


def _to_shape(normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(normalized_shape, numbers.Integral):
        return (int(normalized_shape),)
    return tuple(normalized_shape)  # type: ignore[arg-type]  # a sequence, if no number


class _Affine(Module):
    """A layer with a weight, and perhaps a bias, of one shape."""

    def _register_affine(
        self, shape: int | tuple[int, ...], weight: bool, bias: bool | None, device: Any, dtype: Any
    ) -> None:
        for name, wanted in (("weight", weight), ("bias", bias)):
            if wanted is not None:
                made = Parameter(FACTORIES["empty"](shape, device=device, dtype=dtype)) if wanted else None
                self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill the weight with ones and the bias with zeros."""
        for name, fill in (("weight", init.ones_), ("bias", init.zeros_)):
            if self._parameters.get(name) is not None:
                fill(getattr(self, name))


class LayerNorm(_Affine):
    """Normalization of the last dimensions, those of ``normalized_shape`` (source: ``torch.nn.LayerNorm``).

    >>> LayerNorm(8)
    LayerNorm((8,), eps=1e-05, elementwise_affine=True, bias=True)
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _to_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        has_bias = bool(elementwise_affine and bias)
        self._register_affine(self.normalized_shape, bool(elementwise_affine), has_bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(_Affine):
    """Normalization of groups of channels of ``(N, C, ...)`` (source: ``torch.nn.GroupNorm``)."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._register_affine(num_channels, affine, affine and bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """Division of the last dimensions by the root of their mean square (source: ``torch.nn.RMSNorm``)."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _to_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._register_affine(self.normalized_shape, elementwise_affine, None, device, dtype)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
