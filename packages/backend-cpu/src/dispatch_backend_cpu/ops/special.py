"""Functions that NumPy lacks, by SciPy, which is imported when one of them is first called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dispatch_aten.errors import OperatorError

from ..arrays import Array
from ..kernel_table import KernelTable
from ..output_specs import half_as_float
from .erf import load
from .rule_kernels import cast, make_elementwise, make_kernel

KERNELS: Final = KernelTable()


def erfc(x: Array) -> Any:
    """Return the complementary error function, element by element, exact where ``1 - erf(x)`` would cancel.

    >>> f"{erfc(np.array(5.0)):.4e}"
    '1.5375e-12'
    """
    return load("erfc")(x)


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


def _by_name(name: str) -> Callable[..., Any]:
    def compute(*operands: Array) -> Any:
        return load(name)(*operands)

    return compute


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


def _polynomial(name: str) -> Callable[..., Any]:
    def evaluate(x: Array, n: Array) -> Any:
        degree = _degrees(n)
        return np.where(degree < 0, np.zeros((), x.dtype), load(name)(np.maximum(degree, 0), x))

    return evaluate


def _half_integer(sign: int, *, shifted: bool) -> Callable[..., Any]:
    """Make the polynomials of Chebyshev of the third (``sign`` -1) or fourth kind, by those of the second."""

    def evaluate(x: Array, n: Array) -> Any:
        degree = _degrees(n)
        second = load("eval_chebyu")
        argument = 2 * x - 1 if shifted else x
        low = np.where(degree < 1, np.zeros((), x.dtype), second(np.maximum(degree - 1, 0), argument))
        return np.where(degree < 0, np.zeros((), x.dtype), second(np.maximum(degree, 0), argument) + sign * low)

    return evaluate


for _name, _arity, _function in map(str.split, _SCIPY.strip().splitlines()):
    KERNELS[_name] = make_elementwise(_name, _by_name(_function), int(_arity), opmath=True)
for _name, _function in map(str.split, _POLYNOMIALS.strip().splitlines()):
    KERNELS[_name] = make_elementwise(_name, _polynomial(_function), 2)
for _prefix in ("", "shifted_"):
    for _kind, _sign in (("v", -1), ("w", 1)):
        _name = f"special_{_prefix}chebyshev_polynomial_{_kind}"
        KERNELS[_name] = make_elementwise(_name, _half_integer(_sign, shifted=bool(_prefix)), 2)
KERNELS["special_airy_ai"] = make_elementwise("special_airy_ai", lambda x: load("airy")(x)[0], 1)
KERNELS["special_spherical_bessel_j0"] = make_elementwise(
    "special_spherical_bessel_j0", lambda x: np.where(np.isinf(x), np.zeros((), x.dtype), np.sinc(x / np.pi)), 1
)
# At minus infinity SciPy gives another infinity than C.
KERNELS["lgamma"] = make_elementwise(
    "lgamma", lambda x: np.where(np.isinf(x), np.array(np.inf, x.dtype), load("gammaln")(x)), 1, opmath=True
)
KERNELS["sinc"] = make_elementwise("sinc", np.sinc, 1, opmath=True)
KERNELS["polygamma"] = make_kernel(
    "polygamma", lambda spec, n, x: load("polygamma")(n, cast(x, half_as_float(spec.array_dtype)))
)
