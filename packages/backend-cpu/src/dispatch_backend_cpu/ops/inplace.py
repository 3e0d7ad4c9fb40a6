"""Element-wise kernels that write to their first argument, where that is cheaper than a copy of the functional result.

Everything is checked before anything is written: a call that fails changes nothing. Operators that are not here are the
functional one and ``copy_``, by decomposition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dispatch_aten.shapes import check_output_shape

from ..arrays import Array, check_writable
from ..fp_errors import ignore_fp_errors
from ..kernel_table import Kernel, KernelTable
from ..output_specs import infer_output
from . import pointwise
from .fast_paths import PLAIN, attempt, inplace_binary, inplace_unary
from .rule_kernels import cast, check_overlap, store

__all__ = ["COVERED", "KERNELS"]

KERNELS: Final = KernelTable()
COVERED: Final[dict[str, Kernel]] = {}
"""Kernels that serve the calls with ``alpha == 1`` and do not receive it."""

_REAL: Final = frozenset(map(np.dtype, "fd"))
_NUMERIC: Final = pointwise.dtypes_of_kinds("ifc")
#: A factor that changes nothing; True does, for it is refused.
_ONE: Final = 1


def _is_plain(self: Array, *others: Any) -> bool:
    """Say whether all are arrays of one real dtype and shape, so that NumPy may write without conversion."""
    dtype, shape = self.dtype, self.shape
    return dtype in _REAL and all(
        type(other) is np.ndarray and other.dtype is dtype and other.shape == shape for other in others
    )


def _scaled(name: str, ufunc: Any) -> Kernel:
    """Make ``add_`` or ``sub_`` with a factor."""
    functional = pointwise.KERNELS[name.replace("_.", ".")]

    @ignore_fp_errors
    def scaled(self: Array, other: Array, alpha: Any) -> None:
        ufunc(self, np.multiply(other, np.array(alpha, self.dtype)), self)

    def kernel(self: Array, other: Array, *, alpha: Any = 1) -> Array:
        check_overlap(self, other)
        if type(alpha) in PLAIN and _is_plain(self, other):
            scaled(self, other, alpha)
            return self
        infer_output(name, self, other, alpha=alpha)
        return store(self, functional(self, other, alpha=alpha))

    return kernel


def _unscaled(name: str, ufunc: Any) -> Kernel:
    functional = pointwise.COVERED[name.replace("_.", ".")]
    return inplace_binary(name, ufunc, functional, _NUMERIC)


def _with_number(name: str, ufunc: Any) -> Kernel:
    """Make an in-place kernel of an array and a Python number."""
    functional = pointwise.KERNELS[name.replace("_.", ".")]

    @ignore_fp_errors
    def with_number(self: Array, other: Any) -> None:
        ufunc(self, np.array(other, self.dtype), self)

    def general(self: Array, other: Any, *alpha: Any) -> Array:
        check_overlap(self)
        if self.dtype in _REAL and type(other) in PLAIN and (not alpha or alpha[0] is _ONE):
            with_number(self, other)
            return self
        infer_output(name, self, other, *alpha)
        return store(self, functional(self, other, *alpha))

    return attempt(
        "self, other, *alpha",
        "(numbers := NUMBERS.get(self.dtype)) is not None and type(other) in PLAIN"
        " and (not alpha or alpha[0] is ONE) and is_small(self)",
        "run(ufunc, self, numbers[other])",
        general,
        into="self",
        ufunc=ufunc,
        ONE=_ONE,
    )


def _fused(name: str, ufunc: Any) -> Kernel:
    """Make ``addcmul_`` or ``addcdiv_``: ``self`` plus a factor times a product or quotient."""
    functional = pointwise.KERNELS[name[:-1]]

    @ignore_fp_errors
    def fused(self: Array, tensor1: Array, tensor2: Array, value: Any) -> None:
        step = np.multiply(tensor1, np.array(value, self.dtype))
        np.add(self, ufunc(step, tensor2), self)

    def kernel(self: Array, tensor1: Array, tensor2: Array, *, value: Any = 1) -> Array:
        check_overlap(self, tensor1, tensor2)
        if type(value) in PLAIN and _is_plain(self, tensor1, tensor2):
            fused(self, tensor1, tensor2, value)
            return self
        infer_output(name, self, tensor1, tensor2, value=value)
        return store(self, functional(self, tensor1, tensor2, value=value))

    return kernel


@ignore_fp_errors
def _lerp_plain(self: Array, end: Array, weight: Any) -> None:
    """Interpolate from the nearer end, as ``lerp`` does."""
    step = end - self
    if abs(weight) < 0.5:
        np.add(self, step * np.array(weight, self.dtype), self)
    else:
        np.subtract(end, step * np.array(1 - weight, self.dtype), self)


def _computed(name: str, make: Callable[..., Any]) -> Kernel:
    """Make an in-place kernel that computes a copy and stores it, without the decomposition's detours."""

    def kernel(self: Array, *args: Any, **kwargs: Any) -> Array:
        check_overlap(self, *args)
        infer_output(name, self, *args, **kwargs)
        return store(self, make(self, *args, **kwargs))

    return kernel


