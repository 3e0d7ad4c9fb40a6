"""Short ways of softmax and of losses that are composites; see `short_ways`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..arrays import Array
from ..fp_errors import run
from ..kernel_table import Kernel
from . import loss
from .constants import NUMBERS, number
from .numpy_formulas import clamp
from .reduce_ufuncs import SUM

_NLL: Final = loss.KERNELS["nll_loss_forward"]


def decline(*args: Any, **kwargs: Any) -> Any:
    """Leave a call to the usual way."""
    return NotImplemented


def _without_dtype(kernel: Kernel) -> Kernel:
    def way(self: Array, dim: int, dtype: Any = None) -> Any:
        return kernel(self, dim, False) if dtype is None else NotImplemented

    return way


def _is_batch(self: Array, target: Array) -> bool:
    return self.ndim == 2 and target.shape == self.shape[:1]


def _nll_loss(self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int) -> Any:
    return _NLL(self, target, weight, reduction, ignore_index)[0] if _is_batch(self, target) else NotImplemented


def _make_cross_entropy(log_softmax: Kernel) -> Kernel:
    def way(
        self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int, label_smoothing: float
    ) -> Any:
        if label_smoothing or not _is_batch(self, target):
            return NotImplemented
        return _NLL(log_softmax(self, 1, False), target, weight, reduction, ignore_index)[0]

    return way


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


#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {
    "softmax.int": (_without_dtype, {"uses": ("_softmax",)}),
    "log_softmax.int": (_without_dtype, {"uses": ("_log_softmax",)}),
    "nll_loss": (_nll_loss, {"parts": ("nll_loss_forward",)}),
    "nll_loss_nd": (_nll_loss, {"parts": ("nll_loss", "nll_loss_forward")}),
    "cross_entropy_loss": (
        _make_cross_entropy,
        {"parts": ("log_softmax.int", "nll_loss_nd", "nll_loss", "nll_loss_forward"), "uses": ("_log_softmax",)},
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
