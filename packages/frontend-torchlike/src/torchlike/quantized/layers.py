"""Linear layers, convolutions and embeddings with packed parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import QUANTIZED, ScalarType

from ..creation.factories import FACTORIES
from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from ..values.dtypes import memory_format
from . import boundless, numbers
from .construction import choose_parameters, find_bounds, find_parameters, find_range
from .packed import (
    Conv2dPackedParamsBase,
    Conv3dPackedParamsBase,
    ConvPackedParamsBase,
    EmbeddingPackedParamsBase,
    LinearPackedParamsBase,
    PackedParams,
    check_numbers,
)
from .products import center, convolve, multiply
from .tensor import Quantized, is_quantized, record_of, wrap_quantized

aten: Final[Any] = dc.ops.aten
_INPUT: Final = ScalarType.QUInt8
#: torch's number for bags that are added up.
_SUM: Final = 0
#: How torch's kernels lay results out, by the number of dimensions.
FORMATS: Final = {1: memory_format.channels_last, 2: memory_format.channels_last, 3: memory_format.channels_last_3d}


def _read_input(x: Tensor, name: str) -> Quantized:
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
    sums = multiply(x, columns)
    if zero_points is None:
        return sums
    sums = sums.to(ScalarType.Int)
    rows = x.sum(1, keepdim=True).to(ScalarType.Int)
    return sums - rows * (zero_points.to(ScalarType.Int) if isinstance(zero_points, Tensor) else zero_points)


def _linear(X: Tensor, packed: LinearPackedParamsBase, scale: float, zero_point: int, relu: bool = False) -> Tensor:
    record = _read_input(X, "linear")
    sums = _sum_products(record, packed)
    made = _finish(_scale(sums, packed, record.scale, scale, [1, -1]), zero_point, record.dtype, relu)
    return wrap_quantized(made.reshape([*X.shape[:-1], sums.shape[-1]]), scale, zero_point, record.dtype)


def _scale(sums: Tensor, packed: PackedParams, input_scale: float, scale: float, shape: list[int]) -> Tensor:
    """Return sums with the bias in units of the output, as float32."""
    bias, factor, _ = packed.units(input_scale, scale, shape)
    found = sums.to(ScalarType.Float)
    return (found if bias is None else found + bias) * factor


def _finish(found: Tensor, zero_point: int, dtype: ScalarType, relu: bool) -> Tensor:
    """Return rounded and saturated integers of finite numbers."""
    low, high = dtype.bounds
    shifted = found.round() + float(zero_point) if zero_point else found.round()
    return shifted.clamp(max(low, zero_point) if relu else low, high).to(QUANTIZED[dtype])


def _linear_dynamic(
    X: Tensor, packed: LinearPackedParamsBase, reduce_range: bool = False, relu: bool = False
) -> Tensor:
    check_numbers(X)
    least, greatest = find_range(X)
    low, high = find_bounds(_INPUT, reduce_range)
    if math.isnan(least):
        least, greatest = boundless.find_known_range(X.detach())
    if math.isfinite(greatest - least):
        scale, zero_point = find_parameters(least, greatest, low, high)
        sums = _sum_products(_quantize_input(X, scale, zero_point), packed)
    else:
        scale, rows = math.inf, X.detach().reshape(-1, X.shape[-1])
        sums = boundless.sum_without_bounds(rows, *packed.factors(), greatest, high)
    found = sums.to(ScalarType.Float) * packed.units(scale, 1.0, [1, -1])[2]
    if (bias := packed.bias()) is not None:
        found = found + bias
    found = found.reshape([*X.shape[:-1], sums.shape[-1]])
    return found.clamp(min=0.0) if relu else found


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
    record = _read_input(qx, f"conv{dims}d")
    sums = _sum_windows(record, packed, dims)
    shape = [1, -1, *[1] * max(dims, 2)]
    found = _scale(sums, packed, record.scale, scale, shape).contiguous(memory_format=FORMATS[dims])
    made = wrap_quantized(_finish(found, zero_point, record.dtype, relu), scale, zero_point, record.dtype)
    return made.squeeze(-2) if dims == 1 else made


def _convolve_dynamic(qx: Tensor, packed: ConvPackedParamsBase, reduce_range: bool = False, *, dims: int) -> Tensor:
    record = _quantize_input(qx, *choose_parameters(qx, _INPUT, reduce_range))
    sums = _sum_windows(record, packed, dims)
    shape = [1, -1, *[1] * max(dims, 2)]
    made = sums.to(ScalarType.Float) * packed.units(record.scale, 1.0, shape)[2]
    if (bias := packed.bias()) is not None:
        made = made + bias.reshape(shape)
    return made.squeeze(-2) if dims == 1 else made


def _embed(weight: EmbeddingPackedParamsBase, indices: Tensor, pruned_weights: bool = False) -> Tensor:
    rows = weight.rows(indices)
    return rows.reshape([*indices.shape, rows.shape[-1]])


def _embed_bags(
    weight: EmbeddingPackedParamsBase,
    indices: Tensor,
    offsets: Tensor | None = None,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    pruned_weights: bool = False,
    per_sample_weights: Tensor | None = None,
    compressed_indices_mapping: Tensor | None = None,
    include_last_offset: bool = False,
) -> Tensor:
    if pruned_weights or compressed_indices_mapping is not None:
        raise NotImplementedError("embedding_bag_byte: pruned weights are not supported")
    rows = weight.rows(indices)
    count = rows.shape[0]
    places = FACTORIES["arange"](count, device=indices.device)
    if indices.dim() == 2:
        offsets = FACTORIES["arange"](0, count, indices.shape[1], device=indices.device)
    weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    found: Tensor = aten.embedding_bag(rows, places, offsets, False, _SUM, False, weights, include_last_offset)[0]
    return found


def _list_convolutions() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for dims in (1, 2, 3):
        for name in (f"conv{dims}d", f"conv_transpose{dims}d"):
            found[f"{name}_prepack"] = partial(_prepack, dims, "transpose" in name)
            found[f"{name}_unpack"] = partial(_unpack, dims)
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
    "embedding_bag_prepack": EmbeddingPackedParamsBase,
    "embedding_bag_unpack": lambda W_prepack: W_prepack.unpack()[0],
    "embedding_byte": _embed,
    "embedding_bag_byte": _embed_bags,
}
