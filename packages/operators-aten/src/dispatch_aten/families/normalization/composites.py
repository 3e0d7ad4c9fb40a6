"""Normalizations in terms of simpler operators.

All of them bring a part of the input to mean 0 and variance 1; they differ in which part that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, meta_of, ndim, numel, widen
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import ArgumentValueError, OperatorError, ShapeError, UnsupportedError
from dispatch_aten.families.normalization.frames import Frame, differentiate, frame_batch, frame_groups, frame_layers
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.dims import wrap_dim

if TYPE_CHECKING:
    from collections.abc import Sequence


def _meta_or_none(self: Array | None) -> Any:
    return None if self is None else meta_of(self)


def _standardize(
    frame: Frame, input: Array, weight: Array | None, bias: Array | None, eps: float, dtype: ScalarType | None = None
) -> tuple[Array, Array, Array, Array]:
    """Return the normalized input, the mean, the variance and one over the deviation; ``dtype`` rounds both of them."""
    wide = frame.view(input)
    mean = frame.average(wide)
    away = aten.sub.Tensor(wide, mean)
    variance = frame.average(aten.mul.Tensor(away, away))
    rstd = aten.rsqrt.default(aten.add.Scalar(variance, eps))
    if dtype is not None and dtype != dc.dtype(mean):
        mean, rstd = widen(cast(mean, dtype)), widen(cast(rstd, dtype))
        away = aten.sub.Tensor(wide, mean)
    out = aten.mul.Tensor(away, rstd)
    if weight is not None:
        out = aten.mul.Tensor(out, frame.view_weight(weight))
    if bias is not None:
        out = aten.add.Tensor(out, frame.view_weight(bias))
    return aten.reshape.default(out, dc.shape(input)), mean, variance, rstd


def _native_layer_norm(
    input: Array, normalized_shape: Sequence[int], weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array]:
    found = RULES["native_layer_norm"](
        meta_of(input), normalized_shape, _meta_or_none(weight), _meta_or_none(bias), eps
    )
    out, mean, _, rstd = _standardize(frame_layers(dc.shape(input), normalized_shape), input, weight, bias, eps)
    return _finish(found, out, mean, rstd)


def _finish(metas: Sequence[Any], out: Array, *statistics: Array) -> tuple[Array, ...]:
    """Return results in the dtypes and shapes of the rule; the first one's layout is that of the input."""
    like_rule = [
        aten.reshape.default(cast(each, meta.dtype), meta.shape)
        for each, meta in zip(statistics, metas[1:], strict=True)
    ]
    out = cast(out, metas[0].dtype)
    if dc.has_strides(out) and dc.strides(out) != metas[0].strides:
        fresh = aten.new_empty_strided.default(out, metas[0].shape, metas[0].strides)
        out = aten.copy.default(fresh, out)
    return (out, *like_rule)


def _native_group_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    N: int,  # torch's name
    C: int,  # torch's name
    HxW: int,  # torch's name
    group: int,
    eps: float,
) -> tuple[Array, ...]:
    found = RULES["native_group_norm"](
        meta_of(input), _meta_or_none(weight), _meta_or_none(bias), N, C, HxW, group, eps
    )
    out, mean, _, rstd = _standardize(frame_groups(N, C, HxW, group), input, weight, bias, eps)
    return _finish(found, out, mean, rstd)


def _group_norm(
    input: Array,
    num_groups: int,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Array:
    shape = dc.shape(input)
    wrap_dim(1, len(shape))
    area = 1
    for size in shape[2:]:
        area *= size
    return aten.native_group_norm.default(input, weight, bias, shape[0], shape[1], area, num_groups, eps)[0]


def _batch_norm_without_running(
    input: Array, weight: Array | None, bias: Array | None, training: bool, momentum: float, eps: float
) -> tuple[Array, ...]:
    found = RULES["_native_batch_norm_legit.no_stats"](
        meta_of(input), _meta_or_none(weight), _meta_or_none(bias), training, momentum, eps
    )
    out, mean, _, rstd = _standardize(frame_batch(dc.shape(input)), input, weight, bias, eps, found[1].dtype)
    return _finish(found, out, mean, rstd)


def _batch_norm_functional(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array,
    running_var: Array,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Array, ...]:
    found = RULES["_native_batch_norm_legit_functional"](
        meta_of(input),
        _meta_or_none(weight),
        _meta_or_none(bias),
        meta_of(running_mean),
        meta_of(running_var),
        training,
        momentum,
        eps,
    )
    frame = frame_batch(dc.shape(input))
    out, mean, variance, rstd = _standardize(frame, input, weight, bias, eps, found[1].dtype)
    count = numel(input) // dc.shape(input)[1]
    unbiased = aten.mul.Scalar(variance, count / (count - 1) if count > 1 else float("nan"))
    moved = [
        aten.add.Tensor(
            aten.mul.Scalar(old, 1 - momentum),
            aten.reshape.default(aten.mul.Scalar(new, momentum), dc.shape(old)),
        )
        for old, new in ((running_mean, mean), (running_var, unbiased))
    ]
    return _finish(found, out, mean, rstd, *moved)


def _batch_norm_evaluate(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array,
    running_var: Array,
    momentum: float,
    eps: float,
) -> tuple[Array, Array, Array]:
    found = RULES["_native_batch_norm_legit_no_training"](
        *map(_meta_or_none, (input, weight, bias, running_mean, running_var)), momentum, eps
    )
    # One factor and one summand for each channel.
    scale = aten.rsqrt.default(aten.add.Scalar(widen(running_var), eps))
    if weight is not None:
        scale = aten.mul.Tensor(scale, widen(weight))
    shift = aten.neg.default(aten.mul.Tensor(widen(running_mean), scale))
    if bias is not None:
        shift = aten.add.Tensor(shift, widen(bias))
    shape = [-1 if dim == 1 else 1 for dim in range(ndim(input))]
    out = aten.add.Tensor(
        aten.mul.Tensor(widen(input), aten.reshape.default(scale, shape)), aten.reshape.default(shift, shape)
    )
    nothing = aten.new_empty.default(running_mean, (0,))
    return _finish(found, out, nothing, nothing)


def _check_batch_norm(
    input: Array,
    training: bool,
    running: dict[str, Array | None],
    parameters: dict[str, Array | None],
) -> None:
    channels = dc.shape(input)[1]
    for name, each in (running | parameters).items():
        if each is None:
            if name in running and not training:
                raise OperatorError(
                    f"{name} must be defined in evaluation mode", operator="aten::batch_norm", argument=name
                )
        elif numel(each) != channels:
            raise ShapeError(
                f"{name} should contain {channels} elements not {numel(each)}",
                operator="aten::batch_norm",
                argument=name,
            )
    dtype = dc.dtype(input)
    if not dtype.is_floating_point:
        raise UnsupportedError(
            f"\"batch_norm\" not implemented for '{dtype.name}'", operator="aten::batch_norm", argument="input"
        )


def _native_batch_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Array, ...]:
    wrap_dim(1, ndim(input))
    _check_batch_norm(
        input, training, {"running_mean": running_mean, "running_var": running_var}, {"weight": weight, "bias": bias}
    )
    if not training:
        return aten._native_batch_norm_legit_no_training.default(
            input, weight, bias, running_mean, running_var, momentum, eps
        )
    if running_mean is None and running_var is None:
        return aten._native_batch_norm_legit.no_stats(input, weight, bias, True, momentum, eps)
    if running_mean is None or running_var is None:
        raise ArgumentValueError(
            "running_mean and running_var must either both be None or neither be None",
            operator="aten::batch_norm",
            argument="running_mean",
        )
    *found, mean, variance = aten._native_batch_norm_legit_functional.default(
        input, weight, bias, running_mean, running_var, True, momentum, eps
    )
    aten.copy_.default(running_mean, mean)
    aten.copy_.default(running_var, variance)
    return tuple(found)


