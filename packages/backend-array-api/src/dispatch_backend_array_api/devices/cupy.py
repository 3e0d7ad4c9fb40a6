"""The device ``cupy``: arrays of CuPy, on the current GPU."""

from __future__ import annotations

from typing import Any, Final

import array_api_compat.cupy
import cupy
import cupyx.scipy.special

from ..backend import array_api_backend
from ..kernels.pointwise import unary
from ..library import Array


def _assign(array: Array, key: Any, values: Array, add: bool) -> Array:
    fresh = array.copy()
    if add:
        cupy.add.at(fresh, key, values)
    else:
        fresh[key] = values
    return fresh


backend: Final = array_api_backend(
    "cupy",
    array_api_compat.cupy,
    array_types=(cupy.ndarray,),
    get=cupy.asnumpy,
    put=cupy.array,
    assign=_assign,
    kernels={"erf": lambda library: unary(library, "erf", cupyx.scipy.special.erf)},
)
