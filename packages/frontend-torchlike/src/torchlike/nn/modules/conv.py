"""Convolution layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...creation.factories import FACTORIES
from ...history.grad_mode import no_grad
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor
from ...values.argument_types import DeviceLike, DTypeLike
from .. import functional as F  # noqa: N812  # torch's own abbreviation
from .. import init
from ..parameter import Parameter
from ..uninitialized import UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _ntuple, _reverse_repeat_tuple

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

#: One size for all dimensions, or one for each.
Sizes = int | Sequence[int]
_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """A layer with the weight and the bias of a convolution, filled as torch fills them."""

    #: The number of dimensions that the window moves over.
    _dims: ClassVar[int] = 0
    padding: str | tuple[int, ...]
    weight: Parameter
    bias: Parameter | Any  # None without one; programs know which

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        _check(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation
        self.transposed, self.output_padding = transposed, output_padding
        self.groups, self.padding_mode = groups, padding_mode
        self._reversed_padding_repeated_twice = _both_sides(padding, kernel_size, dilation)
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        sizes = (first, second // groups, *kernel_size)
        self.weight = Parameter(FACTORIES["empty"](sizes, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(FACTORIES["empty"](out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill weight and bias evenly within ``1 / sqrt(fan_in)``."""
        weight: Any = self.weight
        with no_grad():
            if weight.is_contiguous():
                init.kaiming_uniform_(weight, a=math.sqrt(5))
            else:
                # The numbers are drawn in row-major order whatever the layout.
                weight.copy_(
                    init.kaiming_uniform_(FACTORIES["empty"](weight.shape, dtype=weight.dtype), a=math.sqrt(5))
                )
            if self.bias is not None:
                fan_in = math.prod(weight.shape[1:])
                bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
                init.uniform_(self.bias, -bound, bound)

    def _run(self, function: Callable[..., Tensor], input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self._dims
        return function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            if value != (usual,) * len(value):
                text += f", {name}={value}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


def _check(
    in_channels: int, out_channels: int, stride: Sequence[int], padding: Any, groups: int, padding_mode: str
) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{padding_mode}'")


def _both_sides(padding: str | tuple[int, ...], kernel: Sequence[int], dilation: Sequence[int]) -> Sequence[int]:
    """Return the padding on both sides of each dimension, the last one first."""
    if not isinstance(padding, str):
        return _reverse_repeat_tuple(padding, 2)
    totals = [gap * (size - 1) if padding == "same" else 0 for gap, size in zip(dilation, kernel, strict=True)]
    return [each for total in reversed(totals) for each in (total // 2, total - total // 2)]


class _Conv(_ConvNd):
    """A convolution layer, with torch's arguments."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: str | Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        spread = _ntuple(self._dims)
        super().__init__(
            in_channels,
            out_channels,
            spread(kernel_size),
            spread(stride),
            padding if isinstance(padding, str) else spread(padding),
            spread(dilation),
            False,
            spread(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return self._run(getattr(F, f"conv{self._dims}d"), input, weight, bias)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Convolve ``(N, C, L)`` or ``(C, L)`` (source: ``torch.nn.Conv1d``)."""

    _dims = 1


class Conv2d(_Conv):
    """Convolve ``(N, C, H, W)`` or ``(C, H, W)`` (source: ``torch.nn.Conv2d``), filled as torch fills it.

    >>> Conv2d(1, 8, 3, padding=1)
    Conv2d(1, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    """

    _dims = 2


class Conv3d(_Conv):
    """Convolve ``(N, C, D, H, W)`` or ``(C, D, H, W)`` (source: ``torch.nn.Conv3d``)."""

    _dims = 3


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution layer, with torch's arguments."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        spread = _ntuple(self._dims)
        super().__init__(
            in_channels,
            out_channels,
            spread(kernel_size),
            spread(stride),
            spread(padding),
            spread(dilation),
            True,
            spread(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> Sequence[int]:
        """Return the padding of one side that gives the output a wanted size."""
        if output_size is None:
            return self.output_padding
        count, ndim = self._dims, len(input.shape)
        outer = 2 if ndim == count + 2 else 1
        wanted = list(output_size)[outer:] if len(output_size) == outer + count else list(output_size)
        if len(wanted) != count:
            raise ValueError(
                f"ConvTranspose{count}D: for {ndim}D input, output_size must have {count} or {outer + count} elements "
                f"(got {len(wanted)})"
            )
        padding: Any = self.padding
        least = [
            (size - 1) * step - 2 * pad + gap * (span - 1) + 1
            for size, step, pad, gap, span in zip(
                input.shape[outer:], self.stride, padding, self.dilation, self.kernel_size, strict=True
            )
        ]
        most = [size + step - 1 for size, step in zip(least, self.stride, strict=True)]
        if any(not low <= size <= high for low, size, high in zip(least, wanted, most, strict=True)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to {most} (for an input of "
                f"{input.shape[2:]})"
            )
        return [size - low for size, low in zip(wanted, least, strict=True)]

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        function: Any = getattr(F, f"conv_transpose{self._dims}d")
        numbers = (self.stride, self.padding, extra, self.groups, self.dilation)
        found: Tensor = function(input, self.weight, self.bias, *numbers)
        return found


class ConvTranspose1d(_ConvTransposeNd):
    """Convolve ``(N, C, L)`` the other way (source: ``torch.nn.ConvTranspose1d``)."""

    _dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    """Convolve ``(N, C, H, W)`` the other way (source: ``torch.nn.ConvTranspose2d``).

    ``forward`` takes the wanted size of the output where several lead to the input's.

    >>> import torchlike
    >>> ConvTranspose2d(1, 1, 3, stride=2)(torchlike.ones(1, 1, 2, 2), output_size=(6, 6)).shape
    torchlike.Size([1, 1, 6, 6])
    """

    _dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """Convolve ``(N, C, D, H, W)`` the other way (source: ``torch.nn.ConvTranspose3d``)."""

    _dims = 3


class _LazyConvXdMixin(LazyModuleMixin):
    """A convolution layer that learns its number of input channels from the first call."""

    _dims: ClassVar[int]
    in_channels: int
    out_channels: int
    groups: int
    transposed: bool
    kernel_size: tuple[int, ...]
    weight: Any
    bias: Any

    def __init__(self, out_channels: int, kernel_size: Sizes, *args: Any, **kwargs: Any) -> None:
        names = _LAZY_TRANSPOSED if isinstance(self, _ConvTransposeNd) else _LAZY
        kwargs = {**dict(zip(names, args, strict=False)), **kwargs}
        has_bias = kwargs.pop("bias", True)
        super().__init__(0, 0, kernel_size, bias=False, **kwargs)
        options: dict[str, Any] = {"device": kwargs.get("device"), "dtype": kwargs.get("dtype")}
        self.out_channels = out_channels
        self.weight = UninitializedParameter(**options)
        if has_bias:
            self.bias = UninitializedParameter(**options)

    def reset_parameters(self) -> None:
        """Fill the parameters once they have a shape."""
        if not self.has_uninitialized_params() and self.in_channels:
            super().reset_parameters()  # type: ignore[misc]  # the layer's

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters in the shapes that the input's channels decide, and fill them."""
        if not self.has_uninitialized_params():
            return
        check_tensor(input, type(self).__name__)
        ndim = len(input.shape)
        if ndim not in (self._dims + 1, self._dims + 2):
            raise RuntimeError(
                f"Expected {self._dims + 1}D (unbatched) or {self._dims + 2}D (batched) input to {type(self).__name__}, "
                f"but got input of size: {input.shape}"
            )
        self.in_channels = input.shape[-self._dims - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        self.weight.materialize((first, second // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


_LAZY = "stride padding dilation groups bias padding_mode device dtype".split()
_LAZY_TRANSPOSED = "stride padding output_padding groups bias dilation padding_mode device dtype".split()


class LazyConv1d(_LazyConvXdMixin, Conv1d):
    """A ``Conv1d`` that learns its number of input channels from the first call."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvXdMixin, Conv2d):
    """A ``Conv2d`` that learns its number of input channels from the first call.

    >>> import torchlike
    >>> layer = LazyConv2d(4, 3)
    >>> layer(torchlike.ones(1, 2, 5, 5)).shape, layer
    (torchlike.Size([1, 4, 3, 3]), Conv2d(2, 4, kernel_size=(3, 3), stride=(1, 1)))
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvXdMixin, Conv3d):
    """A ``Conv3d`` that learns its number of input channels from the first call."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d):
    """A ``ConvTranspose1d`` that learns its number of input channels from the first call."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d):
    """A ``ConvTranspose2d`` that learns its number of input channels from the first call."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d):
    """A ``ConvTranspose3d`` that learns its number of input channels from the first call."""

    cls_to_become = ConvTranspose3d
