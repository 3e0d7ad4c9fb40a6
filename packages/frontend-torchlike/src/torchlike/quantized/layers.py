"""Linear layers and convolutions with packed parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import QUANTIZED, ScalarType

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from ..values.dtypes import memory_format
from . import boundless, numbers
from .construction import choose_parameters, find_bounds, find_parameters, find_range
from .packed import (
    Conv2dPackedParamsBase,
    Conv3dPackedParamsBase,
    ConvPackedParamsBase,
    LinearPackedParamsBase,
    PackedParams,
    check_numbers,
)
from .products import BLOCK, center, convolve, multiply
from .tensor import Quantized, is_quantized, record_of, wrap_quantized

aten: Final[Any] = dc.ops.aten
_INPUT: Final = ScalarType.QUInt8
#: How torch's kernels lay results out, by the number of dimensions.
FORMATS: Final = {1: memory_format.channels_last, 2: memory_format.channels_last, 3: memory_format.channels_last_3d}


def read_input(x: Tensor, name: str) -> Quantized:
    """Return the record of a layer's input; raises where it is not quantized, of 8 bits and as a whole."""
    if not is_quantized(x):
        raise NotImplementedError(
            f"Could not run 'quantized::{name}' with arguments from the 'CPU' backend.\n"
            f"Hint: quantize_per_tensor() makes a quantized tensor, and quantized::{name}_dynamic takes numbers"
        )
    record = record_of(x)
    if record.dtype not in (_INPUT, ScalarType.QInt8) or record.axis is not None:
        raise RuntimeError(
            f"quantized::{name}: expected an input of {_INPUT!r} that is quantized as a whole, but got {record.dtype!r},"
            f" {record.scheme!r}"
        )
    return record


def _quantize_input(x: Tensor, scale: float, zero_point: int) -> Quantized:
    integers = numbers.quantize_numbers(x.detach(), scale, zero_point, _INPUT)
    return record_of(wrap_quantized(integers, scale, zero_point, _INPUT))


def _sum_products(record: Quantized, packed: LinearPackedParamsBase) -> Tensor:
    """Return the sums of a linear layer as int32, of ``(rows, outputs)``."""
    columns, zero_points = packed.factors()
    inner = columns.shape[0]
    if record.integers.dim() < 1 or record.integers.shape[-1] != inner:
        raise RuntimeError(
            f"The number of columns in the packed weight ({inner}) and the input ({list(record.integers.shape)}) differ"
        )
    x = center(record).reshape(-1, inner)
    sums = multiply(x, columns, packed.block(record.zero_point, record.dtype) if inner > BLOCK else BLOCK)
    if zero_points is None:
        return sums
    sums = sums.to(ScalarType.Int)
    rows = x.sum(1, keepdim=True).to(ScalarType.Int)
    return sums - rows * (zero_points.to(ScalarType.Int) if isinstance(zero_points, Tensor) else zero_points)


def _linear(X: Tensor, packed: LinearPackedParamsBase, scale: float, zero_point: int, relu: bool = False) -> Tensor:
    record = read_input(X, "linear")
    sums = _sum_products(record, packed)
    made = _finish(_scale(sums, packed, record.scale, scale, [1, -1]), zero_point, record.dtype, relu)
    return wrap_quantized(made.reshape([*X.shape[:-1], sums.shape[-1]]), scale, zero_point, record.dtype)


def _scale(sums: Tensor, packed: PackedParams, input_scale: float, scale: float, shape: list[int]) -> Tensor:
    """Return sums, which it may write to, with the bias in units of the output, as float32."""
    bias, factor, _ = packed.units(input_scale, scale, shape)
    found = sums.to(ScalarType.Float)  # sums themselves, where they are float32 already: nothing else has them
    return (found if bias is None else found.add_(bias)).mul_(factor)


def _finish(found: Tensor, zero_point: int, dtype: ScalarType, relu: bool) -> Tensor:
    """Return rounded and saturated integers of finite numbers, which it writes to."""
    low, high = dtype.bounds
    found.round_()
    if zero_point:
        found.add_(float(zero_point))
    return found.clamp_(max(low, zero_point) if relu else low, high).to(QUANTIZED[dtype])


def _linear_dynamic(
    X: Tensor, packed: LinearPackedParamsBase, reduce_range: bool = False, relu: bool = False
) -> Tensor:
    check_numbers(X)
    least, greatest = find_range(X)
    low, high = find_bounds(_INPUT, reduce_range)
    if math.isnan(least):
        least, greatest = boundless.find_known_range(X.detach())
    if math.isfinite(greatest - least):
        found = find_products(X, _quantize_input(X, *find_parameters(least, greatest, low, high)), packed)
    else:
        rows = X.detach().reshape(-1, X.shape[-1])
        sums = boundless.sum_without_bounds(rows, *packed.factors(), greatest, high)
        found = _to_numbers(sums, packed, math.inf, [1, -1]).reshape([*X.shape[:-1], sums.shape[-1]])
    return found.clamp_(min=0.0) if relu else found


def find_products(x: Tensor, record: Quantized, packed: LinearPackedParamsBase) -> Tensor:
    """Return the numbers of a linear layer, of an input whose record is given."""
    found = _to_numbers(_sum_products(record, packed), packed, record.scale, [1, -1])
    return found.reshape([*x.shape[:-1], found.shape[-1]])