def _batch_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Array:
    if not numel(input):
        out = aten.clone.default(input)
        if weight is not None:
            out = aten.mul.Tensor(out, aten.select.int(weight, 0, 0))
        return out if bias is None else aten.add.Tensor(out, aten.select.int(bias, 0, 0))
    return aten.native_batch_norm.default(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


def _instance_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Array:
    if not use_input_stats and (running_mean is None or running_var is None):
        raise OperatorError(
            "Expected running_mean and running_var to be defined when use_input_stats is false",
            operator="aten::instance_norm",
            argument="running_mean",
        )
    shape = dc.shape(input)
    wrap_dim(1, len(shape))
    batch, channels = shape[:2]

    def spread(each: Array | None) -> Array | None:
        return None if each is None else aten.repeat.default(each, (batch,))

    # Every channel of every sample is a channel of one sample.
    many = aten.reshape.default(aten.contiguous.default(input), (1, batch * channels, *shape[2:]))
    mean, variance = spread(running_mean), spread(running_var)
    out = aten.batch_norm.default(
        many, spread(weight), spread(bias), mean, variance, use_input_stats, momentum, eps, cudnn_enabled
    )
    if use_input_stats:
        for running, each in ((running_mean, mean), (running_var, variance)):
            if running is not None:
                averaged = aten.mean.dim(aten.view.default(each, (batch, channels)), [0], False)
                aten.copy_.default(running, averaged)
    return aten.reshape.default(out, shape)


def _native_layer_norm_backward(
    grad_out: Array,
    input: Array,
    normalized_shape: Sequence[int],
    mean: Array,
    rstd: Array,
    weight: Array | None,
    bias: Array | None,
    output_mask: Sequence[bool],
) -> tuple[Array | None, ...]:
    frame = frame_layers(dc.shape(input), normalized_shape)
    found = differentiate(frame, grad_out, input, mean, rstd, weight, normalized_shape, output_mask)
    return _cast_all(found, input, bias if weight is None else weight)


def _native_group_norm_backward(
    grad_out: Array,
    input: Array,
    mean: Array,
    rstd: Array,
    weight: Array | None,
    N: int,  # torch's name
    C: int,  # torch's name
    HxW: int,  # torch's name
    group: int,
    output_mask: Sequence[bool],
) -> tuple[Array | None, ...]:
    frame = frame_groups(N, C, HxW, group)
    return _cast_all(differentiate(frame, grad_out, input, mean, rstd, weight, (C,), output_mask), input, weight)


def _native_batch_norm_backward(
    grad_out: Array,
    input: Array,
    weight: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    save_mean: Array | None,
    save_invstd: Array | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[Array | None, ...]:
    if not train:
        save_mean, save_invstd = running_mean, aten.rsqrt.default(aten.add.Scalar(widen(running_var), eps))
    frame, channels = frame_batch(dc.shape(input), train), dc.shape(input)[1]
    found = differentiate(frame, grad_out, input, save_mean, save_invstd, weight, (channels,), output_mask)
    return _cast_all(found, input, weight)


def _cast_all(found: Sequence[Array | None], input: Array, weight: Array | None) -> tuple[Array | None, ...]:
    """Return gradients in the dtypes of input and weight."""
    dtypes = [dc.dtype(input), *[dc.dtype(input if weight is None else weight)] * 2]
    return tuple(None if each is None else cast(each, dtype) for each, dtype in zip(found, dtypes, strict=True))
