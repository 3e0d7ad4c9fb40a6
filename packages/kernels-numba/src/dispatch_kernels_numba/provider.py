"""The provider: kernels by operator, which serve arrays without gaps of float32, some of float64, and decline all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np

import dispatch_core as dc
from dispatch_core.tracebacks import hide_frames

from . import loops
from .machine_code import NotCompiledError

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
hide_frames(__package__)

_SINGLE: Final = frozenset({np.dtype(np.float32)})
_FLOATS: Final = _SINGLE | {np.dtype(np.float64)}
#: Up to how many elements `topk` inserts into its result one by one.
_MOST: Final = 64
_MEAN, _SUM = 1, 2
#: Of fewer elements NumPy chooses faster, with the same result.
_FEW: Final = 2048
#: Up to how many elements a loop finds the greatest of each row itself.
_MANY: Final = 4096
#: Represents an array that is not given.
_NOTHING: Final = {dtype: np.empty(0, dtype) for dtype in _FLOATS}


def _fits(first: Array, *others: Array | None, dtypes: frozenset[np.dtype[Any]] = _FLOATS) -> bool:
    """Return whether all arrays are of one served dtype, of one shape, and have no gaps."""
    dtype = first.dtype
    if dtype not in dtypes or not first.flags.c_contiguous:
        return False
    for each in others:
        if each is None or each.dtype != dtype or each.shape != first.shape or not each.flags.c_contiguous:
            return False
    return True


def _flat(*arrays: Array) -> list[Array]:
    return [array.reshape(-1) for array in arrays]


def _named_by(kernel: Callable[..., Any], loop: Callable[..., None]) -> Callable[..., Any]:
    """Name a kernel by its loop where people read it."""
    return dc.KernelTraits(stands_for=partial(getattr, loop, "py_func", loop))(kernel)


def _element_wise(count: int, loop: Callable[..., None], dtypes: frozenset[np.dtype[Any]]) -> Callable[..., Any]:
    """Return the kernel of a loop over ``count`` arrays; the numbers behind them are of the arrays' dtype."""

    def alone(a: Array, *numbers: Any) -> Any:
        if a.dtype not in dtypes or not a.flags.c_contiguous:
            return NotImplemented
        out = np.empty(a.shape, a.dtype)
        if numbers:
            kind = a.dtype.type
            numbers = tuple([kind(each) for each in numbers])
        try:
            if a.ndim == 1:
                loop(a, *numbers, out)
            else:
                loop(a.reshape(-1), *numbers, out.reshape(-1))
        except NotCompiledError:
            return NotImplemented
        return out

    def kernel(*arguments: Any) -> Any:
        arrays = arguments[:count]
        if not _fits(*arrays, dtypes=dtypes):
            return NotImplemented
        out = np.empty(arrays[0].shape, arrays[0].dtype)
        number = out.dtype.type
        try:
            loop(*_flat(*arrays), *map(number, arguments[count:]), out.reshape(-1))
        except NotCompiledError:
            return NotImplemented
        return out

    return _named_by(alone if count == 1 else kernel, loop)


_sigmoid = _element_wise(1, loops.sigmoid, _SINGLE)
_silu = _element_wise(1, loops.silu, _SINGLE)
_silu_backward = _element_wise(2, loops.silu_backward, _SINGLE)
_leaky_relu = _element_wise(1, loops.leaky_relu, _FLOATS)
_slope = _element_wise(2, loops.leaky_relu_backward, _FLOATS)
_exact_gelu = _element_wise(1, loops.gelu, _SINGLE)
_exact_gelu_backward = _element_wise(2, loops.gelu_backward, _SINGLE)
_inverse_root = _element_wise(1, loops.rsqrt, _FLOATS)
_interpolate = _element_wise(2, loops.lerp, _FLOATS)


def _gelu(self: Array, *, approximate: str) -> Any:
    return _exact_gelu(self) if approximate == "none" else NotImplemented


def _gelu_backward(grad_output: Array, self: Array, *, approximate: str) -> Any:
    return _exact_gelu_backward(grad_output, self) if approximate == "none" else NotImplemented


