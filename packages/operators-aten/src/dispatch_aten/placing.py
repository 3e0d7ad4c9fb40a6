"""Tensors that lie as others do, where the arrays of a device may lie on several at once: see ``dispatch::place_like``."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc
from dispatch_core.frontends import PLACING, materialize, recording

__all__ = ["is_placed_apart", "place_like"]


def place_like(value: Any, like: Any) -> Any:
    """Return a tensor, or an array, with the numbers of ``value``, that lies as ``like`` does if both have one shape.

    ``value`` itself is returned where the arrays of its device do not lie on several.

    >>> import numpy as np
    >>> place_like(x := np.ones(2), np.zeros(2)) is x
    True
    """
    if not PLACING[0]:
        return value
    from dispatch_core.inspection import mask_of  # slow to import; most programs have no such device

    if not mask_of(value) & PLACING[0]:
        return value
    return dc.ops.dispatch.place_like.default(value, like)


def is_placed_apart(one: Any, other: Any) -> bool:
    """Return whether one of two tensors of a device lies on a mesh, and the other not as it does.

    >>> import numpy as np
    >>> is_placed_apart(np.ones(2), np.zeros(2))
    False
    """
    if not PLACING[0]:
        return False
    from dispatch_core.inspection import mask_of

    if not mask_of(one) & mask_of(other) & PLACING[0]:
        return False
    from dispatch_aten.placements import placement_of

    if recording() is None:  # else what is not computed yet lies as captures suppose
        materialize(one), materialize(other)
    return placement_of(one) != placement_of(other)
