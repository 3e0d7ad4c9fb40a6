"""Short ways of the layers of networks that are composites; see `short_ways`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from ...arrays import Array
from ...fp_errors import run
from ...kernel_table import Kernel
from ..networks import convolution, normalization, pooling, resampling
from ..support.constants import NUMBERS, number
from ..support.reduce_ufuncs import MAX

_CONVOLUTION: Final = convolution.KERNELS["convolution"]
_EVALUATE: Final = normalization.KERNELS["_native_batch_norm_legit_no_training"]


def _direct(count: int) -> Kernel:
    zeros = (0,) * count

    def way(
        input: Array, weight: Array, bias: Array | None, stride: Any, padding: Any, dilation: Any, groups: int
    ) -> Any:
        if input.ndim != count + 2:
            return NotImplemented
        return _CONVOLUTION(input, weight, bias, stride, padding, dilation, False, zeros, groups)

    return way


def _batch_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    if training or running_mean is None or running_var is None or not input.size or input.dtype.kind != "f":
        return NotImplemented
    channels = input.shape[1]
    if any(each is not None and each.size != channels for each in (weight, bias, running_mean, running_var)):
        return NotImplemented
    return _EVALUATE(input, weight, bias, running_mean, running_var, momentum, eps)[0]


@lru_cache(maxsize=16)
def _later(queries: int, keys: int) -> Array:
    """Return which keys come after each query."""
    return np.arange(queries)[:, None] < np.arange(keys)


def _make_attention(softmax: Kernel) -> Kernel:
    def way(
        query: Array,
        key: Array,
        value: Array,
        attn_mask: Array | None,
        dropout_p: float,
        is_causal: bool,
        *,
        scale: float | None,
        enable_gqa: bool,
    ) -> Any:
        """Return the values that all queries of all heads gather from all keys, for arrays without gaps."""
        shape, dtype = query.shape, query.dtype
        if dropout_p or enable_gqa or len(shape) != 4 or dtype not in NUMBERS:
            return NotImplemented
        if not (dtype is key.dtype is value.dtype and key.ndim == value.ndim == 4 and query.size and key.size):
            return NotImplemented
        if not (shape[:2] == key.shape[:2] == value.shape[:2] and shape[-1] == value.shape[-1]):
            return NotImplemented
        if not (query.flags.c_contiguous and key.flags.c_contiguous and value.flags.c_contiguous):
            return NotImplemented
        if attn_mask is not None and not (attn_mask.dtype.kind == "b" or attn_mask.dtype is dtype):
            return NotImplemented
        factor = 1.0 / math.sqrt(shape[-1]) if scale is None else scale
        batch = shape[0] * shape[1]
        first, second, third = (each.reshape(batch, *each.shape[2:]) for each in (query, key, value))
        scores = run(_scores, first, second, number(factor, query))
        if is_causal:
            np.copyto(scores, -np.inf, where=_later(*scores.shape[1:]))
        if attn_mask is None:
            weights = softmax(scores, -1, False)
        else:
            # A mask that is wider than the scores is refused here, and served by the usual way.
            run(_hide, scores.reshape(*shape[:2], *scores.shape[1:]), attn_mask)
            weights = softmax(scores, -1, False)
            lost = MAX(scores, -1, None, None, True) == -np.inf
            if lost.any():
                np.copyto(weights, 0, where=lost)
        return run(np.matmul, weights, third).reshape(shape)

    return way


def _scores(query: Array, key: Array, factor: Array) -> Any:
    return np.matmul(query * factor, key.swapaxes(1, 2))


def _hide(scores: Array, mask: Array) -> None:
    if mask.dtype.kind == "b":
        np.copyto(scores, -np.inf, where=~mask)
    else:
        scores += mask


_ATTENTION_PARTS: Final = """
    mul.Scalar transpose.int matmul reshape view bmm softmax.int new_ones triu masked_fill.Scalar logical_not
    broadcast_tensors expand add.Tensor _safe_softmax eq.Scalar amax _unsafe_view
"""


def _pixel_shuffle(self: Array, upscale_factor: int) -> Any:
    *outer, channels, height, width = self.shape
    factor, n = upscale_factor, len(outer)
    if not self.flags.c_contiguous or factor < 1 or channels % (factor * factor):
        return NotImplemented
    made = channels // (factor * factor)
    parts = self.reshape(*outer, made, factor, factor, height, width)
    turned = parts.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    found = np.empty((*outer, made, height * factor, width * factor), self.dtype)
    found.reshape(turned.shape)[...] = turned
    return found


def _pixel_unshuffle(self: Array, downscale_factor: int) -> Any:
    *outer, channels, height, width = self.shape
    factor, n = downscale_factor, len(outer)
    if not self.flags.c_contiguous or factor < 1 or height % factor or width % factor:
        return NotImplemented
    parts = self.reshape(*outer, channels, height // factor, factor, width // factor, factor)
    turned = parts.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    found = np.empty((*outer, channels * factor * factor, height // factor, width // factor), self.dtype)
    found.reshape(turned.shape)[...] = turned
    return found


def _channel_shuffle(self: Array, groups: int) -> Any:
    batch, channels, *rest = self.shape
    # Where all further sizes are 1, channels may lie innermost.
    if not (rest and self.flags.c_contiguous and groups > 0 and self.size) or channels % groups or max(rest) == 1:
        return NotImplemented
    found = np.empty(self.shape, self.dtype)
    turned = self.reshape(batch, groups, channels // groups, *rest).swapaxes(1, 2)
    found.reshape(turned.shape)[...] = turned
    return found


_PIXELS: Final = {"parts": ("reshape", "view", "permute", "clone", "_unsafe_view")}

#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {
    **{f"conv{count}d": (_direct(count), {"parts": ("convolution",)}) for count in (1, 2)},
    **resampling.SHORT_WAYS,
    **pooling.SHORT_WAYS,
    "scaled_dot_product_attention": (
        _make_attention,
        {"parts": tuple(_ATTENTION_PARTS.split()), "uses": ("_softmax",)},
    ),
    "channel_shuffle": (_channel_shuffle, {"parts": ("reshape", "view", "transpose.int", "clone", "_unsafe_view")}),
    "pixel_shuffle": (_pixel_shuffle, _PIXELS),
    "pixel_unshuffle": (_pixel_unshuffle, _PIXELS),
    "batch_norm": (_batch_norm, {"parts": ("native_batch_norm", "_native_batch_norm_legit_no_training")}),
}
