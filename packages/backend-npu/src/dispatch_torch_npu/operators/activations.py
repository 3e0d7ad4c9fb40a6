"""Activations: ``npu_gelu``, ``npu_swiglu`` and their relatives, and the softmax of scores under a mask."""

from __future__ import annotations

from typing import Final

import torchlike
from torchlike import Tensor

from ..refusals import refuse

__all__ = [
    "fast_gelu",
    "npu_fast_gelu",
    "npu_geglu",
    "npu_gelu",
    "npu_gelu_mul",
    "npu_mish",
    "npu_scaled_masked_softmax",
    "npu_silu",
    "npu_silu_",
    "npu_swiglu",
]

#: What the device's softmax adds to scores under the mask.
_LOW: Final = -10000.0


def npu_gelu(self: Tensor, *, approximate: str = "none") -> Tensor:
    """Return the gelu, exact or by tanh (source: ``torch_npu``).

    >>> npu_gelu(torchlike.zeros(1), approximate="tanh")
    tensor([0.])
    """
    return torchlike.nn.functional.gelu(self, approximate=approximate)


def npu_fast_gelu(self: Tensor) -> Tensor:
    """Return ``x * sigmoid(1.702 * x)``, written so that no exponential overflows (source: ``torch_npu``).

    >>> npu_fast_gelu(torchlike.zeros(1))
    tensor([0.])
    """
    return self * torchlike.sigmoid(1.702 * self)


fast_gelu = npu_fast_gelu


def npu_gelu_mul(input: Tensor, *, approximate: str = "none") -> Tensor:
    """Return the gelu of the first half of the last dimension, times the second (source: ``torch_npu``).

    >>> npu_gelu_mul(torchlike.zeros(1, 2))
    tensor([[0.]])
    """
    first, second = input.chunk(2, -1)
    return npu_gelu(first, approximate=approximate) * second


def npu_geglu(self: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False) -> tuple[Tensor, Tensor]:
    """Return one half times the gelu of the other, and that gelu (source: ``torch_npu``).

    ``approximate`` is 0 for the exact gelu and 1 for that by tanh; the second half is activated by default.

    >>> npu_geglu(torchlike.zeros(1, 2))[0]
    tensor([[0.]])
    """
    left, right = self.chunk(2, dim)
    plain, active = (right, left) if activate_left else (left, right)
    gelu = npu_gelu(active, approximate="tanh" if approximate else "none")
    return plain * gelu, gelu


def npu_swiglu(self: Tensor, dim: int = -1) -> Tensor:
    """Return the silu of the first half of a dimension, times the second (source: ``torch_npu``).

    >>> npu_swiglu(torchlike.zeros(1, 2))
    tensor([[0.]])
    """
    first, second = self.chunk(2, dim)
    return torchlike.nn.functional.silu(first) * second


def npu_silu(self: Tensor) -> Tensor:
    """Return the silu (source: ``torch_npu``).

    >>> npu_silu(torchlike.zeros(1))
    tensor([0.])
    """
    return torchlike.nn.functional.silu(self)


def npu_silu_(self: Tensor) -> Tensor:
    """Replace a tensor by its silu and return it (source: ``torch_npu``).

    >>> npu_silu_(torchlike.zeros(1))
    tensor([0.])
    """
    return torchlike.nn.functional.silu(self, inplace=True)


def npu_mish(self: Tensor) -> Tensor:
    """Return the mish (source: ``torch_npu``).

    >>> npu_mish(torchlike.zeros(1))
    tensor([0.])
    """
    return torchlike.nn.functional.mish(self)


def npu_scaled_masked_softmax(x: Tensor, mask: Tensor, scale: float = 1.0, fixed_triu_mask: bool = False) -> Tensor:
    """Return the softmax over the last dimension of scaled scores, which are -10000 under the mask (source: ``torch_npu``).

    Args:
        x: The scores.
        mask: Where they are left out, as truth values.
        scale: Their factor.
        fixed_triu_mask: Refused where it is True, as torch_npu takes False alone.

    >>> npu_scaled_masked_softmax(torchlike.zeros(1, 2), torchlike.tensor([[False, True]]))
    tensor([[1., 0.]])
    """
    if fixed_triu_mask:
        refuse(
            "npu_scaled_masked_softmax(fixed_triu_mask=True)",
            "torch_npu keeps it for later",
            "give the triangle as mask",
        )
    scores = (x * scale).masked_fill(mask.to(x.device), _LOW)
    return torchlike.softmax(scores.float(), -1).to(x.dtype)
