"""Short ways of losses that are composites; see `short_ways`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...arrays import Array
from ...fp_errors import run
from ...kernel_table import Kernel
from ..networks import loss
from ..pointwise.numpy_formulas import clamp
from ..support.constants import NUMBERS, number
from ..support.reduce_ufuncs import SUM

_NLL: Final = loss.KERNELS["nll_loss_forward"]
_INT64: Final = np.dtype(np.int64)


def decline(*args: Any, **kwargs: Any) -> Any:
    """Leave a call to the usual way."""
    return NotImplemented


def _nll_loss(self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int) -> Any:
    if self.ndim == 2:
        return (
            _NLL(self, target, weight, reduction, ignore_index)[0] if target.shape == self.shape[:1] else NotImplemented
        )
    if self.ndim < 2 or target.shape != (self.shape[0], *self.shape[2:]) or target.dtype is not _INT64 or not self.size:
        return NotImplemented
    if weight is not None and (weight.dtype is not self.dtype or weight.shape != self.shape[1:2]):
        return NotImplemented
    if self.dtype not in NUMBERS or not self.flags.c_contiguous:
        return NotImplemented
    found = run(loss.nll_of_places, self, target, weight, reduction, ignore_index)[0]
    return found if reduction else found.reshape(target.shape)


def _make_cross_entropy(log_softmax: Kernel) -> Kernel:
    def way(
        self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int, label_smoothing: float
    ) -> Any:
        if target.dtype is not _INT64 or not 2 <= self.ndim == target.ndim + 1:
            return NotImplemented
        if label_smoothing and (weight is not None or reduction != 1 or ignore_index >= 0 or self.dtype not in NUMBERS):
            return NotImplemented
        logs = log_softmax(self, 1, False)
        found = _nll_loss(logs, target, weight, reduction, ignore_index)
        if label_smoothing and found is not NotImplemented:
            # A target that is ignored, negative here, is left to the usual way.
            if target.item(target.argmin()) < 0 or not 0 < label_smoothing <= 1:
                return NotImplemented
            return run(_smoothen, logs, found, label_smoothing)
        return found

    return way


def _smoothen(logs: Array, found: Array, share: float) -> Any:
    """Add the loss against a target that spreads evenly over the classes."""
    even = SUM(np.negative(SUM(logs, 1)), None) / number(logs.size // logs.shape[1], logs)
    return found * number(1 - share, logs) + even * number(share / logs.shape[1], logs)


def _divergence(a: Array, b: Array) -> Any:
    own = b * np.log(np.where(b == 0, number(1, b), b))
    return own - b * a


def _make_cosine_similarity(norm: Kernel) -> Kernel:
    def way(x1: Array, x2: Array, dim: int, eps: float) -> Any:
        if x1.dtype is not x2.dtype or x1.dtype not in NUMBERS or x1.shape != x2.shape or not x1.size:
            return NotImplemented
        first, second = (norm(each, 2, [dim], True, dtype=None) for each in (x1, x2))
        return run(_product_of_units, x1, x2, first, second, dim, number(eps, x1))

    return way


def _product_of_units(x1: Array, x2: Array, first: Array, second: Array, dim: int, least: Array) -> Any:
    return SUM((x1 / clamp(first, least)) * (x2 / clamp(second, least)), dim)


_IMAGES: Final = ("nll_loss", "nll_loss_forward", "movedim.int", "permute", "reshape", "view", "clone", "_unsafe_view")
_SMOOTHING: Final = tuple(
    """
    add.Tensor div.Tensor eq.Scalar logical_not masked_fill.Scalar mul.Scalar neg sum sum.dim_IntList _to_copy
    """.split()
)

#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {
    "nll_loss": (_nll_loss, {"parts": ("nll_loss_forward",)}),
    "nll_loss_nd": (_nll_loss, {"parts": _IMAGES}),
    "cross_entropy_loss": (
        _make_cross_entropy,
        {"parts": ("log_softmax.int", "nll_loss_nd", *_IMAGES, *_SMOOTHING), "uses": ("_log_softmax",)},
    ),
    "l1_loss": (
        loss.make_loss(loss.absolute_loss, decline, also="reduction == 1"),
        {"parts": ("sub.Tensor", "abs", "mean")},
    ),
    "kl_div": (
        loss.make_loss(_divergence, decline, "*, log_target=False", also="reduction == 1 and not log_target"),
        {"parts": ("eq.Scalar", "masked_fill.Scalar", "log", "mul.Tensor", "sub.Tensor", "mean")},
    ),
    "cosine_similarity": (
        _make_cosine_similarity,
        {
            "parts": ("expand", "clamp_min", "div.Tensor", "mul.Tensor", "sum.dim_IntList"),
            "uses": ("linalg_vector_norm",),
        },
    ),
}
