"""The dtypes and numbers that operators refuse, with torch's errors."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Final

from dispatch_aten.dtypes import FLOAT8, ScalarType, bfloat16, bool_, complex64, complex128, float16, float32, float64
from dispatch_aten.errors import OperatorError, UnsupportedError

if TYPE_CHECKING:
    from dispatch_aten.promotion import Number


def kind_of(dtype: ScalarType) -> str:
    """Return b, i, f or c for ``bool``, integers, floating-point and complex types."""
    if dtype == bool_:
        return "b"
    if dtype.is_complex:
        return "c"
    return "f" if dtype.is_floating_point else "i"


_KERNELS_LACK: Final = """
abs              b     abs_cpu
ceil             b     ceil_vml_cpu
floor            b     floor_vml_cpu
trunc            b     trunc_vml_cpu
round            bc    round_vml_cpu
round.decimals   bic   round_cpu
frac             bic   frac_cpu
erf              c     erf_vml_cpu
erfc             c     erfc_vml_cpu
bitwise_not      fc    bitwise_not_cpu
bitwise_and      fc    bitwise_and_cpu
bitwise_or       fc    bitwise_or_cpu
bitwise_xor      fc    bitwise_xor_cpu
bitwise_left_shift bfc lshift_cpu
bitwise_right_shift bfc rshift_cpu
__and__          fc    bitwise_and_cpu
__or__           fc    bitwise_or_cpu
__xor__          fc    bitwise_xor_cpu
silu             bi    silu_cpu
gelu             bic   GeluKernelImpl
leaky_relu       bic   leaky_relu_cpu
softplus         bic   softplus_cpu
elu              bic   elu_cpu
threshold        bc    threshold_cpu
remainder        bc    remainder_cpu
fmod             bc    fmod_cpu
floor_divide     bc    div_floor_cpu
pow              b     pow
atan2            c     atan2_cpu
lt               c     lt_cpu
le               c     le_cpu
gt               c     gt_cpu
ge               c     ge_cpu
elu_backward     bic  elu_backward_cpu
gelu_backward    bic  GeluBackwardKernelImpl
leaky_relu_backward bic leaky_relu_backward_cpu
softplus_backward bic softplus_backward_cpu
threshold_backward bc threshold_cpu
addcmul          b     addcmul_cpu_out
clamp_min        c     maximum_cpu
clamp_max        c     minimum_cpu
i0               c     i0_vml_cpu
lgamma           c     lgamma_vml_cpu
digamma          c     digamma
polygamma        c     polygamma
erfinv           c     erfinv_vml_cpu
logit            c     logit_cpu
logit_backward   c     logit_backward_cpu
copysign         c     copysign_cpu
nextafter        bic   nextafter_cpu
hypot            bic   hypot_cpu
gcd              bfc   gcd_cpu
lcm              bfc   lcm_cpu
xlogy            c     xlogy_cpu
logaddexp        bi    logaddexp_cpu
logaddexp2       bic   logaddexp2_cpu
igamma           bic   igamma_cpu
igammac          bic   igammac_cpu
special_entr     c     entr_cpu
special_i0e      c     i0e_cpu
special_i1       c     i1_cpu
special_i1e      c     i1e_cpu
special_xlog1py  c     xlog1py_cpu
special_airy_ai ch airy_ai_cpu
special_bessel_j0 ch bessel_j0_cpu
special_bessel_j1 ch bessel_j1_cpu
special_bessel_y0 ch bessel_y0_cpu
special_bessel_y1 ch bessel_y1_cpu
special_chebyshev_polynomial_t ch chebyshev_polynomial_t_cpu
special_chebyshev_polynomial_u ch chebyshev_polynomial_u_cpu
special_chebyshev_polynomial_v ch chebyshev_polynomial_v_cpu
special_chebyshev_polynomial_w ch chebyshev_polynomial_w_cpu
special_erfcx ch erfcx_cpu
special_hermite_polynomial_h ch hermite_polynomial_h_cpu
special_hermite_polynomial_he ch hermite_polynomial_he_cpu
special_laguerre_polynomial_l ch laguerre_polynomial_l_cpu
special_legendre_polynomial_p ch legendre_polynomial_p_cpu
special_log_ndtr ch log_ndtr_cpu
special_modified_bessel_i0 ch modified_bessel_i0_cpu
special_modified_bessel_i1 ch modified_bessel_i1_cpu
special_modified_bessel_k0 ch modified_bessel_k0_cpu
special_modified_bessel_k1 ch modified_bessel_k1_cpu
special_ndtri ch ndtri_cpu
special_scaled_modified_bessel_k0 ch scaled_modified_bessel_k0_cpu
special_scaled_modified_bessel_k1 ch scaled_modified_bessel_k1_cpu
special_shifted_chebyshev_polynomial_t ch shifted_chebyshev_polynomial_t_cpu
special_shifted_chebyshev_polynomial_u ch shifted_chebyshev_polynomial_u_cpu
special_shifted_chebyshev_polynomial_v ch shifted_chebyshev_polynomial_v_cpu
special_shifted_chebyshev_polynomial_w ch shifted_chebyshev_polynomial_w_cpu
special_spherical_bessel_j0 ch spherical_bessel_j0_cpu
special_zeta ch zeta_cpu
"""

_REFUSALS: Final[dict[str, dict[str, tuple[type[Exception], str]]]] = {
    "neg": {
        "b": (
            OperatorError,
            (
                "Negation, the `-` operator, on a bool tensor is not supported. "
                "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
            ),
        )
    },
    "sign": {
        "c": (
            UnsupportedError,
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
        )
    },
    "floor": {"c": (UnsupportedError, "floor is not supported for complex inputs")},
    "ceil": {"c": (UnsupportedError, "ceil is not supported for complex inputs")},
    "trunc": {"c": (UnsupportedError, "trunc is not supported for complex inputs")},
    "maximum": {"c": (OperatorError, "maximum not implemented for complex tensors.")},
    "minimum": {"c": (OperatorError, "minimum not implemented for complex tensors.")},
    "fmax": {"c": (OperatorError, "fmax not implemented for complex tensors.")},
    "fmin": {"c": (OperatorError, "fmin not implemented for complex tensors.")},
    "signbit": {"c": (UnsupportedError, "signbit is not implemented for complex tensors.")},
    "isposinf": {"c": (OperatorError, "isposinf does not support complex inputs.")},
    "isneginf": {"c": (OperatorError, "isneginf does not support complex inputs.")},
    "deg2rad": {"c": (OperatorError, "deg2rad is not supported for complex tensors.")},
    "rad2deg": {"c": (OperatorError, "rad2deg is not supported for complex tensors.")},
    "clamp": {"c": (UnsupportedError, "clamp is not supported for complex types")},
    "relu": {
        "b": (OperatorError, "Boolean inputs not supported for relu"),
        "c": (UnsupportedError, "clamp is not supported for complex types"),
    },
    "addcdiv": {
        "bi": (
            OperatorError,
            (
                "Integer division with addcdiv is no longer supported; use torch.div with rounding_mode='trunc' on "
                "integers, or convert the inputs to a floating point type"
            ),
        )
    },
}
"""Dtypes, by their kinds, that an operator refuses with an error of its own."""

_LACKS: Final = {name: (kinds, kernel) for name, kinds, kernel in map(str.split, _KERNELS_LACK.strip().splitlines())}


def refuse(base: str, dtype: ScalarType) -> None:
    """Refuse a computation dtype that ``base`` has an error of its own for."""
    for kinds, (error, text) in _REFUSALS.get(base, {}).items():
        if kind_of(dtype) in kinds:
            raise error(text)


def refuse_kinds(kernel: str, kinds: str, dtype: ScalarType) -> None:
    """Refuse dtypes of some ``kinds`` (see ``kind_of``), which torch's kernel of that name does not have."""
    if _is_of(dtype, kinds) or dtype in FLOAT8:
        raise UnsupportedError(f"\"{kernel}\" not implemented for '{dtype.name}'")


def _is_of(dtype: ScalarType, kinds: str) -> bool:
    """Return whether a dtype is of one of these kinds, of which h represents floats of 16 bits."""
    return kind_of(dtype) in kinds or ("h" in kinds and dtype in (float16, bfloat16))


def check_kernel(base: str, dtype: ScalarType) -> None:
    """Refuse a computation dtype that torch's kernel for ``base`` does not have."""
    kinds, kernel = _LACKS.get(base, ("", f"{base.partition('.')[0]}_cpu"))
    refuse_kinds(kernel, kinds, dtype)


def refused_dtypes(base: str) -> frozenset[ScalarType]:
    """Return the computation dtypes that an operator refuses, in either way."""
    kinds = "".join([_LACKS.get(base, ("", ""))[0], *_REFUSALS.get(base, ())])
    found = frozenset(dtype for dtype in ScalarType if _is_of(dtype, kinds))
    return found if base in _FLOAT8_TOO else found | FLOAT8


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
