"""Functions that NumPy lacks, by SciPy, which is imported when one of them is first called.

Where SciPy is not installed, those of `WITHOUT_SCIPY` are made of functions that NumPy and Python have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from dispatch_aten.errors import OperatorError

from ...arrays import Array
from ...kernel_table import KernelTable, computed_by
from ...libraries import find_scipy, scipy
from ...output_specs import half_as_float
from ..support.constants import number
from ..support.rule_kernels import cast, make_elementwise, make_kernel
from .erf import ArrayFunction, erf, one_by_one

KERNELS: Final = KernelTable()


@cache
def load(name: str, operator: str) -> Callable[..., Any]:
    """Return a function of ``scipy.special``, or the one that takes its place where SciPy is not installed."""
    if find_scipy("special") is None and name in WITHOUT_SCIPY:
        return WITHOUT_SCIPY[name]
    found: Callable[..., Any] = getattr(scipy("special", operator), name)
    return found


_erfc: Final = one_by_one(math.erfc)


def _lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):  # beyond the greatest number, and at the poles
        return math.inf


def _xlog(log: Callable[[Array], Any]) -> Callable[[Array, Array], Any]:
    def compute(x: Array, y: Array) -> Any:
        return np.where((x == 0) & ~np.isnan(y), number(0, x), x * log(y))

    return compute


def _entr(x: Array) -> Any:
    found = np.where(x == 0, number(0, x), -x * np.log(x))
    return np.where(x < 0, number(-math.inf, x), found)


def _in_double(compute: Callable[[Array], Any]) -> Callable[[Array], Any]:
    return lambda x: np.asarray(compute(np.asarray(x, np.float64)), x.dtype)


#: The asymptotic series of digamma, from the highest power of 1 / x².
_SERIES: Final = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)


def _digamma(x: Array) -> Any:
    """Return the derivative of ``lgamma`` (source: ``calc_digamma`` of torch's ``Math.h``)."""
    y, total = np.where(x < 0, 1 - x, x), np.zeros_like(x)
    for _ in range(10):
        small = y < 10
        total -= np.where(small, 1 / y, 0)
        y = np.where(small, y + 1, y)
    found = total + np.log(y) - 0.5 / y - np.polyval(_SERIES, 1 / (y * y)) / (y * y)
    part = x - np.trunc(x)
    found = np.where(x < 0, found - np.pi / np.tan(np.pi * part), found)
    found = np.where((x < 0) & (part == 0), np.nan, found)
    return np.where(x == 0, -np.copysign(np.inf, x), found)


#: The inverse of the error function up to 0.7: the coefficients of x² above and below, and those beyond it.
_INVERSE: Final = (
    (-0.140543331, 0.914624893, -1.645349621, 0.886226899),
    (0.012229801, -0.329097515, 1.442710462, -2.118377725, 1),
)
_INVERSE_BEYOND: Final = ((1.641345311, 3.429567803, -1.624906493, -1.970840454), (1.637067800, 3.543889200, 1))


def _erfinv(y: Array) -> Any:
    """Return the inverse of the error function (source: ``calc_erfinv`` of ``Math.h``, with a third of Newton's steps)."""
    size = np.absolute(y)
    rest = 1 - size
    near, beyond = (
        np.polyval(over, at) / np.polyval(under, at)
        for (over, under), at in ((_INVERSE, y * y), (_INVERSE_BEYOND, np.sqrt(-np.log(rest / 2))))
    )
    x = np.where(size <= 0.7, size * near, beyond)
    for _ in range(3):
        # The distance to 1 has more digits than a number near to 1.
        fault = np.where(size <= 0.5, erf(x) - size, rest - _erfc(x))
        x = x - fault / (2 / math.sqrt(math.pi) * np.exp(-x * x))
    return np.copysign(np.where(size == 1, np.inf, x), y)


#: Function of ``scipy.special`` → its replacement.
WITHOUT_SCIPY: Final[dict[str, Callable[..., Any]]] = {
    "entr": _entr,
    "erfc": ArrayFunction(_erfc, "erfc"),
    "erfinv": _in_double(_erfinv),
    "gammaln": one_by_one(_lgamma),
    "i0": _in_double(np.i0),
    "psi": _in_double(_digamma),
    "xlog1py": _xlog(np.log1p),
    "xlogy": _xlog(np.log),
}


def erfc(x: Array) -> Any:
    """Return the complementary error function, element by element, exact where ``1 - erf(x)`` would cancel.

    >>> f"{erfc(np.array(5.0)):.4e}"
    '1.5375e-12'
    """
    return load("erfc", "erfc")(x)


#: Operators of one or two operands that are a function of SciPy's.
_SCIPY: Final = """
digamma                             1 psi
erfinv                              1 erfinv
i0                                  1 i0
igamma                              2 gammainc
igammac                             2 gammaincc
xlogy.Tensor                        2 xlogy
special_xlog1py                     2 xlog1py
special_zeta                        2 zeta
special_bessel_j0                   1 j0
special_bessel_j1                   1 j1
special_bessel_y0                   1 y0
special_bessel_y1                   1 y1
special_entr                        1 entr
special_erfcx                       1 erfcx
special_i0e                         1 i0e
special_i1                          1 i1
special_i1e                         1 i1e
special_log_ndtr                    1 log_ndtr
special_modified_bessel_i0          1 i0
special_modified_bessel_i1          1 i1
special_modified_bessel_k0          1 k0
special_modified_bessel_k1          1 k1
special_ndtri                       1 ndtri
special_scaled_modified_bessel_k0   1 k0e
special_scaled_modified_bessel_k1   1 k1e
"""

#: Families of polynomials whose degree is the second operand.
_POLYNOMIALS: Final = """
special_chebyshev_polynomial_t          eval_chebyt
special_chebyshev_polynomial_u          eval_chebyu
special_hermite_polynomial_h            eval_hermite
special_hermite_polynomial_he           eval_hermitenorm
special_laguerre_polynomial_l           eval_laguerre
special_legendre_polynomial_p           eval_legendre
special_shifted_chebyshev_polynomial_t  eval_sh_chebyt
special_shifted_chebyshev_polynomial_u  eval_sh_chebyu
"""


def _by_name(name: str, operator: str) -> Callable[..., Any]:
    def compute(*operands: Array) -> Any:
        return load(name, operator)(*operands)

    return computed_by(compute, (f"scipy.special.{name}", ""))


#: One element of a higher degree takes seconds, and nothing interrupts its loop.
_GREATEST_DEGREE: Final = 10**7


def _degrees(n: Array) -> Array:
    """Return degrees as integers, -1 for every negative one; refuse those that would be computed for ever.

    NaN and infinities become the least integer, as in C, of which nothing can be subtracted.
    """
    degree = np.maximum(n.astype(np.int64), -1)
    if degree.size and degree.max() > _GREATEST_DEGREE:
        raise OperatorError(
            f"a polynomial's degree may be {_GREATEST_DEGREE} at most, and is {degree.max()}", argument="n"
        )
    return degree


def _polynomial(name: str, operator: str) -> Callable[..., Any]:
    def evaluate(x: Array, n: Array) -> Any:
        degree = _degrees(n)
        return np.where(degree < 0, np.zeros((), x.dtype), load(name, operator)(np.maximum(degree, 0), x))

    return evaluate


def _half_integer(operator: str, sign: int, *, shifted: bool) -> Callable[..., Any]:
    """Make the polynomials of Chebyshev of the third (``sign`` -1) or fourth kind, by those of the second."""

    def evaluate(x: Array, n: Array) -> Any:
        degree = _degrees(n)
        second = load("eval_chebyu", operator)
        argument = 2 * x - 1 if shifted else x
        low = np.where(degree < 1, np.zeros((), x.dtype), second(np.maximum(degree - 1, 0), argument))
        return np.where(degree < 0, np.zeros((), x.dtype), second(np.maximum(degree, 0), argument) + sign * low)

    return evaluate


for _name, _arity, _function in map(str.split, _SCIPY.strip().splitlines()):
    KERNELS[_name] = make_elementwise(_name, _by_name(_function, _name), int(_arity), opmath=True)
for _name, _function in map(str.split, _POLYNOMIALS.strip().splitlines()):
    KERNELS[_name] = make_elementwise(_name, _polynomial(_function, _name), 2)
for _prefix in ("", "shifted_"):
    for _kind, _sign in (("v", -1), ("w", 1)):
        _name = f"special_{_prefix}chebyshev_polynomial_{_kind}"
        KERNELS[_name] = make_elementwise(_name, _half_integer(_name, _sign, shifted=bool(_prefix)), 2)
KERNELS["special_airy_ai"] = make_elementwise("special_airy_ai", lambda x: load("airy", "special_airy_ai")(x)[0], 1)
KERNELS["special_spherical_bessel_j0"] = make_elementwise(
    "special_spherical_bessel_j0", lambda x: np.where(np.isinf(x), np.zeros((), x.dtype), np.sinc(x / np.pi)), 1
)
# At minus infinity SciPy gives another infinity than C.
KERNELS["lgamma"] = make_elementwise(
    "lgamma", lambda x: np.where(np.isinf(x), np.array(np.inf, x.dtype), load("gammaln", "lgamma")(x)), 1, opmath=True
)
KERNELS["sinc"] = make_elementwise("sinc", np.sinc, 1, opmath=True)
KERNELS["polygamma"] = make_kernel(
    "polygamma", lambda spec, n, x: load("polygamma", "polygamma")(n, cast(x, half_as_float(spec.array_dtype)))
)
