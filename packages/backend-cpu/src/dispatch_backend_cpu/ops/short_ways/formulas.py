"""Short ways of element-wise operators and products that are composites; see `short_ways`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...arrays import Array, empty_strided
from ...fp_errors import run
from ..linear_algebra import matmul
from ..pointwise import numpy_formulas
from ..pointwise.powers import square
from ..reductions import kernels as reduction
from ..support.constants import NUMBERS, number
from ..support.fast_paths import make_formula
from ..support.reduce_ufuncs import SUM
from .losses import decline

Way = tuple[Callable[..., Any], dict[str, Any]]

f: Final = numpy_formulas
_MM, _DOT, _MV = (matmul.KERNELS[name] for name in ("mm", "dot", "mv"))
_SUM = reduction.KERNELS["sum"]


def _clamp(a: Array, low: Any, high: Any) -> Any:
    return f.clamp(a, number(low, a), number(high, a))


def _heaviside(a: Array, values: Array) -> Any:
    zero = number(0, a)
    return f.select(a == zero, values, (a > zero).astype(a.dtype))


#: Operator → the formula of one array, its options as `make_formula` takes them, and the parts of the usual way.
_FORMULAS: Final[dict[str, tuple[Callable[..., Any], str, str]]] = {
    "relu6": (lambda a: _clamp(a, 0, 6), "", "hardtanh clamp"),
    "selu": (lambda a: f.elu(a, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946), "", "elu"),
    "logit": (
        lambda a, eps: np.log(a / (number(1, a) - a)),
        "eps=None",
        "rsub.Scalar div.Tensor log",
    ),
    "deg2rad": (lambda a: a * number(math.pi / 180, a), "", "mul.Scalar"),
    "rad2deg": (lambda a: a * number(180 / math.pi, a), "", "mul.Scalar"),
    "square": (square, "", "pow.Tensor_Scalar"),
}


def _inner(self: Array, other: Array) -> Any:
    if self.dtype is not other.dtype or self.dtype not in NUMBERS:
        return NotImplemented
    if self.ndim == other.ndim == 1:
        return _DOT(self, other)
    return _MM(self, other.T) if self.ndim == other.ndim == 2 else NotImplemented


def _outer(self: Array, vec2: Array) -> Any:
    if self.ndim != 1 or vec2.ndim != 1 or self.dtype is not vec2.dtype or self.dtype not in NUMBERS:
        return NotImplemented
    found = empty_strided((self.size, vec2.size), (max(vec2.size, 1), 1), self.dtype)
    return run(np.multiply, self[:, None], vec2, found)


def _addmv(self: Array, mat: Array, vec: Array, *, beta: Any, alpha: Any) -> Any:
    if type(beta) is not int or type(alpha) is not int or beta != 1 or alpha != 1 or self.dtype not in NUMBERS:
        return NotImplemented
    if self.ndim != 1 or mat.dtype is not self.dtype or vec.dtype is not self.dtype or self.size != mat.shape[0]:
        return NotImplemented
    return run(np.add, self, _MV(mat, vec))


def _trace(self: Array) -> Any:
    return _SUM(self.diagonal(), dtype=None) if self.ndim == 2 and self.dtype in NUMBERS else NotImplemented


def _equal(self: Array, other: Array) -> Any:
    if self.dtype is not other.dtype or self.shape != other.shape:
        return NotImplemented
    if self.size > _MANY and self.flags.c_contiguous and other.flags.c_contiguous:
        # Arrays that differ mostly do so at once.
        self, other = self.reshape(-1), other.reshape(-1)
        if not (self[:_MANY] == other[:_MANY]).all():
            return False
    return bool((self == other).all())


_MANY: Final = 4096


def _nansum(self: Array, dim: Any, keepdim: bool, *, dtype: Any) -> Any:
    """Sum everything: without nans, which the sum shows, as ``sum`` does."""
    if dtype is not None or self.dtype not in NUMBERS or keepdim or (dim and self.ndim != 1) or not self.size:
        return NotImplemented
    if not self.flags.c_contiguous:
        return NotImplemented
    total = run(SUM, self, None)
    if not math.isnan(total):
        return total
    return run(SUM, f.select(np.isnan(self), number(0, self), self), None)


_MADE_FLAT: Final = "tensordot permute reshape view mm _unsafe_view"


#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, Way]] = {
    **{
        name: (
            make_formula(formula, decline, 1, options),
            {"parts": tuple(parts.split())},
        )
        for name, (formula, options, parts) in _FORMULAS.items()
    },
    "heaviside": (
        make_formula(_heaviside, decline, 2),
        {"parts": ("gt.Scalar", "_to_copy", "eq.Scalar", "where.self")},
    ),
    "inner": (_inner, {"parts": tuple(_MADE_FLAT.split())}),
    "outer": (_outer, {"parts": ("unsqueeze", "mul.Tensor")}),
    "addmv": (_addmv, {"parts": ("mv", "expand", "add.Tensor")}),
    "trace": (_trace, {"parts": ("diagonal", "sum")}),
    "nansum": (_nansum, {"parts": ("isnan", "masked_fill.Scalar", "sum.dim_IntList")}),
    "equal": (_equal, {"parts": ("eq.Tensor", "all", "item", "_local_scalar_dense"), "autograd": True}),
}
