"""Functions that NumPy lacks: the error function, in double precision (source: Cephes, ``ndtr.c``, by S. L. Moshier)."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..arrays import Array
from ..kernel_table import KernelTable

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
