"""The array API standard's namespace over tensors: its functions, dtypes and constants, with the extensions linalg and fft.

A library that is written for the standard asks ``x.__array_namespace__()`` for it; names, arguments and promotion are the
standard's, tensors, devices and gradients are torchlike's.

>>> import torchlike
>>> x = torchlike.tensor([[1., 2.], [3., 4.]])
>>> xp = x.__array_namespace__()
>>> xp.sum(xp.square(x), axis=-1)
tensor([ 5., 25.])
"""

__name__ = "torchlike.array_api"  # see Note [Public paths]

from math import e, inf, nan, pi

from . import creation, elementwise, fft, linalg, manipulation, reductions, searching
from .creation import *  # noqa: F403  # each module's __all__ is its part of the standard
from .data_types import DTYPES, astype, can_cast, finfo, iinfo, isdtype, result_type
from .elementwise import *  # noqa: F403
from .elementwise import ELEMENTWISE
from .inspection import __array_namespace_info__
from .linalg import matmul, tensordot, vecdot
from .manipulation import *  # noqa: F403
from .reductions import *  # noqa: F403
from .searching import *  # noqa: F403

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
__array_api_version__ = VERSIONS[-1]
newaxis = None
globals().update(ELEMENTWISE)
globals().update(DTYPES)

__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "astype",
    "can_cast",
    "e",
    "fft",
    "finfo",
    "iinfo",
    "inf",
    "isdtype",
    "linalg",
    "matmul",
    "nan",
    "newaxis",
    "pi",
    "result_type",
    "tensordot",
    "vecdot",
]
__all__ += creation.__all__
__all__ += elementwise.__all__
__all__ += manipulation.__all__
__all__ += reductions.__all__
__all__ += searching.__all__
__all__ += [*ELEMENTWISE, *DTYPES]  # noqa: PLE0604  # the keys are strings
