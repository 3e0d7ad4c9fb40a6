"""Functions that NumPy lacks: SciPy's, and the error function in double precision.

The latter is written out (source: Cephes, ``ndtr.c``, by S. L. Moshier), so that plans can compute it tile by tile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..arrays import Array
from ..kernel_table import KernelTable
from ..libraries import scipy
from ..output_specs import half_as_float
from .rule_kernels import cast, make_elementwise, make_kernel

KERNELS: Final = KernelTable()

# erf(x) = x T(x²) / U(x²) below 1; erfc(x) = exp(-x²) P(x) / Q(x) from 1 to 8 and exp(-x²) R(x) / S(x) beyond.
_T: Final = (
    9.60497373987051638749e0,
    9.00260197203842689217e1,
    2.23200534594684319226e3,
    7.00332514112805075473e3,
    5.55923013010394962768e4,
)
_U: Final = (
    1.0,
    3.35617141647503099647e1,
    5.21357949780152679795e2,
    4.59432382970980127987e3,
    2.26290000613890934246e4,
    4.92673942608635921086e4,
)
_P: Final = (
    2.46196981473530512524e-10,
    5.64189564831068821977e-1,
    7.46321056442269912687e0,
    4.86371970985681366614e1,
    1.96520832956077098242e2,
    5.26445194995477358631e2,
    9.34528527171957607540e2,
    1.02755188689515710272e3,
    5.57535335369399327526e2,
)
_Q: Final = (
    1.0,
    1.32281951154744992508e1,
    8.67072140885989742329e1,
    3.54937778887819891062e2,
    9.75708501743205489753e2,
    1.82390916687909736289e3,
    2.24633760818710981792e3,
    1.65666309194161350182e3,
    5.57535340817727675546e2,
)
_R: Final = (
    5.64189583547755073984e-1,
    1.27536670759978104416e0,
    5.01905042251180477414e0,
    6.16021097993053585195e0,
    7.40974269950448939160e0,
    2.97886665372100240670e0,
)
_S: Final = (
    1.0,
    2.26052863220117276590e0,
    9.39603524938001434673e0,
    1.20489539808096656605e1,
    1.70814450747565897222e1,
    9.60896809063285878198e0,
    3.36907645100081516050e0,
)


def erf(x: Array) -> Array:
    """Return the error function, element by element; ``float32`` in, ``float32`` out.

    >>> erf(np.array([0.0, 1.0])).round(6).tolist()
    [0.0, 0.842701]
    """
    wide = np.asarray(x, np.float64)
    result = np.where(np.abs(wide) <= 1, _erf_near_zero(wide), np.sign(wide) * (1 - _erfc_far(np.abs(wide))))
    return result.astype(x.dtype)


def erfc(x: Array) -> Array:
    """Return the complementary error function, element by element, exact where ``1 - erf(x)`` would cancel.

    >>> f"{erfc(np.array(5.0)):.4e}"
    '1.5375e-12'
    """
    wide = np.asarray(x, np.float64)
    far = _erfc_far(np.abs(wide))
    result = np.where(np.abs(wide) <= 1, 1 - _erf_near_zero(wide), np.where(wide < 0, 2 - far, far))
    return result.astype(x.dtype)


def _erf_near_zero(x: Array) -> Array:
    x = np.where(np.abs(x) <= 1, x, np.where(np.isnan(x), x, 1.0))
    square = x * x
    result: Array = x * np.polyval(_T, square) / np.polyval(_U, square)
    return result


def _erfc_far(x: Array) -> Array:
    """Return erfc of ``x >= 1``; smaller values are taken as 1."""
    x = np.where(x < 1, 1.0, np.minimum(x, 30.0))
    ratio = np.where(x < 8, np.polyval(_P, x) / np.polyval(_Q, x), np.polyval(_R, x) / np.polyval(_S, x))
    result: Array = np.exp(-x * x) * ratio
    return result


def _load(name: str) -> Callable[..., Any]:
    """Return a function of ``scipy.special``; raises ``UnsupportedError`` where SciPy is missing."""
    found: Callable[..., Any] = getattr(scipy("special"), name)
    return found


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
        return _load(name)(*operands)

    return compute


def _polynomial(name: str) -> Callable[..., Any]:
    def evaluate(x: Array, n: Array) -> Any:
        degree = n.astype(np.int64)
        return np.where(degree < 0, np.zeros((), x.dtype), _load(name)(np.maximum(degree, 0), x))

    return evaluate


def _half_integer(sign: int, *, shifted: bool) -> Callable[..., Any]:
    """Make the polynomials of Chebyshev of the third (``sign`` -1) or fourth kind, by those of the second."""

    def evaluate(x: Array, n: Array) -> Any:
        degree = n.astype(np.int64)
        second = _load("eval_chebyu")
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
KERNELS["special_airy_ai"] = make_elementwise("special_airy_ai", lambda x: _load("airy")(x)[0], 1)
KERNELS["special_spherical_bessel_j0"] = make_elementwise(
    "special_spherical_bessel_j0", lambda x: np.sinc(x / np.pi), 1
)
# At minus infinity SciPy gives another infinity than C.
KERNELS["lgamma"] = make_elementwise(
    "lgamma", lambda x: np.where(np.isinf(x), np.array(np.inf, x.dtype), _load("gammaln")(x)), 1, opmath=True
)
KERNELS["sinc"] = make_elementwise("sinc", np.sinc, 1, opmath=True)
KERNELS["polygamma"] = make_kernel(
    "polygamma", lambda spec, n, x: _load("polygamma")(n, cast(x, half_as_float(spec.array_dtype)))
)
