"""Short ways of composites with a gradient: what their parts compute one after another, forward and backward, at once.

Each has a forward function, which returns the result and what backward keeps, and a backward function; see
`dispatch_core.operators.short_ways.ShortGradient`. Their formulas are those of the parts' kernels, so with their bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from ..arrays import Array
from ..fp_errors import run
from . import loss, matmul, normalization, short_losses, short_networks
from .constants import NUMBERS, number
from .reduce_ufuncs import SUM

GradientFields = tuple[Callable[..., Any], Callable[..., Any], dict[str, tuple[str, ...]], tuple[str, ...]]

_BLAS: Final = frozenset(map(np.dtype, "fd"))
_INT64: Final = np.dtype(np.int64)


def _multiply(a: Array, b: Array) -> Any:
    """Return a product of matrices, as the kernel of ``mm`` does."""
    return a.dot(b) if a.flags.forc and b.flags.forc else np.matmul(a, b)


def _linear(input: Array, weight: Array, bias: Array | None) -> Any:
    shape, dtype = input.shape, input.dtype
    if dtype not in _BLAS or weight.dtype is not dtype or weight.ndim != 2 or len(shape) < 2:
        return NotImplemented
    if not (input.size and weight.size and weight.flags.c_contiguous and (len(shape) > 2 or input.flags.c_contiguous)):
        return NotImplemented
    flat = input if len(shape) == 2 else input.reshape(-1, shape[-1])
    if bias is None:
        found = run(_multiply, flat, weight.T)
    elif bias.dtype is dtype and bias.shape == weight.shape[:1]:
        found = run(matmul.product_plus, flat, weight.T, bias)
    else:
        return NotImplemented
    return (found if flat is input else found.reshape(*shape[:-1], -1)), (flat, weight, shape)


def _linear_or_rows(input: Array, weight: Array, bias: Array | None) -> Any:
    """Return the product; of one row after another it is that of ``addmm``."""
    if bias is not None and input.ndim == 2:
        return _ADDMM(bias, input, weight.T)
    found = _linear(input, weight, bias)
    return found if found is NotImplemented else found[0]


_ADDMM: Final = matmul.KERNELS["addmm"]


def _linear_slopes(kept: Any, grad: Array, wanted: tuple[Any, ...]) -> Any:
    flat, weight, shape = kept
    if grad.dtype is not flat.dtype:
        return NotImplemented
    return run(_multiply_slopes, flat, weight, shape, grad if grad.ndim == 2 else grad.reshape(len(flat), -1), *wanted)


def _multiply_slopes(
    flat: Array, weight: Array, shape: tuple[int, ...], grad: Array, input: Any, for_weight: Any, bias: Any
) -> Any:
    return (
        None if input is None else _multiply(grad, weight).reshape(shape),
        None if for_weight is None else _multiply(grad.T, flat),
        None if bias is None else SUM(grad, 0),
    )


def _matmul(self: Array, other: Array) -> Any:
    left, right, dtype = self.shape, other.shape, self.dtype
    if (
        dtype not in _BLAS
        or other.dtype is not dtype
        or len(left) < 2
        or len(right) < 2
        or not (self.size and other.size)
    ):
        return NotImplemented
    if left[-1] != right[-2] or not self.flags.c_contiguous:
        return NotImplemented
    if len(right) == 2:
        # A stack of matrices times one matrix is one product of a taller matrix.
        if not other.flags.forc:
            return NotImplemented
        flat = self if len(left) == 2 else self.reshape(-1, left[-1])
        found = run(np.ndarray.dot, flat, other)
        return (found if flat is self else found.reshape(*left[:-1], right[1])), (flat, other, left)
    if left[:-2] != right[:-2]:
        return NotImplemented
    return run(np.matmul, self, other), (self, other, None)


def _matmul_or_vector(self: Array, other: Array) -> Any:
    """Return the product, also one with a vector."""
    if other.ndim != 1:
        found = _matmul(self, other)
        return found if found is NotImplemented else found[0]
    if self.ndim > 2 or (dtype := self.dtype) not in _BLAS or other.dtype is not dtype or not self.size:
        return NotImplemented
    if not (self.flags.forc and other.flags.forc) or self.shape[-1:] != other.shape:
        return NotImplemented
    return np.asarray(run(np.ndarray.dot, self, other))


def _matmul_slopes(kept: Any, grad: Array, wanted: tuple[Any, ...]) -> Any:
    return run(_multiply_back, grad, *kept, *wanted) if grad.dtype is kept[0].dtype else NotImplemented


def _multiply_back(
    grad: Array, first: Array, second: Array, shape: tuple[int, ...] | None, for_first: Any, for_second: Any
) -> Any:
    if shape is None:
        return (
            None if for_first is None else np.matmul(grad, second.swapaxes(-1, -2)),
            None if for_second is None else np.matmul(first.swapaxes(-1, -2), grad),
        )
    grad = grad.reshape(len(first), -1)
    slope = None
    if for_second is not None:
        # The gradient lies in memory as the factor does.
        item, rows = second.itemsize, second.shape[0]
        is_turned = second.strides == (item, item * rows)
        slope = _multiply(grad.T, first).T if is_turned else _multiply(first.T, grad)
    if for_first is None:
        return None, slope
    # As for the other factor: one column lies both ways.
    is_turned = first.strides == (first.itemsize, first.itemsize * first.shape[0])
    found = _multiply(second, grad.T).T if is_turned else _multiply(grad, second.T)
    return found.reshape(shape), slope


def _add_product(self: Array, mat1: Array, mat2: Array, beta: Any, alpha: Any) -> Any:
    dtype, shape = self.dtype, self.shape
    if not (beta == alpha == 1) or dtype not in _BLAS or not (dtype is mat1.dtype is mat2.dtype):
        return NotImplemented
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[0] or not (mat1.size and mat2.size):
        return NotImplemented
    if not (mat1.flags.c_contiguous and mat2.flags.forc and self.flags.c_contiguous):
        return NotImplemented
    if shape not in (mat2.shape[1:], (mat1.shape[0], mat2.shape[1])):
        return NotImplemented
    return run(matmul.product_plus, mat1, mat2, self), (mat1, mat2, len(shape) == 1)


def _add_product_slopes(kept: Any, grad: Array, wanted: tuple[Any, ...]) -> Any:
    mat1, mat2, is_row = kept
    if grad.dtype is not mat1.dtype:
        return NotImplemented
    found = run(_multiply_back, grad, mat1, mat2, mat1.shape, wanted[1], wanted[2])
    return run(SUM, grad, 0) if is_row and wanted[0] is not None else grad, *found


def _is_classified(self: Array, target: Array, weight: Array | None) -> bool:
    """Return whether each row has one target."""
    return (
        self.ndim == 2
        and self.dtype in NUMBERS
        and bool(self.size)
        and self.flags.c_contiguous
        and target.dtype is _INT64
        and target.shape == self.shape[:1]
        and (weight is None or (weight.dtype is self.dtype and weight.shape == self.shape[1:]))
    )


def _nll(self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int) -> Any:
    if not _is_classified(self, target, weight):
        return NotImplemented
    found, total = run(loss.nll_of_places, self, target, weight, reduction, ignore_index)
    return np.asarray(found), (self, target, weight, reduction, ignore_index, total)


def _nll_slope(kept: Any, grad: Array, wanted: tuple[Any, ...]) -> Any:
    if grad.dtype is not kept[0].dtype:
        return NotImplemented
    return run(loss.nll_slope, grad, *kept), None, None


def _cross_entropy(
    self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int, label_smoothing: float
) -> Any:
    if label_smoothing or not _is_classified(self, target, weight):
        return NotImplemented
    return run(_log_likelihood, self, target, weight, reduction, ignore_index)


def _log_likelihood(self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int) -> Any:
    logs = loss.logarithms(self, 1)
    found, total = loss.nll_of_places(logs, target, weight, reduction, ignore_index)
    return np.asarray(found), (logs, target, weight, reduction, ignore_index, total)


def _cross_entropy_slope(kept: Any, grad: Array, wanted: tuple[Any, ...]) -> Any:
    if grad.dtype is not kept[0].dtype:
        return NotImplemented
    return run(_likelihood_slope, grad, *kept), None, None


def _likelihood_slope(
    grad: Array, logs: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int, total: Any
) -> Any:
    """Return the gradient of both parts, at once where all rows have the same slope."""
    count, classes = logs.shape
    if weight is not None or not reduction or ignore_index >= 0 or target.item(target.argmin()) < 0:
        return loss.log_softmax_slope(
            loss.nll_slope(grad, logs, target, weight, reduction, ignore_index, total), logs, 1
        )
    slope = grad / total if reduction == 1 else grad
    found = np.exp(logs)
    found *= slope
    found.reshape(-1)[np.arange(0, count * classes, classes) + target] -= slope
    return found


def _layer_norm(
    input: Array, shape: Sequence[int], weight: Array | None, bias: Array | None, eps: float, cudnn_enable: bool
) -> Any:
    dtype, sizes = input.dtype, tuple(shape)
    if dtype not in NUMBERS or not input.size or not input.flags.c_contiguous or input.shape[-len(sizes) :] != sizes:
        return NotImplemented
    for each in (weight, bias):
        if each is not None and (each.dtype is not dtype or each.shape != sizes or not each.flags.c_contiguous):
            return NotImplemented
    cut = normalization.cut_layers(input.shape, sizes)
    out, mean, _, rstd = run(normalization.standardize, cut, input, weight, bias, eps)
    return out, (cut, input, mean, rstd, weight)


def _layer_norm_slopes(kept: Any, grad: Array, wanted: tuple[Any, ...]) -> Any:
    cut, input, mean, rstd, weight = kept
    if grad.dtype is not input.dtype:
        return NotImplemented
    mask = [each is not None for each in wanted]
    found = run(normalization.differentiate, cut, grad, input, mean, rstd, weight, mask)
    return (
        found if weight is None or weight.ndim == 1 else (found[0], *[each.reshape(weight.shape) for each in found[1:]])
    )


def _attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Any:
    shape, dtype = query.shape, query.dtype
    if attn_mask is not None or dropout_p or enable_gqa or dtype not in _BLAS or not (query.size and key.size):
        return NotImplemented
    if not (dtype is key.dtype is value.dtype and len(shape) == key.ndim == value.ndim == 4):
        return NotImplemented
    if not (
        shape[:2] == key.shape[:2] and key.shape[:3] == value.shape[:3] and shape[3] == key.shape[3] == value.shape[3]
    ):
        return NotImplemented
    factor = number(1.0 / math.sqrt(shape[-1]) if scale is None else scale, query)
    return run(_attend, query, key, value, factor, is_causal)


def _attend(query: Array, key: Array, value: Array, factor: Array, is_causal: bool) -> Any:
    scaled = query * factor
    scores = np.matmul(scaled, key.swapaxes(2, 3))
    later = _later_columns(*scores.shape[2:]) if is_causal else None
    if later is not None:
        np.copyto(scores, -math.inf, where=later)
    weights = loss.exponents(scores, 3)
    kept = (scaled, key, value, weights, factor, later)
    if query.flags.c_contiguous:
        return np.matmul(weights, value), kept
    # The result lies in memory as the query does.
    order = sorted(range(4), key=lambda dim: (-query.strides[dim], query.shape[dim] == 1, dim))
    found = np.empty([query.shape[dim] for dim in order], query.dtype)
    return np.matmul(weights, value, out=found.transpose([order.index(dim) for dim in range(4)])), kept


@lru_cache(maxsize=64)
def _later_columns(rows: int, columns: int) -> Array:
    """Return which columns come after a row's own."""
    found = np.triu(np.ones((rows, columns), np.bool_), 1)
    found.flags.writeable = False
    return found