def _leaky_relu_backward(grad_output: Array, self: Array, negative_slope: Any, self_is_result: bool) -> Any:
    return _slope(grad_output, self, negative_slope)


def _rsqrt(self: Array) -> Any:
    return _inverse_root(self, 1)


def _lerp(self: Array, end: Array, weight: Any) -> Any:
    if isinstance(weight, complex):
        return NotImplemented
    return _interpolate(self, end, weight, 1 - weight)


def _where(condition: Array, self: Array, other: Array) -> Any:
    if (
        self.size < _FEW
        or condition.dtype != np.bool_
        or condition.shape != self.shape
        or not condition.flags.c_contiguous
    ):
        return NotImplemented
    if not _fits(self, other):
        return NotImplemented
    out = np.empty(self.shape, self.dtype)
    try:
        loops.where(*_flat(condition, self, other, out))
    except NotCompiledError:
        return NotImplemented
    return out


def _masked_fill(self: Array, mask: Array, value: Any) -> Any:
    if self.size < _FEW:
        return NotImplemented
    if mask.dtype != np.bool_ or mask.shape != self.shape or not mask.flags.c_contiguous or isinstance(value, complex):
        return NotImplemented
    if not _fits(self):
        return NotImplemented
    out = np.empty(self.shape, self.dtype)
    try:
        loops.masked_fill(*_flat(self, mask), out.dtype.type(value), out.reshape(-1))
    except NotCompiledError:
        return NotImplemented
    return out


def _finish_loss(total: float, like: Array, reduction: int) -> Array:
    return np.array(total / like.size if reduction == _MEAN else total, like.dtype)


def _mse_loss(self: Array, target: Array, reduction: int) -> Any:
    if reduction not in (_MEAN, _SUM) or not self.size or not _fits(self, target):
        return NotImplemented
    try:
        total = loops.sum_of_squared_differences(*_flat(self, target))
    except NotCompiledError:
        return NotImplemented
    return _finish_loss(total, self, reduction)


def _smooth_l1_loss(self: Array, target: Array, reduction: int, beta: float) -> Any:
    if reduction not in (_MEAN, _SUM) or not self.size or not _fits(self, target):
        return NotImplemented
    number = self.dtype.type
    try:
        total = loops.sum_of_smooth_differences(*_flat(self, target), number(beta), number(0.5))
    except NotCompiledError:
        return NotImplemented
    return _finish_loss(total, self, reduction)


def _linalg_vector_norm(self: Array, ord: Any, dim: Any, keepdim: bool, *, dtype: Any) -> Any:
    if ord != 2 or dim is not None or keepdim or dtype is not None or not _fits(self):
        return NotImplemented
    try:
        squares = loops.sum_of_squares(self.reshape(-1))
    except NotCompiledError:
        return NotImplemented
    limits = np.finfo(self.dtype)
    # The backend's kernel scales where squares overflow or lose digits.
    if not limits.tiny / limits.eps < squares < limits.max:
        return NotImplemented
    return np.array(np.sqrt(squares), self.dtype)


def _rows(array: Array, dim: int) -> Array | None:
    """Return an array as the rows of its last dimension; None where another is meant, or there are no elements."""
    if not array.ndim or dim not in (-1, array.ndim - 1) or not array.size:
        return None
    return array.reshape(-1, array.shape[-1])


def _normalize_exponents(loop: Callable[..., None]) -> Callable[..., Any]:
    def kernel(self: Array, dim: int, half_to_float: bool) -> Any:
        rows = _rows(self, dim) if not half_to_float and _fits(self, dtypes=_SINGLE) else None
        if rows is None:
            return NotImplemented
        out = np.empty(self.shape, self.dtype)
        # Of many NumPy finds it faster than a loop that goes one by one.
        greatest = np.maximum.reduce(rows, 1) if rows.size > _MANY else _NOTHING[rows.dtype]
        try:
            loop(rows, greatest, out.reshape(rows.shape))
        except NotCompiledError:
            return NotImplemented
        return out

    return _named_by(kernel, loop)


