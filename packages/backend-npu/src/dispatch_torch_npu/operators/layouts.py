"""Formats, dtypes and shapes: every array has the format ND here, so that casts of formats are the identity."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final

import torchlike
from torchlike import Tensor

from ..refusals import refuse

__all__ = [
    "Format",
    "empty_with_format",
    "get_npu_format",
    "npu_broadcast",
    "npu_confusion_transpose",
    "npu_dtype_cast",
    "npu_dtype_cast_",
    "npu_format_cast",
    "npu_format_cast_",
    "npu_one_hot",
    "npu_reshape",
    "npu_slice",
    "npu_stride_copy",
    "npu_transpose",
]


class Format(IntEnum):
    """The formats of arrays, by ACL's numbers (source: ``torch_npu.Format``)."""

    UNDEFINED = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    FRACTAL_Z = 4
    NC1HWC0_C04 = 12
    HWCN = 16
    NDHWC = 27
    FRACTAL_NZ = 29
    NCDHW = 30
    NDC1HWC0 = 32
    FRACTAL_Z_3D = 33


_DTYPES: Final = "integers are not served as dtypes of Ascend's own"


def npu_format_cast(
    self: Tensor, acl_format: int | Tensor, customize_dtype: Any = None, input_dtype: Any = None
) -> Tensor:
    """Return the tensor itself: formats are the device's affair, and arrays here are ND (source: ``torch_npu``).

    >>> x = torchlike.ones(2)
    >>> npu_format_cast(x, Format.FRACTAL_NZ) is x
    True
    """
    if not isinstance(acl_format, Tensor):
        Format(acl_format)  # ``ValueError`` for a number that is not a format's
    return self


npu_format_cast_ = npu_format_cast


def get_npu_format(self: Tensor) -> Format:
    """Return the format of a tensor, which is ND (source: ``torch_npu``).

    >>> int(get_npu_format(torchlike.ones(2)))
    2
    """
    return Format.ND


def empty_with_format(size: Sequence[int], *, acl_format: int = Format.ND, **kwargs: Any) -> Tensor:
    """Return an empty tensor, of the format ND (source: ``torch_npu``).

    >>> empty_with_format((2, 3)).shape
    torchlike.Size([2, 3])
    """
    Format(acl_format)
    return torchlike.empty(size, **kwargs)


def npu_dtype_cast(self: Tensor, dtype: torchlike.dtype, input_dtype: Any = None) -> Tensor:
    """Return a tensor in another dtype (source: ``torch_npu``).

    >>> npu_dtype_cast(torchlike.ones(1), torchlike.float16).dtype
    torchlike.float16
    """
    if not isinstance(dtype, torchlike.dtype) or input_dtype is not None:
        refuse("npu_dtype_cast() of a dtype of Ascend's own", _DTYPES, "name one of torch's, as torch.float16")
    return self.to(dtype)


def npu_dtype_cast_(self: Tensor, src: Tensor) -> Tensor:
    """Write the values of a tensor of another dtype to this one, and return it (source: ``torch_npu``).

    >>> npu_dtype_cast_(torchlike.zeros(1), torchlike.ones(1, dtype=torchlike.int64))
    tensor([1.])
    """
    return self.copy_(src)


def npu_confusion_transpose(self: Tensor, perm: Sequence[int], shape: Sequence[int], transpose_first: bool) -> Tensor:
    """Return a tensor permuted and then reshaped, or reshaped and then permuted (source: ``torch_npu``).

    >>> npu_confusion_transpose(torchlike.ones(2, 3, 4), (1, 0, 2), (3, 8), True).shape
    torchlike.Size([3, 8])
    """
    if transpose_first:
        return self.permute(tuple(perm)).contiguous().view(tuple(shape))
    return self.reshape(tuple(shape)).permute(tuple(perm)).contiguous()


def npu_transpose(self: Tensor, perm: Sequence[int], require_contiguous: bool = True) -> Tensor:
    """Return a tensor with its dimensions in another order, row-major by default (source: ``torch_npu``).

    >>> npu_transpose(torchlike.ones(2, 3), (1, 0)).is_contiguous()
    True
    """
    found = self.permute(tuple(perm))
    return found.contiguous() if require_contiguous else found


def npu_reshape(self: Tensor, shape: Sequence[int], can_refresh: bool = False) -> Tensor:
    """Return a tensor of another shape (source: ``torch_npu``).

    >>> npu_reshape(torchlike.ones(2, 3), (3, 2)).shape
    torchlike.Size([3, 2])
    """
    return self.reshape(tuple(shape))


def npu_broadcast(self: Tensor, size: Sequence[int]) -> Tensor:
    """Return a tensor repeated to a shape, in memory of its own (source: ``torch_npu``).

    >>> npu_broadcast(torchlike.ones(1), (2,))
    tensor([1., 1.])
    """
    return self.broadcast_to(tuple(size)).contiguous()


def npu_slice(self: Tensor, offsets: Sequence[int], size: Sequence[int]) -> Tensor:
    """Return a copy of the part that begins at ``offsets`` and has the shape ``size`` (source: ``torch_npu``).

    >>> npu_slice(torchlike.arange(6).view(2, 3), (0, 1), (2, 2))
    tensor([[1, 2],
            [4, 5]])
    """
    return self[tuple(slice(start, start + length) for start, length in zip(offsets, size, strict=True))].contiguous()


def npu_stride_copy(self: Tensor, shape: Sequence[int], stride: Sequence[int], storage_offset: int) -> Tensor:
    """Return a copy of the elements that a shape and strides name (source: ``torch_npu``).

    >>> npu_stride_copy(torchlike.arange(6), (2,), (3,), 1)
    tensor([1, 4])
    """
    return self.as_strided(tuple(shape), tuple(stride), int(storage_offset)).clone()


def npu_one_hot(
    self: Tensor, num_classes: int = -1, depth: int = 1, on_value: float = 1, off_value: float = 0
) -> Tensor:
    """Return ``on_value`` where the last dimension's index is an element, else ``off_value`` (source: ``torch_npu``).

    Args:
        self: The indices.
        num_classes: -1: the new dimension is the last; else the number of the dimension.
        depth: The new dimension's size.
        on_value: The value at the index.
        off_value: The value elsewhere; so are the rows of indices outside of the dimension.

    >>> npu_one_hot(torchlike.tensor([1, 0]), -1, 3)
    tensor([[0., 1., 0.],
            [1., 0., 0.]])
    """
    dim = num_classes if num_classes >= 0 else self.dim()
    places = torchlike.arange(depth, device=self.device).view(-1, *(1,) * (self.dim() - dim))
    chosen = self.unsqueeze(dim) == places
    return torchlike.where(chosen, float(on_value), float(off_value)).to(torchlike.float32)
