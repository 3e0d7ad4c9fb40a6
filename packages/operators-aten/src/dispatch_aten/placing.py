"""Tensors that lie as others do, where the arrays of a device may lie on several at once: see ``dispatch::place_like``."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc
from dispatch_core.frontends import PLACING
from dispatch_core.inspection import mask_of

__all__ = ["place_like"]


def place_like(value: Any, like: Any) -> Any:
    """Return a tensor, or an array, with the numbers of ``value``, that lies as ``like`` does if both have one shape.

    ``value`` itself is returned where the arrays of its device do not lie on several.

    >>> import numpy as np
    >>> place_like(x := np.ones(2), np.zeros(2)) is x
    True
    """
    if not PLACING[0] or not mask_of(value) & PLACING[0]:
        return value
    return dc.ops.dispatch.place_like.default(value, like)
