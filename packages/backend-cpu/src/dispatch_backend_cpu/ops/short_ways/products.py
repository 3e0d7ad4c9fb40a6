"""Short ways of products with a gradient: the computations of their parts, forward and backward, at once.

Each has a forward function, which returns the result and the values for backward, and a backward function; see
`dispatch_core.operators.candidates.ShortGradient`. Their formulas are those of the parts' kernels, so with their bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...arrays import FLOAT, NARROW, Array
from ...fp_errors import run
from ...halves import convert
from ..linear_algebra import matmul
from ..support.compiled_kernels import native
from ..support.reduce_ufuncs import SUM

GradientFields = tuple[Callable[..., Any], Callable[..., Any], dict[str, tuple[str, ...]], tuple[str, ...]]

_BLAS: Final = frozenset(map(np.dtype, "fd"))


def _multiply(a: Array, b: Array) -> Any:
    """Return a product of matrices, as the kernel of ``mm`` does."""
    return a.dot(b) if a.flags.forc and b.flags.forc else np.matmul(a, b)


def _multiply_halves(a: Array, b: Array, bias: Array | None = None) -> Any:
    """Return a product of matrices of 16-bit floats, as the kernels of ``mm`` and ``addmm`` do."""
    product = _multiply(convert(a, FLOAT), convert(b, FLOAT))
    if bias is not None:
        product += convert(bias, FLOAT)
    return convert(product, a.dtype)


def _dot(a: Array, b: Array) -> Any:
    return run(np.ndarray.dot, a, b)


def _plus(bias: Array, a: Array, b: Array) -> Any:
    return run(matmul.product_plus, a, b, bias)


#: Products of two matrices that lie without gaps, and of a layer; see Note [Compiled kernels].
_DOT: Final = native("mm", _dot, None, _BLAS)
_PLUS: Final = native("addmm", _plus, np.add, _BLAS)


def _linear(input: Array, weight: Array, bias: Array | None) -> Any:
    shape, dtype = input.shape, input.dtype
    if dtype not in _BLAS or weight.dtype is not dtype or weight.ndim != 2 or len(shape) < 2:
        return NotImplemented
    if not (input.size and weight.size and weight.flags.c_contiguous and (len(shape) > 2 or input.flags.c_contiguous)):
        return NotImplemented
    flat = input if len(shape) == 2 else input.reshape(-1, shape[-1])
    if bias is None:
        found = _DOT(flat, weight.T) if flat.flags.c_contiguous else run(np.matmul, flat, weight.T)
    elif bias.dtype is dtype and bias.shape == weight.shape[:1]:
        found = _PLUS(bias, flat, weight.T)
    else:
        return NotImplemented
    return (found if flat is input else found.reshape(*shape[:-1], -1)), (flat, weight, shape)


def _linear_or_rows(input: Array, weight: Array, bias: Array | None) -> Any:
    """Return the product; of one row after another it is that of ``addmm``."""
    if (dtype := input.dtype) in NARROW:
        if dtype is not weight.dtype or not (input.ndim == weight.ndim == 2 and input.size and weight.size):
            return NotImplemented
        if input.shape[1] != weight.shape[1] or not (
            bias is None or (bias.dtype is dtype and bias.shape == weight.shape[:1])
        ):
            return NotImplemented
        return run(_multiply_halves, input, weight.T, bias)
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
        found = _DOT(flat, other)
        return (found if flat is self else found.reshape(*left[:-1], right[1])), (flat, other, left)
    if left[:-2] != right[:-2]:
        return NotImplemented
    return run(np.matmul, self, other), (self, other, None)


def _matmul_or_vector(self: Array, other: Array) -> Any:
    """Return the product, also one with a vector, and one of matrices of 16-bit floats."""
    if (dtype := self.dtype) in NARROW and dtype is other.dtype and self.ndim == other.ndim == 2:
        is_product = self.size and other.size and self.shape[1] == other.shape[0]
        return run(_multiply_halves, self, other) if is_product else NotImplemented
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
    return _PLUS(self, mat1, mat2), (mat1, mat2, len(shape) == 1)


def _add_product_slopes(kept: Any, grad: Array, wanted: tuple[Any, ...]) -> Any:
    mat1, mat2, is_row = kept
    if grad.dtype is not mat1.dtype:
        return NotImplemented
    found = run(_multiply_back, grad, mat1, mat2, mat1.shape, wanted[1], wanted[2])
    return run(SUM, grad, 0) if is_row and wanted[0] is not None else grad, *found


#: Operator → forward and backward, the values that backward needs and for which gradients, and the operators that it calls.
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
}
#: Ways without a gradient, which may serve more calls, with their options.
_WAYS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {
    "linear": (_linear_or_rows, {"parts": ("t", "addmm", "matmul", "mm", "reshape", "view", "_unsafe_view")}),
    "matmul": (_matmul_or_vector, {"parts": ("mm", "bmm", "mv", "dot", "reshape", "view", "_unsafe_view", "expand")}),
    **{name: (matmul.KERNELS[name], {}) for name in ("mm", "bmm", "addmm")},
}
#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {}
for _name, _fields in _GRADIENTS.items():
    _way, _options = _WAYS[_name]
    SHORT_WAYS[_name] = _way, {**_options, "gradient": _fields}
