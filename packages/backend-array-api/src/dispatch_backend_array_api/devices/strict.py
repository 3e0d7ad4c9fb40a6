"""The device ``strict``: array-api-strict, which has the standard's functions and nothing else. It is for tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import array_api_strict
import numpy as np

from ..backend import array_api_backend
from ..library import Array


def _quietly(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Keep NumPy beneath from warning of infinities and nan."""

    @wraps(kernel)
    def run(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return kernel(*args, **kwargs)

    return run


def _get(array: Array) -> Any:
    values = array._array.view()  # the library has no public way that takes every dtype on NumPy 2
    values.flags.writeable = False
    return values


backend: Final = array_api_backend(
    "strict", array_api_strict, array_types=(type(array_api_strict.empty((0,))),), get=_get, around=_quietly
)
