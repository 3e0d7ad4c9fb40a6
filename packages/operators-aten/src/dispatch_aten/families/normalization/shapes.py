"""Shape rules of normalizations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch_aten.dtypes import ScalarType, bfloat16, float16, float32
from dispatch_aten.errors import DtypeError, OperatorError, ShapeError
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_aten.shapes.meta import TensorMeta, channels_last_strides, contiguous, is_channels_last, is_contiguous
from dispatch_aten.shapes.refusals import refuse_kinds

if TYPE_CHECKING:
    from collections.abc import Sequence


def _statistics_dtype(self: TensorMeta, parameters: Sequence[TensorMeta | None]) -> ScalarType:
    """Return the dtype of mean and deviation: the parameters' where ``float32`` ones go with a 16-bit input."""
    found = [each.dtype for each in parameters if each is not None]
    if not found or all(dtype == self.dtype for dtype in found):
        return self.dtype
    if self.dtype in (float16, bfloat16) and found[0] == float32:
        if all(dtype == float32 for dtype in found):
            return float32
        raise DtypeError("mixed dtype (CPU): all the parameters should have the same dtype", argument="weight")
    if self.dtype in (float16, bfloat16) and found[0] == self.dtype:
        wrong = next(dtype for dtype in found if dtype != self.dtype)
        raise DtypeError(f"expected scalar type {self.dtype.name} but found {wrong.name}", argument="weight")
    raise DtypeError("mixed dtype (CPU): expect parameter to have scalar type of Float", argument="weight")


def check_normalized_shape(
    self: TensorMeta, normalized_shape: Sequence[int], parameters: dict[str, TensorMeta | None], comma: str = ", "
) -> None:
    """Refuse trailing dimensions that the input does not have, and parameters of another shape."""
    wanted = tuple(normalized_shape)
    if not wanted:
        raise ShapeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []",
            argument="normalized_shape",
        )
    for name, each in parameters.items():
        if each is not None and each.shape != wanted:
            raise ShapeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(each.shape)} and "
                f"normalized_shape = {list(wanted)}",
                argument=name,
            )
    if self.ndim < len(wanted) or self.shape[self.ndim - len(wanted) :] != wanted:
        listed = "".join(f"{comma}{size}" if not place else f", {size}" for place, size in enumerate(wanted))
        raise ShapeError(
            f"Given normalized_shape={list(wanted)}, expected input with shape [*{listed}], but got input of "
            f"size{list(self.shape)}",
            argument="input",
        )


def _layer_norm(
    input: TensorMeta, normalized_shape: Sequence[int], weight: TensorMeta | None, bias: TensorMeta | None, eps: float
) -> tuple[TensorMeta, TensorMeta, TensorMeta]:
    check_normalized_shape(input, normalized_shape, {"weight": weight, "bias": bias})
    dtype = _statistics_dtype(input, (weight, bias))
    refuse_kinds("LayerNormKernelImpl", "bic", input.dtype)
    kept = input.ndim - len(normalized_shape)
    statistics = contiguous((*input.shape[:kept], *[1] * len(normalized_shape)), dtype)
    return contiguous(input.shape, input.dtype), statistics, statistics


def _fused_rms_norm(
    input: TensorMeta, normalized_shape: Sequence[int], weight: TensorMeta | None, eps: float | None
) -> tuple[TensorMeta, TensorMeta]:
    check_normalized_shape(input, normalized_shape, {"weight": weight}, "")
    refuse_kinds("rms_norm", "bi", input.dtype)
    kept = input.ndim - len(normalized_shape)
    wide = float32 if input.dtype in (float16, bfloat16) else input.dtype
    return contiguous(input.shape, input.dtype), contiguous((*input.shape[:kept], *[1] * len(normalized_shape)), wide)


def _fused_rms_norm_backward(
    grad_out: TensorMeta,
    input: TensorMeta,
    normalized_shape: Sequence[int],
    rstd: TensorMeta,
    weight: TensorMeta | None,
    output_mask: Sequence[bool],
) -> tuple[TensorMeta, TensorMeta]:
    check_normalized_shape(input, normalized_shape, {"weight": weight}, "")
    # A result that is not asked for has no elements.
    of_weight = (
        contiguous((0,), input.dtype)
        if weight is None or not output_mask[1]
        else contiguous(weight.shape, weight.dtype)
    )
    return contiguous(input.shape if output_mask[0] else (0,), input.dtype), of_weight


def suggest_layout(self: TensorMeta) -> TensorMeta:
    """Describe a fresh result that is channels last where ``self`` is, contiguous elsewhere."""
    if is_channels_last(self.shape, self.strides) and not is_contiguous(self.shape, self.strides):
        return TensorMeta(self.shape, channels_last_strides(self.shape), self.dtype)
    return contiguous(self.shape, self.dtype)