def _attention_slopes(kept: Any, grad: Array, wanted: tuple[Any, ...]) -> Any:
    return run(_attend_back, grad, *kept, *wanted) if grad.dtype is kept[0].dtype else NotImplemented


def _attend_back(
    grad: Array,
    scaled: Array,
    key: Array,
    value: Array,
    weights: Array,
    factor: Array,
    later: Array | None,
    for_query: Any,
    for_key: Any,
    for_value: Any,
    mask: None,
) -> Any:
    found: list[Any] = [None, None, None, None]
    if for_value is not None:
        found[2] = np.matmul(weights.swapaxes(2, 3), grad)
    if for_query is not None or for_key is not None:
        slope = loss.softmax_slope(np.matmul(grad, value.swapaxes(2, 3)), weights, 3)
        if later is not None:
            np.copyto(slope, 0, where=later)
        if for_query is not None:
            found[0] = np.matmul(slope, key)
            found[0] *= factor
        if for_key is not None:
            found[1] = np.matmul(scaled.swapaxes(2, 3), slope).swapaxes(2, 3)
    return found


_NLL: Final[GradientFields] = (
    _nll,
    _nll_slope,
    {"self": ("self",), "target": ("self",), "weight": ("self",)},
    ("nll_loss_backward",),
)
#: Operator → forward and backward, what backward needs and for which gradients, and the operators that it calls.
_GRADIENTS: Final[dict[str, GradientFields]] = {
    "linear": (
        _linear,
        _linear_slopes,
        {"input": ("weight",), "weight": ("input",)},
        ("t", "mm", "reshape", "view", "sum.dim_IntList"),
    ),
    "matmul": (
        _matmul,
        _matmul_slopes,
        {"self": ("other",), "other": ("self",)},
        ("t", "mm", "bmm", "transpose.int", "reshape", "view"),
    ),
    "mm": (_matmul, _matmul_slopes, {"self": ("mat2",), "mat2": ("self",)}, ("t",)),
    "bmm": (_matmul, _matmul_slopes, {"self": ("mat2",), "mat2": ("self",)}, ("transpose.int",)),
    "addmm": (
        _add_product,
        _add_product_slopes,
        {"mat1": ("mat2",), "mat2": ("mat1",)},
        ("t", "mm", "sum.dim_IntList"),
    ),
    "nll_loss": _NLL,
    "nll_loss_nd": _NLL,
    "cross_entropy_loss": (
        _cross_entropy,
        _cross_entropy_slope,
        {"target": ("self",), "weight": ("self",)},
        ("nll_loss_backward", "_log_softmax_backward_data"),
    ),
    "layer_norm": (
        _layer_norm,
        _layer_norm_slopes,
        dict.fromkeys(("input", "weight", "bias"), ("input", "weight", "bias")),
        ("native_layer_norm_backward",),
    ),
    "scaled_dot_product_attention": (
        _attention,
        _attention_slopes,
        {"key": ("query",), "value": ("query", "key")},
        tuple("new_ones triu masked_fill.Scalar _softmax_backward_data permute contiguous clone _unsafe_view".split()),
    ),
}
#: Ways without a gradient, which may serve more calls, with their options.
_WAYS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {
    "linear": (_linear_or_rows, {"parts": ("t", "addmm", "matmul", "mm", "reshape", "view", "_unsafe_view")}),
    "matmul": (_matmul_or_vector, {"parts": ("mm", "bmm", "mv", "dot", "reshape", "view", "_unsafe_view", "expand")}),
    **{name: (matmul.KERNELS[name], {}) for name in ("mm", "bmm", "addmm")},
    **short_losses.SHORT_WAYS,
    **short_networks.SHORT_WAYS,
}
#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {}
for _name, _fields in _GRADIENTS.items():
    _way, _options = _WAYS[_name]
    SHORT_WAYS[_name] = _way, {**_options, "gradient": _fields}
