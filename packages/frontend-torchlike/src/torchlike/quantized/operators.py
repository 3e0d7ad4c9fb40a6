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
from . import layers, numbers
from .layers import FORMATS
from .tensor import Quantized, become, is_quantized, record_of, wrap_quantized

Kernel = Callable[..., Any]
aten: Final[Any] = dc.ops.aten


def _expect(*tensors: Tensor) -> list[Quantized]:
    """Return the records of tensors that are quantized as a whole, with one dtype."""
    records: list[Quantized] = []
    for each in tensors:
        if not is_quantized(each):
            raise NotImplementedError(
                "Could not run an operator of 'quantized' with arguments from the 'CPU' backend.\n"
                "Hint: quantize_per_tensor() makes a quantized tensor"
            )
        record = record_of(each)
        if record.axis is not None:
            raise RuntimeError("Only per tensor quantization is supported\nHint: x.dequantize() has the numbers")
        if records and record.dtype is not records[0].dtype:
            raise RuntimeError(f"the dtypes of the operands differ: {records[0].dtype!r} and {record.dtype!r}")
        records.append(record)
    return records


def _add(one: Quantized, other: Quantized, scale: float, zero_point: int, relu: bool) -> Tensor:
    total = numbers.dequantize_in_blocks(one) + numbers.dequantize_in_blocks(other)
    if relu:
        total = total.clamp(min=0.0)
    return numbers.make(total, scale, zero_point, one.dtype, in_blocks=True)


def _mul(one: Quantized, other: Quantized, scale: float, zero_point: int, relu: bool) -> Tensor:
    wide = ScalarType.Int
    product = (one.integers.to(wide) - one.zero_point) * (other.integers.to(wide) - other.zero_point)
    factor = np.float32(one.scale) * np.float32(other.scale) * np.float32(numbers.invert(scale))
    made = numbers.saturate((product.to(ScalarType.Float) * float(factor)).round() + float(zero_point), one.dtype)
    made = made.clamp(min=zero_point) if relu else made
    return wrap_quantized(made, scale, zero_point, one.dtype)


def _add_number(self: Quantized, number: float, relu: bool) -> Tensor:
    low, high = self.dtype.bounds
    step = int(np.rint(number / self.scale))
    zero_point, scale, integers = self.zero_point - step, self.scale, self.integers
    if not low <= zero_point <= high:
        above = zero_point > high
        far = (zero_point - low) if above else (high - zero_point)
        scale, zero_point = far / float(high - low) * self.scale, high if above else low
        moved = (integers.to(ScalarType.Int) - self.zero_point + step).to(ScalarType.Double)
        factor = float(np.float32(self.scale) * np.float32(numbers.invert(scale)))
        integers = numbers.saturate((moved * factor).round() + float(zero_point), self.dtype)
    else:
        integers = integers.clone()
    return wrap_quantized(integers.clamp(min=zero_point) if relu else integers, scale, zero_point, self.dtype)


def _mul_number(self: Quantized, number: float, relu: bool) -> Tensor:
    low, high = self.dtype.bounds
    integers, zero_point = self.integers.clone(), self.zero_point
    if number < 0:
        zero_point = high + low - zero_point
        integers = (high + low - integers.to(ScalarType.Long)).to(integers.dtype)
    elif not number:
        integers, zero_point = FUNCTIONS["zeros_like"](integers), 0
    scale = abs(self.scale * number) if number else 1.0
    return wrap_quantized(integers.clamp(min=zero_point) if relu else integers, scale, zero_point, self.dtype)


_BINARY: Final = {"add": (_add, _add_number), "mul": (_mul, _mul_number)}


def _make_binary(name: str) -> Kernel:
    base, _, overload = name.partition(".")
    relu = "relu" in base
    with_tensor, with_number = _BINARY[base[:3]]
    if base.endswith("_out") or overload == "out":

        def write(qa: Tensor, qb: Tensor, out: Tensor) -> Tensor:
            one, other, given = _expect(qa, qb, out)
            made = record_of(with_tensor(one, other, given.scale, given.zero_point, relu))
            given.integers.resize_(made.integers.shape).copy_(made.integers)
            return become(out, given)

        return write
    if "scalar" in base or overload:

        def run(qa: Any, b: Any) -> Tensor:
            self, number = (b, qa) if overload == "Scalar2" else (qa, b)
            (record,) = _expect(self)
            return with_number(record, float(number.item() if isinstance(number, Tensor) else number), relu)

        return run

    def run_on_two(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
        one, other = _expect(qa, qb)
        return with_tensor(one, other, scale, zero_point, relu)

    return run_on_two


def _apply(function: Callable[..., Tensor], qx: Tensor, scale: float, zero_point: int) -> Tensor:
    """Return a function of the numbers, with these parameters."""
    (record,) = _expect(qx)
    found = function(numbers.dequantize_in_blocks(record))
    return numbers.make(found, scale, zero_point, record.dtype, in_blocks=True)


def _leaky_relu(qx: Tensor, slope: float, inplace: bool, scale: float, zero_point: int) -> Tensor:
    if inplace:
        found: Tensor = aten.leaky_relu_(qx, slope)
        return found
    return _apply(lambda x: aten.leaky_relu(x, slope), qx, scale, zero_point)


def _prelu(qx: Tensor, weight: Tensor, scale: float, zero_point: int) -> Tensor:
    _, record = _expect(qx, weight)
    return _apply(lambda x: aten.prelu(x, numbers.dequantize(record)), qx, scale, zero_point)


def _softmax(qx: Tensor, dim: int, scale: float, zero_point: int) -> Tensor:
    (record,) = _expect(qx)
    return numbers.make(FUNCTIONS["softmax"](numbers.dequantize(record), dim), scale, zero_point, record.dtype)


def _concatenate(qx: Any, dim: int, scale: float | None, zero_point: int | None, relu: bool = False) -> Tensor:
    first = _expect(*qx)[0]
    scale = first.scale if scale is None else scale
    zero_point = first.zero_point if zero_point is None else zero_point
    whole = FUNCTIONS["cat"]([numbers.dequantize(record_of(each)) for each in qx], dim)
    return numbers.make(whole.clamp(min=0.0) if relu else whole, scale, zero_point, first.dtype)


def _matmul(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    one, other = _expect(qa, qb)
    found = FUNCTIONS["matmul"](numbers.dequantize(one), numbers.dequantize(other))
    return numbers.make(found, scale, zero_point, one.dtype)


def _batch_norm(
    qx: Tensor, weight: Any, bias: Any, mean: Tensor, var: Tensor, eps: float, *rest: Any, relu: bool = False
) -> Tensor:
    (record,), (scale, zero_point) = _expect(qx), rest
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
    (record,), (*given, scale, zero_point) = _expect(qx), args
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
    **layers.KERNELS,
}


def find_kernel(name: str) -> Kernel:
    """Return the kernel of an overload, which runs without gradients."""
    base = name.partition(".")[0]
    if re.match(r"(add|mul)(_|$)", base):
        found = _make_binary(name)
    elif base.startswith("batch_norm"):
        found = partial(_batch_norm, relu=base.endswith("_relu"))
    else:
        found = _KERNELS.get(name) or _KERNELS[base]

    def run(*values: Any) -> Any:
        with no_grad():
            return found(*values)

    return dc.KernelTraits(answers_for_results=True)(run)
