"""Pooling layers."""

from __future__ import annotations

from typing import Any, ClassVar

from ...tensors.tensor import Tensor
from .. import functional as F  # noqa: N812  # torch's own abbreviation
from .module import Module
from .utils import _ntuple

__all__ = [
    f"{kind}{count}d"
    for kind, counts in {
        "AdaptiveAvgPool": (1, 2, 3),
        "AdaptiveMaxPool": (1, 2, 3),
        "AvgPool": (1, 2, 3),
        "FractionalMaxPool": (2, 3),
        "LPPool": (1, 2, 3),
        "MaxPool": (1, 2, 3),
        "MaxUnpool": (1, 2, 3),
    }.items()
    for count in counts
]


class _WindowPool(Module):
    """A layer that calls a function of its own name, with the layer's options."""

    #: The number of dimensions that the window moves over.
    _dims: ClassVar[int] = 0
    #: The options that are shown.
    _shown: ClassVar[tuple[str, ...]] = ("kernel_size", "stride", "padding")

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)


class _MaxPoolNd(_WindowPool):
    """The largest elements of windows."""

    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    # With ``return_indices`` a pair of tensors.
    def forward(self, input: Tensor) -> Tensor:
        numbers = (self.kernel_size, self.stride, self.padding, self.dilation)
        return getattr(F, f"max_pool{self._dims}d")(input, *numbers, self.ceil_mode, self.return_indices)


class MaxPool1d(_MaxPoolNd):
    """The largest elements of windows of ``(N, C, L)`` (source: ``torch.nn.MaxPool1d``)."""

    _dims = 1


class MaxPool2d(_MaxPoolNd):
    """The largest elements of windows of ``(N, C, H, W)`` (source: ``torch.nn.MaxPool2d``).

    >>> MaxPool2d(2)
    MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)
    """

    _dims = 2


class MaxPool3d(_MaxPoolNd):
    """The largest elements of windows of ``(N, C, D, H, W)`` (source: ``torch.nn.MaxPool3d``)."""

    _dims = 3


class _MaxUnpoolNd(_WindowPool):
    """The elements that ``MaxPool`` has kept, back at their places among zeros."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        spread = _ntuple(self._dims)
        self.kernel_size, self.stride = spread(kernel_size), spread(kernel_size if stride is None else stride)
        self.padding = spread(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        numbers = (self.kernel_size, self.stride, self.padding)
        found: Tensor = getattr(F, f"max_unpool{self._dims}d")(input, indices, *numbers, output_size)
        return found


class MaxUnpool1d(_MaxUnpoolNd):
    """The elements that ``MaxPool1d`` has kept, back at their places among zeros."""

    _dims = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """The elements that ``MaxPool2d`` has kept, back at their places among zeros."""

    _dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """The elements that ``MaxPool3d`` has kept, back at their places among zeros."""

    _dims = 3


class _AvgPoolNd(_WindowPool):
    """The means of windows."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        numbers = (self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)
        found: Tensor = getattr(F, f"avg_pool{self._dims}d")(input, *numbers, self.divisor_override)
        return found


class AvgPool1d(_AvgPoolNd):
    """The means of windows of ``(N, C, L)`` (source: ``torch.nn.AvgPool1d``)."""

    _dims = 1

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        step = kernel_size if stride is None else stride
        one = _ntuple(1)
        super().__init__(one(kernel_size), one(step), one(padding), ceil_mode, count_include_pad)

    def forward(self, input: Tensor) -> Tensor:
        numbers = (self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)
        return F.avg_pool1d(input, *numbers)


class AvgPool2d(_AvgPoolNd):
    """The means of windows of ``(N, C, H, W)`` (source: ``torch.nn.AvgPool2d``)."""

    _dims = 2


class AvgPool3d(_AvgPoolNd):
    """The means of windows of ``(N, C, D, H, W)`` (source: ``torch.nn.AvgPool3d``)."""

    _dims = 3


class _FractionalMaxPoolNd(_WindowPool):
    """The largest elements of windows at random places."""

    _shown = ()

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name, spread = type(self).__name__, _ntuple(self._dims)
        self.kernel_size, self.return_indices = spread(kernel_size), return_indices
        if self._dims == 3 and not all(size > 0 for size in self.kernel_size):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.register_buffer("_random_samples", _random_samples)
        if (output_size is None) == (output_ratio is None):
            if output_size is None:
                raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.output_size = None if output_size is None else spread(output_size)
        self.output_ratio = None if output_ratio is None else spread(output_ratio)
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    # With ``return_indices`` a pair of tensors.
    def forward(self, input: Tensor) -> Tensor:
        options = (self.kernel_size, self.output_size, self.output_ratio, self.return_indices)
        return getattr(F, f"fractional_max_pool{self._dims}d")(input, *options, _random_samples=self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest elements of windows at random places of ``(N, C, H, W)`` (Graham, 2015)."""

    _dims = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The largest elements of windows at random places of ``(N, C, D, H, W)``."""

    _dims = 3


class _LPPoolNd(_WindowPool):
    """The norms of windows."""

    _shown = ("norm_type", "kernel_size", "stride", "ceil_mode")

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        numbers = (self.norm_type, self.kernel_size, self.stride, self.ceil_mode)
        found: Tensor = getattr(F, f"lp_pool{self._dims}d")(input, *numbers)
        return found


class LPPool1d(_LPPoolNd):
    """The norms of windows of ``(N, C, L)`` (source: ``torch.nn.LPPool1d``)."""

    _dims = 1


class LPPool2d(_LPPoolNd):
    """The norms of windows of ``(N, C, H, W)`` (source: ``torch.nn.LPPool2d``)."""

    _dims = 2


class LPPool3d(_LPPoolNd):
    """The norms of windows of ``(N, C, D, H, W)`` (source: ``torch.nn.LPPool3d``)."""

    _dims = 3


class _AdaptiveMaxPoolNd(_WindowPool):
    """The largest elements of windows that lie so that the result has a wanted size."""

    _shown = ("output_size",)

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    # With ``return_indices`` a pair of tensors.
    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, f"adaptive_max_pool{self._dims}d")(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest elements of ``output_size`` windows of ``(N, C, L)``."""

    _dims = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest elements of ``output_size`` windows of ``(N, C, H, W)``."""

    _dims = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest elements of ``output_size`` windows of ``(N, C, D, H, W)``."""

    _dims = 3


class _AdaptiveAvgPoolNd(_WindowPool):
    """The means of windows that lie so that the result has a wanted size."""

    _shown = ("output_size",)

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        found: Tensor = getattr(F, f"adaptive_avg_pool{self._dims}d")(input, self.output_size)
        return found


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of ``output_size`` windows of ``(N, C, L)``."""

    _dims = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of ``output_size`` windows of ``(N, C, H, W)``; None keeps the input's size.

    >>> import torchlike
    >>> AdaptiveAvgPool2d((1, None))(torchlike.ones(1, 2, 3, 4)).shape
    torchlike.Size([1, 2, 1, 4])
    """

    _dims = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of ``output_size`` windows of ``(N, C, D, H, W)``; None keeps the input's size."""

    _dims = 3
