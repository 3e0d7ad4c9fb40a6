"""Linear layers and convolutions whose numbers go through a function, or are added to others, before they are integers.

torch has them where oneDNN computes; a number is rounded after the zero point is added to it, as there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ..tensors.tensor import Tensor
from . import numbers
from .layers import FORMATS, find_products, find_windows, read_input
from .packed import ConvPackedParamsBase, LinearPackedParamsBase
from .tensor import record_of, wrap_quantized

aten: Final[Any] = dc.ops.aten
_INPUT: Final = ScalarType.QUInt8


def _finish(found: Tensor, scale: float, zero_point: int, dtype: ScalarType) -> Tensor:
    """Return numbers, which it writes to, as a quantized tensor."""
    rounded = found.mul_(numbers.invert(scale)).add_(float(zero_point)).round_()
    return wrap_quantized(numbers.saturate(rounded, dtype), scale, zero_point, dtype)


def _linear_tanh(X: Tensor, packed: LinearPackedParamsBase, scale: float, zero_point: int) -> Tensor:
    record = read_input(X, "linear_tanh")
    return _finish(aten.tanh_(find_products(X, record, packed)), scale, zero_point, record.dtype)


def _linear_leaky_relu(
    X: Tensor, packed: LinearPackedParamsBase, scale: float, zero_point: int, negative_slope: float
) -> Tensor:
    record = read_input(X, "linear_leaky_relu")
    found = aten.leaky_relu_(find_products(X, record, packed), negative_slope)
    return _finish(found, scale, zero_point, record.dtype)


def _linear_of_numbers(relu: bool) -> Callable[..., Tensor]:
    def run(X: Tensor, scale: float, zero_point: int, packed: LinearPackedParamsBase) -> Tensor:
        found = find_products(X, record_of(numbers.make(X.detach(), scale, zero_point, _INPUT)), packed)
        return found.clamp_(min=0.0) if relu else found

    return run


def _add_to_windows(relu: bool) -> Callable[..., Tensor]:
    def run(qx: Tensor, qaccum: Tensor, packed: ConvPackedParamsBase, scale: float, zero_point: int) -> Tensor:
        record, other = (read_input(each, "conv2d_add") for each in (qx, qaccum))
        found = find_windows(record, packed, 2)
        if found.shape != qaccum.shape:
            raise RuntimeError(
                f"quantized::conv2d_add: the convolution has the size {list(found.shape)}, and what is added"
                f" {list(qaccum.shape)}"
            )
        found.add_(numbers.dequantize(other))
        made = record_of(_finish(found.clamp_(min=0.0) if relu else found, scale, zero_point, record.dtype))
        return wrap_quantized(made.integers.contiguous(memory_format=FORMATS[2]), scale, zero_point, record.dtype)

    return run


KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "linear_tanh": _linear_tanh,
    "linear_leaky_relu": _linear_leaky_relu,
    "linear_with_input_q_dq_qweight_dq_output_fp32": _linear_of_numbers(relu=False),
    "linear_with_input_q_dq_qweight_dq_relu_output_fp32": _linear_of_numbers(relu=True),
    "conv2d_add": _add_to_windows(relu=False),
    "conv2d_add_relu": _add_to_windows(relu=True),
}
