"""Quantized tensors in files: their integers as a storage of their own dtype, and their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatch_aten.dtypes import QUANTIZED, ScalarType

from ...tensors.tensor import Tensor
from ...values.qschemes import NUMBERS, qscheme

#: The schemes by the names that files have for them.
SCHEMES = {f"torch.{each.__reduce__()}": each for each in NUMBERS}


def list_parameters(tensor: Tensor, name: Callable[[qscheme], Any]) -> tuple[Any, ...]:
    """Return the parameters of a quantized tensor as torch's ``_rebuild_qtensor`` takes them."""
    record = tensor._dispatch_data
    parts = name(record.scheme), record.scale, record.zero_point
    return parts if record.axis is None else (*parts, record.axis)


def rebuild_quantized(integers: Tensor, dtype: ScalarType, parameters: Any) -> Tensor:
    """Return a quantized tensor of a file, with its parameters checked; ``ValueError`` for others."""
    from ...quantized.construction import rebuild  # few files have quantized tensors

    if dtype not in QUANTIZED or type(parameters) is not tuple or len(parameters) not in (3, 4):
        raise ValueError("a quantized tensor has no parameters")
    if not isinstance(parameters[0], qscheme):
        raise ValueError("a quantized tensor has no scheme")
    try:
        return rebuild(integers, parameters, dtype)
    except RuntimeError as error:
        raise ValueError(f"a quantized tensor has other parameters: {error}") from error
