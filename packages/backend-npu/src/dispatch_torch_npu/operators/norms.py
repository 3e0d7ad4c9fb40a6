"""Norms: ``npu_rms_norm`` and its relatives."""

from __future__ import annotations

import torchlike
from torchlike import Tensor

__all__ = ["npu_add_rms_norm", "npu_deep_norm", "npu_group_norm_silu", "npu_layer_norm_eval", "npu_rms_norm"]


def npu_rms_norm(self: Tensor, gamma: Tensor, epsilon: float = 1e-06) -> tuple[Tensor, Tensor]:
    """Return ``self / rms * gamma`` over the dimensions of ``gamma``, and ``1 / rms`` (source: ``torch_npu``).

    Both are computed in float32; the first has the dtype of ``self``.

    >>> y, rstd = npu_rms_norm(torchlike.tensor([[3.0, 4.0]]), torchlike.ones(2), 0.0)
    >>> round(rstd.item(), 4)
    0.2828
    """
    normalized: tuple[Tensor, Tensor] = torchlike.ops.aten._fused_rms_norm(self, list(gamma.shape), gamma, epsilon)
    return normalized


def npu_add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-06) -> tuple[Tensor, Tensor, Tensor]:
    """Return ``npu_rms_norm`` of a sum, ``1 / rms`` and the sum (source: ``torch_npu``).

    >>> npu_add_rms_norm(torchlike.ones(1, 2), torchlike.ones(1, 2), torchlike.ones(2))[2]
    tensor([[2., 2.]])
    """
    total = x1 + x2
    return *npu_rms_norm(total, gamma, epsilon), total


def npu_deep_norm(
    x: Tensor, gx: Tensor, beta: Tensor, gamma: Tensor, alpha: float = 0.3, epsilon: float = 1e-06
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the mean, ``1 / std`` and the layer norm of ``alpha * x + gx`` (source: ``torch_npu``).

    >>> npu_deep_norm(torchlike.ones(1, 2), torchlike.ones(1, 2), torchlike.zeros(2), torchlike.ones(2))[2]
    tensor([[0., 0.]])
    """
    dims = list(range(-gamma.dim(), 0))
    total = (alpha * x + gx).float()
    mean = total.mean(dims, keepdim=True)
    rstd = torchlike.rsqrt((total - mean).square().mean(dims, keepdim=True) + epsilon)
    return mean, rstd, ((total - mean) * rstd * gamma.float() + beta.float()).to(x.dtype)


def npu_layer_norm_eval(
    input: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Return the layer norm (source: ``torch_npu``).

    >>> npu_layer_norm_eval(torchlike.ones(1, 2), [2])
    tensor([[0., 0.]])
    """
    return torchlike.nn.functional.layer_norm(input, normalized_shape, weight, bias, eps)


def npu_group_norm_silu(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    group: int,
    eps: float = 1e-05,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the silu of the group norm, the groups' means, and ``1 / std`` of each (source: ``torch_npu``).

    >>> npu_group_norm_silu(torchlike.ones(1, 2, 3), None, None, 1)[1]
    tensor([[1.]])
    """
    normed, mean, rstd = torchlike.native_group_norm(
        input, weight, bias, input.shape[0], input.shape[1], input[0, 0].numel(), group, eps
    )
    return torchlike.nn.functional.silu(normed), mean, rstd
