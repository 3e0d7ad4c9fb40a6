"""The kernels of ``torch.ops.quantized``: a rule for each family, by the operator's name."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ..functions.operator_functions import FUNCTIONS
from ..history.grad_mode import no_grad
from ..tensors.tensor import Tensor
from . import embeddings, fused, layers, numbers
from .binary import Kernel, expect, make_binary, write_out
from .layers import FORMATS
from .tensor import record_of, wrap_quantized

aten: Final[Any] = dc.ops.aten


def _apply(function: Callable[..., Tensor], qx: Tensor, scale: float, zero_point: int) -> Tensor:
    """Return a function of the numbers, with these parameters."""
    (record,) = expect(qx)
    found = function(numbers.dequantize_in_blocks(record))
    return numbers.make(found, scale, zero_point, record.dtype, in_blocks=True)


def _leaky_relu(qx: Tensor, slope: float, inplace: bool, scale: float, zero_point: int) -> Tensor:
    if inplace:
        found: Tensor = aten.leaky_relu_(qx, slope)
        return found
    return _apply(lambda x: aten.leaky_relu(x, slope), qx, scale, zero_point)


def _prelu(qx: Tensor, weight: Tensor, scale: float, zero_point: int) -> Tensor:
    _, record = expect(qx, weight)
    return _apply(lambda x: aten.prelu(x, numbers.dequantize(record)), qx, scale, zero_point)


def _softmax(qx: Tensor, dim: int, scale: float, zero_point: int) -> Tensor:
    (record,) = expect(qx)
    return numbers.make(FUNCTIONS["softmax"](numbers.dequantize(record), dim), scale, zero_point, record.dtype)


def _concatenate(qx: Any, dim: int, scale: float | None, zero_point: int | None, relu: bool = False) -> Tensor:
    first = expect(*qx)[0]
    scale = first.scale if scale is None else scale
    zero_point = first.zero_point if zero_point is None else zero_point
    whole = FUNCTIONS["cat"]([numbers.dequantize(record_of(each)) for each in qx], dim)
    return numbers.make(whole.clamp(min=0.0) if relu else whole, scale, zero_point, first.dtype)


def _write_concatenated(qx: Any, dim: int, out: Tensor, relu: bool = False) -> Tensor:
    (given,) = expect(out)
    return write_out(_concatenate(qx, dim, given.scale, given.zero_point, relu), out)


def _matmul(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    one, other = expect(qa, qb)
    found = FUNCTIONS["matmul"](numbers.dequantize(one), numbers.dequantize(other))
    return numbers.make(found, scale, zero_point, one.dtype)


def _batch_norm(
    qx: Tensor, weight: Any, bias: Any, mean: Tensor, var: Tensor, eps: float, *rest: Any, relu: bool = False
) -> Tensor:
    (record,), (scale, zero_point) = expect(qx), rest
    inverse = 1.0 / (var + eps).sqrt()
    weight = FUNCTIONS["ones_like"](var) if weight is None else weight
    bias = FUNCTIONS["zeros_like"](var) if bias is None else bias
    alpha = inverse * weight * float(np.float32(record.scale) / np.float32(scale))
    beta = (bias - mean * inverse * weight) / float(np.float32(scale))
    shape = [1, -1, *[1] * (qx.dim() - 2)]
    away = record.integers.to(ScalarType.Float) - float(record.zero_point)
    found = (away * alpha.reshape(shape) + beta.reshape(shape)).round() + float(zero_point)
    made = numbers.saturate(found, record.dtype)
    made = made.clamp(min=zero_point) if relu else made
    if made.dim() in (4, 5):
        made = made.contiguous(memory_format=FORMATS[made.dim() - 2])
    return wrap_quantized(made, scale, zero_point, record.dtype)


def _normalize(name: str, qx: Tensor, *args: Any) -> Tensor:
    (record,), (*given, scale, zero_point) = expect(qx), args
    x = numbers.dequantize(record)
    if name == "layer_norm":
        found = aten.layer_norm(x, *given)
    elif name == "group_norm":
        found = aten.group_norm(x, *given)
    else:
        weight, bias, eps = given
        found = aten.group_norm(x, x.shape[1], weight, bias, eps)
    return numbers.make(found, scale, zero_point, record.dtype, in_blocks=True)


def _relu6(qx: Tensor, inplace: bool = False) -> Tensor:
    found: Tensor = (aten.relu6_ if inplace else aten.relu6)(qx)
    return found


def _pool(dims: int, qx: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Tensor:
    found: Tensor = getattr(aten, f"max_pool{dims}d")(qx, kernel, stride, padding, dilation, ceil_mode)
    return found


def _of(name: str) -> Kernel:
    """Return the kernel of a function of the numbers, whose further arguments come after the parameters."""

    def run(qx: Tensor, scale: float, zero_point: int, *rest: Any) -> Tensor:
        return _apply(lambda x: getattr(aten, name)(x, *rest), qx, scale, zero_point)

    return run


_KERNELS: Final[dict[str, Kernel]] = {
    "_dequantize": lambda self: numbers.dequantize(record_of(self)),
    "matmul": _matmul,
    "cat": _concatenate,
    "cat_relu": partial(_concatenate, relu=True),
    "layer_norm": partial(_normalize, "layer_norm"),
    "group_norm": partial(_normalize, "group_norm"),
    "instance_norm": partial(_normalize, "instance_norm"),
    **{name: _of(name) for name in ("hardswish", "sigmoid", "elu", "celu")},
    "leaky_relu": _leaky_relu,
    "softmax": _softmax,
    "prelu": _prelu,
    "dropout": lambda self, scale, zero_point, p=0.5, training=False: self.clone(),
    "relu6": _relu6,
    "clamp": lambda qx, low=None, high=None: aten.clamp(qx, low, high),
    "threshold": aten.threshold,
    "max_pool1d": partial(_pool, 1),
    "max_pool2d": partial(_pool, 2),
    "cat_out": _write_concatenated,
    "cat_relu_out": partial(_write_concatenated, relu=True),
    **layers.KERNELS,
    **fused.KERNELS,
    **embeddings.KERNELS,
}


def find_kernel(name: str) -> Kernel:
    """Return the kernel of an overload, which runs without gradients."""
    base = name.partition(".")[0]
    if re.match(r"(add|mul)(_|$)", base):
        found = make_binary(name)
    elif base.startswith("batch_norm"):
        found = partial(_batch_norm, relu=base.endswith("_relu"))
    else:
        found = _KERNELS.get(name) or _KERNELS[base]

    def run(*values: Any) -> Any:
        with no_grad():
            return found(*values)

    return dc.KernelTraits(answers_for_results=True)(run)
