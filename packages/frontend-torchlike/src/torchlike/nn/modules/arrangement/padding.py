"""Padding layers."""

from __future__ import annotations

__name__ = "torchlike.nn.modules.padding"  # see Note [Public paths]

from typing import Any, ClassVar

from ....tensors.arguments import check_tensor
from ....tensors.tensor import Tensor
from ... import functional as F  # noqa: N812  # torch's own abbreviation
from ..module import Module
from ..utils import _ntuple

__all__ = [
    f"{kind}Pad{count}d"
    for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero")
    for count in (1, 2, 3)
]


class _PadNd(Module):
    """A layer that adds elements on both sides of its last dimensions."""

    #: The number of dimensions that are padded.
    _dims: ClassVar[int] = 0
    _mode: ClassVar[str] = "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        check_tensor(input, type(self).__name__)
        ndim, least = len(input.shape), self._dims + 1
        if ndim not in (least, least + 1):
            raise ValueError(f"expected {least}D or {least + 1}D input (got {ndim}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return super().forward(input)


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class _ConstantPadNd(_PadNd):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class CircularPad1d(_CircularPadNd):
    """Pad ``(N, C, L)`` with the elements of the other side (source: ``torch.nn.CircularPad1d``)."""

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Pad ``(N, C, H, W)`` with the elements of the other side (source: ``torch.nn.CircularPad2d``)."""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Pad ``(N, C, D, H, W)`` with the elements of the other side (source: ``torch.nn.CircularPad3d``)."""

    _dims = 3


class ConstantPad1d(_ConstantPadNd):
    """Pad ``(N, C, L)`` with one number (source: ``torch.nn.ConstantPad1d``)."""

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pad ``(N, C, H, W)`` with one number (source: ``torch.nn.ConstantPad2d``)."""

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pad ``(N, C, D, H, W)`` with one number (source: ``torch.nn.ConstantPad3d``)."""

    _dims = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Pad ``(N, C, L)`` with the elements on the other side of the border (source: ``torch.nn.ReflectionPad1d``)."""

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pad ``(N, C, H, W)`` with the elements on the other side of the border (source: ``torch.nn.ReflectionPad2d``)."""

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pad ``(N, C, D, H, W)`` with the elements on the other side of the border (source: ``torch.nn.ReflectionPad3d``)."""

    _dims = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Pad ``(N, C, L)`` with the border's element (source: ``torch.nn.ReplicationPad1d``)."""

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pad ``(N, C, H, W)`` with the border's element (source: ``torch.nn.ReplicationPad2d``)."""

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pad ``(N, C, D, H, W)`` with the border's element (source: ``torch.nn.ReplicationPad3d``)."""

    _dims = 3


class ZeroPad1d(ConstantPad1d):
    """Pad ``(N, C, L)`` with zeros (source: ``torch.nn.ZeroPad1d``)."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Pad ``(N, C, H, W)`` with zeros (source: ``torch.nn.ZeroPad2d``).

    >>> ZeroPad2d(1)
    ZeroPad2d((1, 1, 1, 1))
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Pad ``(N, C, D, H, W)`` with zeros (source: ``torch.nn.ZeroPad3d``)."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"
