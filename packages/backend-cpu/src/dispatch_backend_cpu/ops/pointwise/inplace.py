"""Element-wise kernels that write to their first argument, where that is cheaper than a copy of the functional result.

Everything is checked before anything is written: a call that fails changes nothing. Operators that are not here are the
functional one and ``copy_``, by decomposition.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dispatch_aten.shapes import check_output_shape
from dispatch_aten.variants import functional_of

from ...arrays import Array, check_writable
from ...fp_errors import ignore_fp_errors
from ...kernel_table import Kernel, KernelTable, computed_by
from ...output_specs import infer_output, output_rule
from ..support.compiled_kernels import native
from ..support.constants import ZEROS, constant, number
from ..support.fast_paths import attempt, make_by_copy, make_inplace_binary, make_inplace_unary
from ..support.rule_kernels import cast, check_overlap, store
from . import kernels as pointwise
from . import special
from . import table as pointwise_table
from .numpy_formulas import CLIP, ENDS

KERNELS: Final = KernelTable()
SPECIALIZED: Final[dict[str, Kernel]] = {}
"""Kernels that serve the calls with ``alpha == 1`` and do not receive it."""

_REAL: Final = frozenset(map(np.dtype, "fd"))


def _functional(name: str, kernels: dict[str, Kernel] = pointwise.KERNELS) -> Kernel:
    """Return the kernel of which an in-place one stores the result."""
    functional = functional_of(name) or name
    return kernels[functional] if functional in kernels else special.KERNELS[functional]


def _check(written: str, *read: str) -> str:
    """Return the text that checks that arrays do not overlap: those that own their memory do not."""
    owned = " and ".join(f"{each}.base is None" for each in (written, *read))
    return f"{owned} and {written}.flags.writeable or check_overlap({', '.join((written, *read))})"


def _with_factor(name: str, parameters: str, write: Kernel) -> Kernel:
    """Make an in-place kernel of arrays and, as its last parameter, a number: ``write`` serves plain arrays and numbers."""
    *arrays, number = parameters.replace("*, ", "").partition("=")[0].split(", ")
    given = ", ".join(arrays)
    same = "".join(f" and {each}.dtype is dtype and {each}.shape == self.shape" for each in arrays[1:])
    return attempt(
        parameters,
        f"type({number}) in PLAIN and (dtype := self.dtype) in NUMBERS{same}",
        f"run(write, {given}, {number})",
        make_by_copy(name, _functional(name)),
        first=_check(*arrays),
        write=write,
    )


def _store_in(self: Array, ufunc: Any, step: Array) -> Array:
    """Write a ufunc's result of an array and another; see Note [Small arrays are written in two steps]."""
    if self.size > _SMALL:
        return ufunc(self, step, self)
    self[...] = ufunc(self, step)
    return self


_SMALL: Final = 1024


def _add_scaled(ufunc: Any) -> Kernel:
    """Make the writer of ``add_`` or ``sub_`` with a factor."""
    return lambda self, other, alpha: _store_in(self, ufunc, np.multiply(other, number(alpha, self)))


def _add_product(ufunc: Any) -> Kernel:
    """Make the writer of ``addcmul_`` or ``addcdiv_``: ``self`` plus a factor times a product or quotient."""

    def write(self: Array, tensor1: Array, tensor2: Array, value: Any) -> Array:
        return _store_in(self, np.add, ufunc(np.multiply(tensor1, number(value, self)), tensor2))

    return write


def _interpolate(self: Array, end: Array, weight: Any) -> Array:
    """Interpolate from the nearer end, as ``lerp`` does."""
    step = end - self
    if abs(weight) < 0.5:
        return _store_in(self, np.add, step * number(weight, self))
    return np.subtract(end, step * number(1 - weight, self), self)


def _with_number(name: str, ufunc: Any) -> Kernel:
    """Make an in-place kernel of an array and a Python number."""
    parameters = "self, other, *alpha"
    # A factor of True is no 1: it is refused.
    when = "type(other) in PLAIN and (not alpha or alpha[0] is ONE)"
    large = attempt(
        parameters,
        f"{when} and self.dtype in REAL",
        "run(ufunc, self, NUMBERS[self.dtype][other], self)",
        make_by_copy(name, _functional(name)),
        first="check_overlap(self)",
        ufunc=ufunc,
        REAL=_REAL,
        ONE=1,
    )
    kernel = attempt(
        parameters,
        f"(numbers := NUMBERS.get(self.dtype)) is not None and {when} and is_small(self)",
        "run(ufunc, self, numbers[other])",
        large,
        into="self",
        ufunc=ufunc,
        ONE=1,
    )
    return native("number into", kernel, ufunc, _REAL)


def _by_copy(name: str) -> Kernel:
    """Make an in-place kernel that computes a copy and stores it, without the decomposition's detours."""
    functional, infer = _functional(name), output_rule(name)

    def kernel(self: Array, *args: Any, **kwargs: Any) -> Array:
        if self.base is not None or args or not self.flags.writeable:
            check_overlap(self, *args)
        try:
            found = functional(self, *args, **kwargs)
        except Exception:
            infer(self, *args, **kwargs)  # Its error names this operator.
            raise
        if found.dtype is self.dtype and found.shape == self.shape:
            self[...] = found
            return self
        infer(self, *args, **kwargs)
        return store(self, found)

    return computed_by(kernel, functional)


