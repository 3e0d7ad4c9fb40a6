"""The methods of tensors, and functions of the same names, for quantized tensors."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc
from dispatch_aten.dtypes import QUANTIZED, ScalarType
from dispatch_core.keys import LAYOUTS

from ..tensors.tensor import Tensor
from ..values.qschemes import qscheme as QScheme  # noqa: N812  # torch's name is that of a method
from .arguments import refuse_key, takes
from .numbers import dequantize as _dequantize
from .tensor import Quantized, is_quantized, record_of

__all__ = [
    "dequantize",
    "int_repr",
    "q_per_channel_axis",
    "q_per_channel_scales",
    "q_per_channel_zero_points",
    "q_scale",
    "q_zero_point",
    "qscheme",
    "quantized_max_pool1d",
    "quantized_max_pool2d",
    "quantized_max_pool3d",
]


@takes("dequantize(Tensor input) -> Tensor", "dequantize.tensors(Tensor[] tensors) -> Tensor[]")
def dequantize(self: Any) -> Any:
    """Return the numbers in float32, of a list a tuple of them (source: ``torch.dequantize``).

    >>> import torchlike
    >>> torchlike.quantize_per_tensor(torchlike.tensor([0.26]), 0.1, 0, torchlike.qint8).dequantize()
    tensor([0.3000])
    """
    if isinstance(self, (list, tuple)):
        if refused := [each for each in self if each.dtype not in QUANTIZED]:
            refuse_key(refused[0], "dequantize.tensors")
        return tuple(map(dequantize, self))
    if is_quantized(self):
        return _dequantize(record_of(self))
    if self.dtype in QUANTIZED:  # of a function transform
        return dc.ops.quantized._dequantize(self)
    if self._dispatch_mask & LAYOUTS:
        refuse_key(self, "dequantize.self", "x.to_dense() makes a tensor of numbers")
    return self.to(ScalarType.Float)


@takes("int_repr(Tensor input) -> Tensor")
def int_repr(self: Tensor) -> Tensor:
    """Return a copy of the integers of a quantized tensor (source: ``torch.int_repr``)."""
    return _need(self, "int_repr").integers.clone()


def qscheme(self: Tensor) -> QScheme:
    """Return how a quantized tensor maps numbers to integers (source: ``torch.Tensor.qscheme``)."""
    return _need(self, "qscheme").scheme


@takes("q_scale(Tensor input) -> float")
def q_scale(self: Tensor) -> float:
    """Return the scale of a tensor that is quantized as a whole (source: ``torch.q_scale``)."""
    found: float = _need(self, "q_scale", whole=True).scale
    return found


@takes("q_zero_point(Tensor input) -> int")
def q_zero_point(self: Tensor) -> int:
    """Return the integer of zero of a tensor that is quantized as a whole (source: ``torch.q_zero_point``)."""
    found: int = _need(self, "q_zero_point", whole=True).zero_point
    return found


@takes("q_per_channel_scales(Tensor input) -> Tensor")
def q_per_channel_scales(self: Tensor) -> Tensor:
    """Return the scales of the channels (source: ``torch.q_per_channel_scales``)."""
    found: Tensor = _need(self, "q_per_channel_scales", whole=False).scale
    return found


@takes("q_per_channel_zero_points(Tensor input) -> Tensor")
def q_per_channel_zero_points(self: Tensor) -> Tensor:
    """Return the integers of zero of the channels (source: ``torch.q_per_channel_zero_points``)."""
    found: Tensor = _need(self, "q_per_channel_zero_points", whole=False).zero_point
    return found


@takes("q_per_channel_axis(Tensor input) -> int")
def q_per_channel_axis(self: Tensor) -> int:
    """Return the dimension of the channels (source: ``torch.q_per_channel_axis``)."""
    found = _need(self, "q_per_channel_axis", whole=False).axis
    assert found is not None
    return found


def quantized_max_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Tensor:
    """Return the greatest numbers in windows (source: ``torch.quantized_max_pool1d``)."""
    return _pool(1, input, kernel_size, stride, padding, dilation, ceil_mode)


def quantized_max_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Tensor:
    """Return the greatest numbers in windows (source: ``torch.quantized_max_pool2d``)."""
    return _pool(2, input, kernel_size, stride, padding, dilation, ceil_mode)


def quantized_max_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Tensor:
    """Return the greatest numbers in windows (source: ``torch.quantized_max_pool3d``)."""
    return _pool(3, input, kernel_size, stride, padding, dilation, ceil_mode)


def _pool(dims: int, input: Tensor, *sizes: Any) -> Tensor:
    _need(input, f"quantized_max_pool{dims}d", whole=True)
    *lists, ceil_mode = [
        [each] * dims if isinstance(each, int) and not isinstance(each, bool) else each for each in sizes
    ]
    found: Tensor = getattr(dc.ops.aten, f"max_pool{dims}d")(input, *map(list, lists), ceil_mode)
    return found


def _need(self: Tensor, what: str, whole: bool | None = None) -> Quantized:
    """Return the record of a quantized tensor, of the kind that is asked for."""
    if not isinstance(self, Tensor):
        raise TypeError(f"{what}(): argument 'input' (position 1) must be Tensor, not {type(self).__name__}")
    if not is_quantized(self):
        if self.dtype in QUANTIZED:
            raise RuntimeError(f"{what}: the tensor is a function transform's\nHint: dequantize() has its numbers")
        refuse_key(self, what)
    record = record_of(self)
    if whole is not None and (record.axis is None) is not whole:
        wanted = "kPerTensorAffine" if whole else "kPerChannelAffine"
        hint = "q_per_channel_scales() and q_per_channel_zero_points()" if whole else "q_scale() and q_zero_point()"
        raise RuntimeError(
            f"{what}: Expected quantizer->qscheme() == {wanted} to be true, but got false.\n"
            f"Hint: the tensor is {record.scheme!r}, and has {hint}"
        )
    return record
