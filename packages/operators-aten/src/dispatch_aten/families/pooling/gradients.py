"""Functions of the formulas of pooling."""

from __future__ import annotations

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten
from dispatch_aten.families.pooling.adaptive import flatten

__all__ = ["elements_at"]


def elements_at(self: Array, indices: Array, count: int) -> Array:
    """Return the elements of images, of ``count`` dimensions, that pooling's indices name."""
    found = aten.gather.default(flatten(self, count), -1, flatten(indices, count))
    return aten.reshape.default(found, dc.shape(indices))