for _name, (_ufunc, _kinds) in pointwise_table.UNARY.items():
    # Operators that return bool for every dtype are left to the decomposition.
    if not _ufunc.__name__.startswith(("is", "logical")):
        _dtypes = pointwise_table.dtypes_of_kinds(_kinds)
        KERNELS[f"{_name}_"] = make_inplace_unary(f"{_name}_", _ufunc, pointwise.KERNELS[_name], _dtypes)

for _name, _ufunc in (("add_.Tensor", np.add), ("sub_.Tensor", np.subtract)):
    KERNELS[_name] = _with_factor(_name, "self, other, *, alpha=1", _add_scaled(_ufunc))
    _functional_kernel = _functional(_name, pointwise.SPECIALIZED)
    SPECIALIZED[_name] = make_inplace_binary(_name, _ufunc, _functional_kernel, pointwise_table.dtypes_of_kinds("ifc"))
for _name, _ufunc in (("addcmul_", np.multiply), ("addcdiv_", np.true_divide)):
    KERNELS[_name] = _with_factor(_name, "self, tensor1, tensor2, *, value=1", _add_product(_ufunc))
KERNELS["lerp_.Scalar"] = _with_factor("lerp_.Scalar", "self, end, weight", _interpolate)

for _name, _ufunc, _kinds in (("mul_.Tensor", np.multiply, "bifc"), ("div_.Tensor", np.true_divide, "fc")):
    KERNELS[_name] = make_inplace_binary(_name, _ufunc, _functional(_name), pointwise_table.dtypes_of_kinds(_kinds))
for _name, _ufunc in (
    ("add_.Scalar", np.add),
    ("sub_.Scalar", np.subtract),
    ("mul_.Scalar", np.multiply),
    ("div_.Scalar", np.true_divide),
):
    KERNELS[_name] = _with_number(_name, _ufunc)

#: Operators of `kernels` and `special` that write a copy, by overload: ``Tensor`` after a colon means ``name_.Tensor``.
_COPIED: Final = {
    "": """
        logical_not_ atan2_ logical_and_ logical_or_ logical_xor_ hypot_ gcd_ lcm_ nextafter_ sign_ sgn_ rsqrt_ frac_ erf_
        erfc_ silu_ leaky_relu_ elu_ threshold_ relu_ sigmoid_ clamp_ clamp_min_ clamp_max_ hardtanh_ digamma_
        erfinv_ i0_ igamma_ igammac_ lgamma_ sinc_
    """,
    ".Tensor": """
        lerp_ fmod_ eq_ ne_ lt_ le_ gt_ ge_ bitwise_and_ bitwise_or_ bitwise_xor_ copysign_ bitwise_left_shift_
        bitwise_right_shift_ remainder_ clamp_ clamp_min_ clamp_max_ xlogy_
    """,
    ".Scalar": """
        eq_ ne_ lt_ le_ gt_ ge_ bitwise_and_ bitwise_or_ bitwise_xor_ floor_divide_ remainder_ fmod_ pow_
    """,
    ".decimals": "round_",
    ".Tensor_mode": "div_",
    ".Scalar_mode": "div_",
}
for _overload, _texts in _COPIED.items():
    for _name in _texts.split():
        KERNELS[_name + _overload] = _by_copy(_name + _overload)


def _check_written(self: Array) -> Array:
    check_overlap(self)
    return self


_RELU: Final = {"relu": ("self", "True", "zeros[dtype], ENDS[dtype][1]")} if pointwise.CLAMPS else {}
for _name, (_parameters, _when, _bounds) in (pointwise.CLAMPS | _RELU).items():
    _when = f"(numbers := NUMBERS.get(dtype := self.dtype)) is not None and {_when}"
    _names: dict[str, Any] = {"clip": CLIP, "ENDS": ENDS, "OPTIONAL": pointwise.OPTIONAL, "zeros": ZEROS}
    _large = attempt(
        _parameters,
        _when,
        f"clip(check(self), {_bounds}, self)",
        KERNELS[f"{_name}_"],
        check=_check_written,
        **_names,
    )
    # See Note [Small arrays are written in two steps].
    KERNELS[f"{_name}_"] = attempt(
        _parameters, f"is_small(self) and {_when}", f"clip(self, {_bounds})", _large, into="self", **_names
    )


@KERNELS("masked_fill_.Scalar", "masked_fill_.Tensor")
def _masked_fill_inplace(self: Array, mask: Array, value: Any) -> Array:
    filler = constant(value, self.dtype)
    if filler is None or mask.dtype is not _BOOL or mask.shape != self.shape:
        return _masked_fill_generally(self, mask, value)
    flags = self.flags
    if not (flags.writeable and flags.c_contiguous and mask.flags.c_contiguous):
        return _masked_fill_generally(self, mask, value)
    if self.size < _MANY:
        np.putmask(self, mask, filler)
    else:  # does not have to guess each element's branch
        self.reshape(-1)[mask.reshape(-1).nonzero()[0]] = filler
    return self


#: From how many elements writing to the places where a mask is true is faster than looking at each.
_MANY: Final = 4096
_BOOL: Final = np.dtype(np.bool_)


@ignore_fp_errors
def _masked_fill_generally(self: Array, mask: Array, value: Any) -> Array:
    check_writable(self, expanded=True)
    spec = infer_output(f"masked_fill.{pointwise.name_fill(self, value)}", self, mask, value)
    check_output_shape(spec.shape, self.shape)
    np.copyto(self, cast(value, self.dtype), where=mask)
    return self
