"""Padding."""

from __future__ import annotations

from collections.abc import Sequence

import dispatch_core as dc

from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Return the input with elements added around it; ``pad`` begins with both sides of the last dimension.

    ``mode`` is ``"constant"``, ``"reflect"``, ``"replicate"`` or ``"circular"``; negative numbers take elements away.

    >>> import torchlike
    >>> pad(torchlike.tensor([[1., 2., 3.]]), (2, 1), "reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])
    """
    check_tensor(input, "pad")
    return dc.ops.aten.pad.default(input, tuple(pad), mode, value)
