"""How composed results lie in memory: as the operator's shape rule says, whatever order its parts give them."""

from __future__ import annotations

from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.shapes.meta import TensorMeta, is_non_overlapping_and_dense, same_places

_aten: Final[Any] = dc.ops.aten


def lay_out(result: Any, expected: Any) -> Any:
    """Return a fresh result, or several, with the strides of the shape rule's answer: copied only where they differ.

    The copy is made of functional operators, so it is differentiable, and serves every level of transforms.
    """
    if not isinstance(expected, TensorMeta):
        several = isinstance(expected, (tuple, list)) and isinstance(result, (tuple, list))
        return tuple(map(lay_out, result, expected)) if several else result
    if result is None:  # an output mask leaves it out
        return None
    steps = dc.strides(result)
    if steps == expected.strides or not expected.numel or not dc.has_strides(result):
        return result
    sizes = dc.shape(result)
    if (
        sizes != expected.shape
        or same_places(sizes, steps, sizes, expected.strides)
        or not is_non_overlapping_and_dense(sizes, expected.strides)
    ):
        return result
    order = sorted(range(len(sizes)), key=expected.strides.__getitem__, reverse=True)
    within = _aten.contiguous.default(_aten.permute.default(result, order))
    return _aten.permute.default(within, [order.index(dim) for dim in range(len(sizes))])
