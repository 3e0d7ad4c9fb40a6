"""The kernels that write to arrays; in-place and ``out=`` operators are composed of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dispatch_aten.shapes import RULES

from .arrays import Array


def _copy(self: Array, src: Array, non_blocking: bool = False) -> Array:
    RULES["copy_"](self.meta, src.meta)
    self.values[...] = src.values
    return self


def _fill(self: Array, value: Any) -> Array:
    RULES["fill_.Scalar"](self.meta, value)
    self.values[...] = np.asarray(value).astype(self.dtype.short)
    return self


ATEN: Final[dict[str, Callable[..., Any]]] = {"copy_": _copy, "fill_.Scalar": _fill}