def find_windows(record: Quantized, packed: ConvPackedParamsBase, dims: int) -> Tensor:
    """Return the numbers of a convolution; one of one dimension has another of a single index."""
    return _to_numbers(_sum_windows(record, packed, dims), packed, record.scale, [1, -1, *[1] * max(dims, 2)])


def _to_numbers(sums: Tensor, packed: PackedParams, input_scale: float, shape: list[int]) -> Tensor:
    """Return the numbers of sums, which it may write to, with the bias."""
    found = sums.to(ScalarType.Float).mul_(packed.units(input_scale, 1.0, shape)[2])
    return found if (bias := packed.bias()) is None else found.add_(bias.reshape(shape))


def _prepack(dims: int, transpose: bool, weight: Tensor, bias: Any, *sizes: Any) -> ConvPackedParamsBase:
    """Return the packed parameters of a convolution; of one dimension as those of two."""
    stride, padding, *rest = sizes
    output_padding = rest[0] if transpose else [0] * dims
    dilation, groups = rest[-2:]
    lists = [[*each] for each in (stride, padding, output_padding, dilation)]
    if dims == 1:
        weight = weight.unsqueeze(-2)
        lists = [[start, *each] for start, each in zip((1, 0, 0, 1), lists, strict=True)]
    weight = weight.contiguous(memory_format=FORMATS[dims])
    kind: type[ConvPackedParamsBase] = Conv3dPackedParamsBase if dims == 3 else Conv2dPackedParamsBase
    return kind(weight, bias, (lists[0], lists[1], lists[2], lists[3]), groups, transpose)


def _unpack(dims: int, packed: ConvPackedParamsBase) -> tuple[Tensor, Tensor | None]:
    weight, bias = packed.unpack()
    return (weight.squeeze(-2) if dims == 1 else weight), bias


def _read_size(dims: int, size: str, packed_weights: ConvPackedParamsBase) -> Any:
    found = getattr(packed_weights, size)()
    if isinstance(found, list):
        return found[-dims:]
    return int(found)


def _sum_windows(record: Quantized, packed: ConvPackedParamsBase, dims: int) -> Tensor:
    """Return the sums of a convolution as int32."""
    filters, zero_points = packed.factors()
    x = center(record)
    if x.dim() != dims + 2:
        raise RuntimeError(f"quantized::conv{dims}d(): Expected activation tensor to have {dims + 2} dimensions.")
    if dims == 1:
        x = x.unsqueeze(-2)
    stride, padding, output_padding, dilation = packed._sizes
    groups, is_transposed = packed.groups(), packed.transpose()

    def call(a: Tensor, b: Tensor) -> Any:
        return aten.convolution(a, b, None, stride, padding, dilation, is_transposed, output_padding, groups)

    inner = filters.shape[0] // groups if is_transposed else filters.shape[1]
    products = inner * filters[0, 0].numel()
    sums = convolve(x, filters, products, call)
    if zero_points is not None:
        windows = convolve(x, FUNCTIONS["ones_like"](filters), products, call)
        if isinstance(zero_points, Tensor):
            zero_points = zero_points.to(ScalarType.Int).reshape(1, -1, *[1] * (x.dim() - 2))
        sums = sums.to(ScalarType.Int) - windows.to(ScalarType.Int) * zero_points
    return sums


def _convolve(qx: Tensor, packed: ConvPackedParamsBase, *rest: Any, dims: int, relu: bool = False) -> Tensor:
    scale, zero_point = rest[-2:]
    record = read_input(qx, f"conv{dims}d")
    sums = _sum_windows(record, packed, dims)
    shape = [1, -1, *[1] * max(dims, 2)]
    integers = _finish(_scale(sums, packed, record.scale, scale, shape), zero_point, record.dtype, relu)
    integers = integers.contiguous(memory_format=FORMATS[dims])
    made = wrap_quantized(integers, scale, zero_point, record.dtype)
    return made.squeeze(-2) if dims == 1 else made


def _convolve_dynamic(qx: Tensor, packed: ConvPackedParamsBase, reduce_range: bool = False, *, dims: int) -> Tensor:
    made = find_windows(_quantize_input(qx, *choose_parameters(qx, _INPUT, reduce_range)), packed, dims)
    return made.squeeze(-2) if dims == 1 else made


def _list_convolutions() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for dims in (1, 2, 3):
        for name in (f"conv{dims}d", f"conv_transpose{dims}d"):
            found[f"{name}_prepack"] = partial(_prepack, dims, "transpose" in name)
            found[f"{name}_unpack"] = partial(_unpack, dims)
            for size in ("stride", "padding", "output_padding", "dilation", "groups", "transpose"):
                found[f"{name}_{size}"] = partial(_read_size, dims, size)
            found[f"{name}_dynamic"] = partial(_convolve_dynamic, dims=dims)
            found[name] = partial(_convolve, dims=dims)
            found[f"{name}_relu"] = partial(_convolve, dims=dims, relu=True)
    return found


KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "linear": _linear,
    "linear_relu": partial(_linear, relu=True),
    "linear_dynamic": _linear_dynamic,
    "linear_relu_dynamic": partial(_linear_dynamic, relu=True),
    "linear_prepack": LinearPackedParamsBase,
    "linear_unpack": lambda W_prepack: W_prepack.unpack(),
    **_list_convolutions(),
}
