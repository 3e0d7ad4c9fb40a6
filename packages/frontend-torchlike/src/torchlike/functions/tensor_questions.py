"""Functions for facts of a tensor that are attributes, too."""

from __future__ import annotations

from ..tensors.arguments import check_tensor
from ..tensors.tensor import Tensor


def is_tensor(obj: object) -> bool:
    """Return whether an object is a tensor of this frontend."""
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> int:
    """Return the number of elements."""
    check_tensor(input, "numel")
    return input.numel()


def is_floating_point(input: Tensor) -> bool:
    """Return whether the elements are real floating-point numbers."""
    check_tensor(input, "is_floating_point")
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Return whether the elements are complex numbers."""
    check_tensor(input, "is_complex")
    return input.is_complex()


def is_signed(input: Tensor) -> bool:
    """Return whether the dtype has negative values."""
    check_tensor(input, "is_signed")
    return input.dtype.is_signed


def get_device(input: Tensor) -> int:
    """Return the index of the device, -1 for the cpu and meta (source: ``torch.get_device``)."""
    check_tensor(input, "get_device")
    return input.get_device()