for _name, (_ufunc, _kinds) in pointwise.UNARY.items():
    # What gives bool for every dtype is left to the decomposition.
    if not _ufunc.__name__.startswith(("is", "logical")):
        _dtypes = pointwise.dtypes_of_kinds(_kinds)
        KERNELS[f"{_name}_"] = inplace_unary(f"{_name}_", _ufunc, pointwise.KERNELS[_name], _dtypes)

for _name, _ufunc in (("add_.Tensor", np.add), ("sub_.Tensor", np.subtract)):
    KERNELS[_name] = _scaled(_name, _ufunc)
    COVERED[_name] = _unscaled(_name, _ufunc)

KERNELS["mul_.Tensor"] = inplace_binary("mul_.Tensor", np.multiply, pointwise.KERNELS["mul.Tensor"], None)
KERNELS["div_.Tensor"] = inplace_binary(
    "div_.Tensor", np.true_divide, pointwise.KERNELS["div.Tensor"], pointwise.dtypes_of_kinds("fc")
)
for _name, _ufunc in (
    ("add_.Scalar", np.add),
    ("sub_.Scalar", np.subtract),
    ("mul_.Scalar", np.multiply),
    ("div_.Scalar", np.true_divide),
):
    KERNELS[_name] = _with_number(_name, _ufunc)

KERNELS["addcmul_"] = _fused("addcmul_", np.multiply)
KERNELS["addcdiv_"] = _fused("addcdiv_", np.true_divide)
for _name in ("lerp_.Tensor", "relu_", "sigmoid_"):
    KERNELS[_name] = _computed(_name, pointwise.KERNELS[_name.replace("_.", ".") if "." in _name else _name[:-1]])


@KERNELS("masked_fill_.Scalar", "masked_fill_.Tensor")
@ignore_fp_errors
def _masked_fill_inplace(self: Array, mask: Array, value: Any) -> Array:
    check_writable(self, expanded=True)
    spec = infer_output(
        "masked_fill.Tensor" if isinstance(value, np.ndarray) else "masked_fill.Scalar", self, mask, value
    )
    check_output_shape(spec.shape, self.shape)
    np.copyto(self, cast(value, self.dtype), where=mask)
    return self


_lerp_general: Final = _computed("lerp_.Scalar", pointwise.KERNELS["lerp.Scalar"])


@KERNELS("lerp_.Scalar")
def _lerp_inplace(self: Array, end: Array, weight: Any) -> Array:
    if type(weight) in PLAIN and _is_plain(self, end):
        check_overlap(self, end)
        _lerp_plain(self, end, weight)
    else:
        _lerp_general(self, end, weight)
    return self
