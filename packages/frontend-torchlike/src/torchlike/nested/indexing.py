"""``x[...]``: rows of a nested tensor, and parts of the dimensions behind the ragged one."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc

from ..tensors.tensor import Tensor
from .tensor import NestedTensor


def read_item(tensor: NestedTensor, index: Any) -> Tensor:
    """Return a part of a nested tensor: an index is a number, a slice, None or an ellipsis for each dimension.

    >>> import torchlike
    >>> x = torchlike.nested.nested_tensor([[[1., 2.]], [[3., 4.], [5., 6.]]], layout=torchlike.jagged)
    >>> x[1], x[:, :, 0].values()
    (tensor([[3., 4.],
            [5., 6.]]), tensor([1., 3., 5.]))
    """
    items = list(index) if isinstance(index, tuple) else [index]
    if items.count(Ellipsis) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    counted = sum(item is not None and item is not Ellipsis for item in items)
    if counted > tensor.dim():
        raise IndexError(f"too many indices for tensor of dimension {tensor.dim()}")
    if Ellipsis in items:
        place = items.index(Ellipsis)
        items[place : place + 1] = [slice(None)] * (tensor.dim() - counted)
    found: Tensor = tensor
    dim = 0
    for item in items:
        if item is None:
            found = found.unsqueeze(dim)
            dim += 1
        elif isinstance(item, slice):
            if item != slice(None):
                found = dc.ops.aten.slice.Tensor(found, dim, item.start, item.stop, item.step or 1)
            dim += 1
        elif isinstance(item, int) and not isinstance(item, bool):
            found = found.select(dim, item)
        else:
            raise NotImplementedError(
                f"a nested tensor takes numbers, slices, None and ... as indices, not {type(item).__name__}\n"
                "Hint: index x.values(), or the rows of x.unbind()"
            )
    return found