def _group_norm(
    input: TensorMeta,
    weight: TensorMeta | None,
    bias: TensorMeta | None,
    N: int,  # torch's name
    C: int,  # torch's name
    HxW: int,  # torch's name
    group: int,
    eps: float,
) -> tuple[TensorMeta, TensorMeta, TensorMeta]:
    if group <= 0:
        raise OperatorError(f"Expected num groups to be greater than 0, got {group}", argument="group")
    if C % group:
        raise ShapeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={group}",
            argument="group",
        )
    for name, each in (("weight", weight), ("bias", bias)):
        if each is not None and each.shape != (C,):
            shown = weight if weight is not None else TensorMeta((0,), (1,), each.dtype)
            raise ShapeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(shown.shape if name == 'bias' else each.shape)} and input of shape {list(input.shape)}",
                argument=name,
            )
    dtype = _statistics_dtype(input, (weight, bias))
    refuse_kinds("GroupNormKernelImpl", "bic", input.dtype)
    statistics = contiguous((N, group), dtype)
    return suggest_layout(input), statistics, statistics


def _check_channels(input: TensorMeta, **parameters: TensorMeta | None) -> int:
    wrap_dim(1, input.ndim)
    channels = input.shape[1]
    for name, each in parameters.items():
        if each is not None and each.numel != channels:
            raise ShapeError(f"{name} should contain {channels} elements not {each.numel}", argument=name)
    return channels


def _batch_norm_statistics(
    input: TensorMeta,
    weight: TensorMeta | None,
    bias: TensorMeta | None,
    running: tuple[TensorMeta, ...],
) -> tuple[TensorMeta, ...]:
    names = ("running_mean", "running_var")
    channels = _check_channels(input, **dict(zip(names, running, strict=False)), weight=weight, bias=bias)
    if not input.numel:
        raise OperatorError(
            f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}", argument="input"
        )
    refuse_kinds("batch_norm", "bic", input.dtype)
    dtype = _statistics_dtype(input, (weight, bias, *running))
    statistics = contiguous((channels,), dtype)
    return suggest_layout(input), statistics, statistics, *running


def _batch_norm_without_running(
    input: TensorMeta,
    weight: TensorMeta | None,
    bias: TensorMeta | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[TensorMeta, ...]:
    return _batch_norm_statistics(input, weight, bias, ())


def _batch_norm_functional(
    input: TensorMeta,
    weight: TensorMeta | None,
    bias: TensorMeta | None,
    running_mean: TensorMeta,
    running_var: TensorMeta,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[TensorMeta, ...]:
    fresh = [contiguous(each.shape, each.dtype) for each in (running_mean, running_var)]
    return _batch_norm_statistics(input, weight, bias, tuple(fresh))


def _batch_norm_evaluate(
    input: TensorMeta,
    weight: TensorMeta | None,
    bias: TensorMeta | None,
    running_mean: TensorMeta,
    running_var: TensorMeta,
    momentum: float,
    eps: float,
) -> tuple[TensorMeta, ...]:
    out, statistics, *_ = _batch_norm_statistics(input, weight, bias, (running_mean, running_var))
    nothing = contiguous((0,), statistics.dtype)
    return out, nothing, nothing


def _backward(
    input: TensorMeta, weight: TensorMeta | None, shape: Sequence[int], mask: Sequence[bool], *, layout: bool
) -> tuple[TensorMeta, ...]:
    """Describe the gradients of input, weight and bias; those that are left out have no elements."""
    first = suggest_layout(input) if layout else contiguous(input.shape, input.dtype)
    dtype = input.dtype if weight is None else weight.dtype
    metas = (first, contiguous(shape, dtype), contiguous(shape, dtype))
    return tuple(meta if wanted else contiguous((0,), meta.dtype) for meta, wanted in zip(metas, mask, strict=True))


def _layer_norm_backward(
    grad_out: TensorMeta,
    input: TensorMeta,
    normalized_shape: Sequence[int],
    mean: TensorMeta,
    rstd: TensorMeta,
    weight: TensorMeta | None,
    bias: TensorMeta | None,
    output_mask: Sequence[bool],
) -> tuple[TensorMeta, ...]:
    check_normalized_shape(input, normalized_shape, {"weight": weight, "bias": bias})
    return _backward(input, bias if weight is None else weight, tuple(normalized_shape), output_mask, layout=False)


def _group_norm_backward(
    grad_out: TensorMeta,
    input: TensorMeta,
    mean: TensorMeta,
    rstd: TensorMeta,
    weight: TensorMeta | None,
    N: int,  # torch's name
    C: int,  # torch's name
    HxW: int,  # torch's name
    group: int,
    output_mask: Sequence[bool],
) -> tuple[TensorMeta, ...]:
    return _backward(input, weight, (C,), output_mask, layout=True)


def _batch_norm_backward(
    grad_out: TensorMeta,
    input: TensorMeta,
    weight: TensorMeta | None,
    running_mean: TensorMeta | None,
    running_var: TensorMeta | None,
    save_mean: TensorMeta | None,
    save_invstd: TensorMeta | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[TensorMeta, ...]:
    return _backward(input, weight, (input.shape[1],), output_mask, layout=True)
