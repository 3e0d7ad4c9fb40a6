"""The dtypes and numbers that operators refuse, with torch's errors."""

from __future__ import annotations

import math
import sys
from functools import cache
from typing import TYPE_CHECKING, Final

from dispatch_aten import errors
from dispatch_aten.dtypes import FLOAT8, ScalarType, bfloat16, bool_, complex64, complex128, float16, float32, float64
from dispatch_aten.errors import OperatorError, UnsupportedError
from dispatch_aten.families import fact_of

if TYPE_CHECKING:
    from dispatch_aten.promotion import Number


def kind_of(dtype: ScalarType) -> str:
    """Return b, i, f or c for ``bool``, integers, floating-point and complex types."""
    if dtype == bool_:
        return "b"
    if dtype.is_complex:
        return "c"
    return "f" if dtype.is_floating_point else "i"


@cache
def _lacks(name: str) -> tuple[dict[str, tuple[type[Exception], str]], str, str]:
    """Return the kinds of dtypes that an operator refuses with errors of its own, and those that torch's kernel lacks.

    They are the facts ``lacks`` of an overload or a family: kinds, and then the kernel's name or an error and its text.
    """
    in_words, kinds, kernel = {}, "", f"{name.partition('.')[0].removeprefix('special_')}_cpu"
    for fact in fact_of(name, "lacks"):
        of_kinds, word, text = (*fact.split(" ", 2), "", "")[:3]
        if text:
            in_words[of_kinds] = getattr(errors, word), text
        else:
            kinds, kernel = of_kinds, word or kernel
    return in_words, kinds, kernel


def refuse(name: str, dtype: ScalarType) -> None:
    """Refuse a computation dtype that an operator has an error of its own for."""
    for kinds, (error, text) in _lacks(name)[0].items():
        if kind_of(dtype) in kinds:
            raise error(text)


def refuse_kinds(kernel: str, kinds: str, dtype: ScalarType) -> None:
    """Refuse dtypes of some ``kinds`` (see ``kind_of``), which torch's kernel of that name does not have."""
    if _is_of(dtype, kinds) or dtype in FLOAT8:
        raise UnsupportedError(f"\"{kernel}\" not implemented for '{dtype.name}'")


def _is_of(dtype: ScalarType, kinds: str) -> bool:
    """Return whether a dtype is of one of these kinds, of which h represents floats of 16 bits."""
    return kind_of(dtype) in kinds or ("h" in kinds and dtype in (float16, bfloat16))


def check_kernel(name: str, dtype: ScalarType) -> None:
    """Refuse a computation dtype that torch's kernel of an operator does not have."""
    _, kinds, kernel = _lacks(name)
    refuse_kinds(kernel, kinds, dtype)


def refused_dtypes(name: str) -> frozenset[ScalarType]:
    """Return the computation dtypes that an operator refuses, in either way."""
    in_words, lacked, _ = _lacks(name)
    kinds = "".join([lacked, *in_words])
    found = frozenset(dtype for dtype in ScalarType if _is_of(dtype, kinds))
    return found if name.partition(".")[0] in _FLOAT8_TOO else found | FLOAT8


_FLOAT8_TOO: Final = frozenset("abs eq ne isnan signbit isposinf isneginf sgn _conj_physical".split())


def c_name(dtype: ScalarType) -> str:
    """Return the name that torch's messages have for a dtype in a few places: ``float`` and ``long int``'s ``long``."""
    return _C_NAMES.get(dtype.name, dtype.name.lower())


_C_NAMES: Final = {
    "Byte": "unsigned char",
    "Char": "signed char",
    "Long": "long int",
    "Half": "c10::Half",
    "BFloat16": "c10::BFloat16",
    "ComplexFloat": "c10::complex<float>",
    "ComplexDouble": "c10::complex<double>",
}


GREATEST: Final = {
    float16: 65504.0,
    bfloat16: 3.3895313892515355e38,
    float32: 3.4028234663852886e38,
    float64: sys.float_info.max,
    complex64: 3.4028234663852886e38,
    complex128: sys.float_info.max,
}
"""The greatest finite number of floating-point and complex types."""


def check_fits(value: Number, dtype: ScalarType, argument: str) -> None:
    """Refuse a number that the dtype cannot hold, as torch's conversion of a scalar does (source: ``c10::overflows``).

    Integers may wrap to unsigned types, infinities and nan are taken where there are some, and all fits ``bool``.
    """
    if dtype == bool_:
        return
    parts: tuple[float, ...] = (value.real, value.imag) if isinstance(value, complex) else (value,)
    if not dtype.is_complex and any(parts[1:]):
        fits = False
    elif dtype.is_integral:
        low, high = dtype.bounds
        # Integers alone wrap.
        fits = (low or (-high if isinstance(value, int) else 0)) <= parts[0] <= high
    else:
        greatest = GREATEST.get(dtype, math.inf)
        # A captured function's live number is of no subclass of float: its value is not read, and decisions on it are
        # conditions. A plan's number that is not known yet is of one, and nan.
        finite = [part for part in parts if not issubclass(type(part), float) or math.isfinite(part)]
        fits = not any(greatest < abs(part) < math.inf for part in finite)
    if not fits:
        name = _C_TYPES.get(dtype.name) or _C_NAMES.get(dtype.name) or f"{dtype.short}_t"
        raise OperatorError(f"value cannot be converted to type {name} without overflow", argument=argument)


_C_TYPES: Final = {
    "Byte": "uint8_t",
    "Char": "int8_t",
    "Short": "int16_t",
    "Int": "int",
    "Long": "int64_t",
    "Float": "float",
    "Double": "double",
}