def _differentiate_exponents(loop: Callable[..., None]) -> Callable[..., Any]:
    def kernel(grad_output: Array, output: Array, dim: int, input_dtype: Any) -> Any:
        rows = _rows(output, dim) if _fits(output, grad_output, dtypes=_SINGLE) else None
        if rows is None or input_dtype != dc.dtype(output):
            return NotImplemented
        out = np.empty(output.shape, output.dtype)
        try:
            loop(grad_output.reshape(rows.shape), rows, out.reshape(rows.shape))
        except NotCompiledError:
            return NotImplemented
        return out

    return _named_by(kernel, loop)


def _native_layer_norm(
    input: Array, normalized_shape: Sequence[int], weight: Array | None, bias: Array | None, eps: float
) -> Any:
    shape = tuple(normalized_shape)
    lead = input.ndim - len(shape)
    if not shape or input.shape[lead:] != shape or not input.size or not _fits(input):
        return NotImplemented
    for each in (weight, bias):
        if each is not None and (each.shape != shape or each.dtype != input.dtype):
            return NotImplemented
    dtype = input.dtype
    rows = input.reshape(-1, prod(shape))
    out, outer = np.empty(input.shape, dtype), input.shape[:lead] + (1,) * len(shape)
    means, rstds = np.empty((2, len(rows)), dtype)
    scale = _NOTHING[dtype] if weight is None else np.ascontiguousarray(weight).reshape(-1)
    shift = _NOTHING[dtype] if bias is None else np.ascontiguousarray(bias).reshape(-1)
    try:
        loops.layer_norm(rows, scale, shift, dtype.type(eps), out.reshape(rows.shape), means, rstds)
    except NotCompiledError:
        return NotImplemented
    return out, means.reshape(outer), rstds.reshape(outer)


def _cumsum(self: Array, dim: int, *, dtype: Any) -> Any:
    rows = _rows(self, dim) if dtype is None and _fits(self) else None
    if rows is None:
        return NotImplemented
    out = np.empty(self.shape, self.dtype)
    try:
        loops.cumsum(rows, out.reshape(rows.shape))
    except NotCompiledError:
        return NotImplemented
    return out


def _topk(self: Array, k: int, dim: int, largest: bool, sorted: bool) -> Any:
    rows = _rows(self, dim) if _fits(self) else None
    if rows is None or not 0 < k <= min(_MOST, rows.shape[1]):
        return NotImplemented
    values, places = np.empty((len(rows), k), self.dtype), np.empty((len(rows), k), np.int64)
    try:
        loops.topk(rows, largest, values, places)
    except NotCompiledError:
        return NotImplemented
    shape = (*self.shape[:-1], k)
    return values.reshape(shape), places.reshape(shape)


KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "_log_softmax": _normalize_exponents(loops.log_softmax),
    "_log_softmax_backward_data": _differentiate_exponents(loops.log_softmax_backward),
    "_softmax": _normalize_exponents(loops.softmax),
    "_softmax_backward_data": _differentiate_exponents(loops.softmax_backward),
    "cumsum": _cumsum,
    "gelu": _gelu,
    "gelu_backward": _gelu_backward,
    "leaky_relu": _leaky_relu,
    "leaky_relu_backward": _leaky_relu_backward,
    "lerp.Scalar": _lerp,
    "linalg_vector_norm": _linalg_vector_norm,
    "masked_fill.Scalar": _masked_fill,
    "mse_loss": _mse_loss,
    "native_layer_norm": _native_layer_norm,
    "rsqrt": _rsqrt,
    "sigmoid": _sigmoid,
    "silu": _silu,
    "silu_backward": _silu_backward,
    "smooth_l1_loss": _smooth_l1_loss,
    "topk": _topk,
    "where.self": _where,
}
"""Every kernel by operator name with overload, in the ``aten`` namespace."""

#: Those that give the bits of the backend's own kernels: they only choose, or round in the same places.
EXACT: Final = (
    "leaky_relu",
    "leaky_relu_backward",
    "lerp.Scalar",
    "masked_fill.Scalar",
    "rsqrt",
    "where.self",
)
for _name in EXACT:
    dc.KernelTraits(is_exact=True)(KERNELS[_name])

PROVIDER: Final = dc.KernelProvider("cpu", {f"aten::{name}": kernel for name, kernel in KERNELS.items()})
