"""Batch norm in training, and its gradient.

On every family but 950 the function saves the variance of each channel where torch saves the inverse deviation (its page),
and its gradient takes the variance (its source). So one is made of the other here, for each channel; the variance loses
digits only where it is far below ``eps``, to which it is added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import cached_rule, contiguous

from ..aclnn.composition import compose
from ..aclnn.conditions import is_filled
from ..aclnn.launch import CallFloat, allocate_result, launch
from ..arrays import AclArray
from ..runtime.device import chip
from .copy import KERNELS as COPIES

_ALONE: Final = "_native_batch_norm_legit.no_stats"
_WITH_RUNNING: Final = "_native_batch_norm_legit_functional"
_BACKWARD: Final = "native_batch_norm_backward"
_rules: Final = {name: cached_rule(name) for name in (_ALONE, _WITH_RUNNING, _BACKWARD)}


def _saves_variance() -> bool:
    return chip().family != "950"


def _per_channel(like: AclArray) -> AclArray:
    return allocate_result(contiguous(like.spec.shape, like.spec.dtype))


def _make_deviation(variance: AclArray, eps: float) -> AclArray:
    """Return the inverse deviations for what the function has saved."""
    if not _saves_variance():
        return variance
    raised, deviation = _per_channel(variance), _per_channel(variance)
    launch("aclnnAdds", variance, eps, 1, raised)
    launch("aclnnRsqrt", raised, deviation)
    return deviation


def _make_variance(deviation: AclArray, eps: float) -> AclArray:
    """Return what the gradient's function takes for inverse deviations."""
    if not _saves_variance():
        return deviation
    squares, raised, variance = (_per_channel(deviation) for _ in range(3))
    launch("aclnnMul", deviation, deviation, squares)
    launch("aclnnReciprocal", squares, raised)
    launch("aclnnSubs", raised, eps, 1, variance)
    return variance


def _is_taken(input: AclArray, saved: ScalarType) -> bool:
    """Return whether the function normalises: with numbers of float32 for each channel, of several elements."""
    shape = input.spec.shape
    return saved is ScalarType.Float and is_filled(input.spec) and input.spec.numel > shape[1]


def _normalise(
    specs: Sequence[Any],
    input: AclArray,
    weight: AclArray | None,
    bias: AclArray | None,
    running: Sequence[AclArray | None],
    momentum: Any,
    eps: float,
) -> tuple[AclArray, AclArray, AclArray]:
    out, mean, variance = map(allocate_result, specs[:3])
    if type(momentum) is float:
        momentum = CallFloat(momentum)  # another one in each step, where the average is cumulative
    launch("aclnnBatchNorm", input, weight, bias, *running, True, momentum, eps, out, mean, variance)
    return out, mean, _make_deviation(variance, eps)


def _train(
    input: AclArray, weight: AclArray | None, bias: AclArray | None, training: bool, momentum: float, eps: float
) -> tuple[AclArray, ...]:
    specs = _rules[_ALONE](input, weight, bias, training, momentum, eps)
    if not _is_taken(input, specs[1].dtype):
        found: tuple[AclArray, ...] = compose(_ALONE, input, weight, bias, training, momentum, eps)
        return found
    return _normalise(specs, input, weight, bias, (None, None), momentum, eps)


def _train_with_running(
    input: AclArray,
    weight: AclArray | None,
    bias: AclArray | None,
    running_mean: AclArray,
    running_var: AclArray,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[AclArray, ...]:
    given = input, weight, bias, running_mean, running_var, training, momentum, eps
    specs = _rules[_WITH_RUNNING](*given)
    if not _is_taken(input, specs[1].dtype):
        found: tuple[AclArray, ...] = compose(_WITH_RUNNING, *given)
        return found
    moved = [COPIES["clone"](each, memory_format=0) for each in (running_mean, running_var)]
    return (*_normalise(specs, input, weight, bias, moved, momentum, eps), *moved)


def _backward(
    grad_out: AclArray,
    input: AclArray,
    weight: AclArray | None,
    running_mean: AclArray | None,
    running_var: AclArray | None,
    save_mean: AclArray | None,
    save_invstd: AclArray | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[AclArray | None, ...]:
    given = grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask
    specs = _rules[_BACKWARD](*given)
    saved = save_invstd
    if train:
        wide = [each.spec.dtype for each in (weight, save_mean) if each is not None]
        if (
            save_mean is None
            or save_invstd is None
            or {*wide, save_invstd.spec.dtype} != {ScalarType.Float}
            or (weight is None and input.spec.dtype is not ScalarType.Float)
            or grad_out.spec.dtype is not input.spec.dtype
            or not _is_taken(input, ScalarType.Float)
        ):
            return tuple(compose(_BACKWARD, *given))
        saved = _make_variance(save_invstd, eps)
    elif not is_filled(input.spec):
        return tuple(compose(_BACKWARD, *given))
    results = list(map(allocate_result, specs))
    wanted = [each if asked else None for each, asked in zip(results, output_mask, strict=True)]
    launch(
        "aclnnBatchNormBackward",
        grad_out,
        input,
        weight,
        running_mean,
        running_var,
        save_mean,
        saved,
        train,
        eps,
        output_mask,
        *wanted,
    )
    return tuple(results)


KERNELS: Final[dict[str, Callable[..., Any]]] = {
    _ALONE: _train,
    _WITH_RUNNING: _train_with_running,
    _BACKWARD: _backward,
}
