"""Gradients of the gradients of normalizations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, widen
from dispatch_aten.families.normalization.frames import Frame, frame_batch, frame_groups, frame_layers, project

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "deviate",
    "differentiate_normalization",
    "differentiate_rms_norm",
    "differentiate_statistics",
    "frame_batch",
    "frame_groups",
    "frame_layers",
    "link_statistics",
]


def _add(parts: list[Array]) -> Any:
    if not parts:
        return None
    total, *others = parts
    for other in others:
        total = aten.add.Tensor(total, other)
    return total


def link_statistics(frame: Frame, input: Array, mean: Array, rstd: Array) -> tuple[Array, Array]:
    """Return mean and one over the deviation, laid out for the frame, as functions of the input.

    Layer and batch normalization give them back as constants, which further derivatives must not take them for. The values
    are those given, whatever was added to the variance.
    """
    mean, rstd = frame.view_statistics(mean), frame.view_statistics(rstd)
    seen = frame.view(input)
    average = frame.average(seen)
    away = aten.sub.Tensor(seen, average)
    variance = frame.average(aten.mul.Tensor(away, away))
    given = aten.pow.Tensor_Scalar(aten.detach.default(rstd), -2)
    return _move(aten.detach.default(mean), average), aten.rsqrt.default(_move(given, variance))


def _move(value: Array, by: Array) -> Array:
    """Return a value with the derivative of another."""
    return aten.add.Tensor(value, aten.sub.Tensor(by, aten.detach.default(by)))


def differentiate_normalization(
    wanted: str,
    frame: Frame,
    grads: Sequence[Any],
    grad_out: Array,
    input: Array,
    mean: Array,
    rstd: Array,
    weight: Array | None,
) -> Any:
    """Return the gradient that a normalization's backward operator sends to ``grad_out``, ``input`` or ``weight``.

    ``grads`` are the gradients of its three results. Mean and deviation count as functions of the input.
    """
    to_input, to_weight, to_bias = grads[0], grads[1], grads[2]
    slope = frame.view(grad_out)
    if frame.is_fixed:
        mean, rstd = frame.view_statistics(mean), frame.view_statistics(rstd)
    else:
        mean, rstd = link_statistics(frame, input, mean, rstd)
    normal = aten.mul.Tensor(aten.sub.Tensor(frame.view(input), mean), rstd)
    away = None if to_input is None else aten.mul.Tensor(project(frame, frame.view(to_input), normal), rstd)
    factor = frame.view_weight(weight)
    if wanted == "weight":
        if away is None or weight is None:
            return None
        return frame.sum_weight(aten.mul.Tensor(slope, away), dc.shape(weight))
    if wanted == "grad_out":
        parts = [] if away is None else [away if factor is None else aten.mul.Tensor(away, factor)]
        if to_weight is not None:
            parts.append(aten.mul.Tensor(normal, frame.view_weight(to_weight)))
        if to_bias is not None:
            parts.append(aten.expand.default(frame.view_weight(to_bias), frame.shape))
        return _in_shape(_add(parts), input)
    parts = []
    bends = None if to_weight is None else aten.mul.Tensor(slope, frame.view_weight(to_weight))
    if to_input is not None and not frame.is_fixed:
        steep = slope if factor is None else aten.mul.Tensor(slope, factor)
        given = frame.view(to_input)
        tilts = [frame.average(aten.mul.Tensor(each, normal)) for each in (steep, given)]
        turned = aten.mul.Tensor(
            aten.add.Tensor(aten.mul.Tensor(given, tilts[0]), aten.mul.Tensor(steep, tilts[1])), rstd
        )
        bends = aten.neg.default(turned) if bends is None else aten.sub.Tensor(bends, turned)
        # The backward operator's result is proportional to rstd, which falls as the input spreads.
        share = frame.average(aten.mul.Tensor(steep, away))
        parts.append(aten.neg.default(aten.mul.Tensor(aten.mul.Tensor(share, rstd), normal)))
    if bends is not None:
        parts.append(aten.mul.Tensor(project(frame, bends, normal), rstd))
    return _in_shape(_add(parts), input)


def differentiate_rms_norm(
    wanted: str,
    normalized_shape: Sequence[int],
    grads: Sequence[Any],
    grad_out: Array,
    input: Array,
    rstd: Array,
    weight: Array | None,
) -> Any:
    """Return the gradient that ``_fused_rms_norm_backward`` sends to ``grad_out``, ``input`` or ``weight``.

    ``grads`` are the gradients of its two results. The inverse roots count as functions of the input.
    """
    x, slope = widen(input), widen(grad_out)
    to_input, to_weight = (None if each is None else widen(each) for each in grads)
    dims = list(range(len(dc.shape(input)) - len(normalized_shape), len(dc.shape(input))))
    squares = aten.mean.dim(aten.mul.Tensor(x, x), dims, True)
    rstd = aten.rsqrt.default(_move(aten.pow.Tensor_Scalar(aten.detach.default(rstd), -2), squares))
    unit = aten.mul.Tensor(x, rstd)

    def average(product: Array) -> Array:
        return aten.mean.dim(product, dims, True)

    def turn(given: Array) -> Array:
        """Return what an element's own unit leaves of a gradient."""
        along = average(aten.mul.Tensor(given, unit))
        return aten.mul.Tensor(aten.sub.Tensor(given, aten.mul.Tensor(unit, along)), rstd)

    if wanted == "weight":
        if to_input is None or weight is None:
            return None
        product = aten.mul.Tensor(turn(to_input), slope)
        found = aten.sum.dim_IntList(product, list(range(dims[0]))) if dims[0] else product
        return cast(found, dc.dtype(weight))
    parts: list[Array] = []
    if wanted == "grad_out":
        if to_input is not None:
            turned = turn(to_input)
            parts.append(turned if weight is None else aten.mul.Tensor(turned, weight))
        if to_weight is not None:
            parts.append(aten.mul.Tensor(unit, to_weight))
        return None if not parts else cast(_add(parts), dc.dtype(grad_out))
    if to_weight is not None:
        parts.append(aten.mul.Tensor(slope, to_weight))
    if to_input is not None:
        steep = slope if weight is None else aten.mul.Tensor(slope, weight)
        shares = [average(aten.mul.Tensor(each, unit)) for each in (steep, to_input)]
        bent = aten.add.Tensor(aten.mul.Tensor(to_input, shares[0]), aten.mul.Tensor(steep, shares[1]))
        parts.append(aten.neg.default(aten.mul.Tensor(bent, rstd)))
    found = turn(_add(parts)) if parts else None
    if to_input is not None:
        # The backward operator's result is proportional to rstd, which falls as the input grows.
        share = average(aten.mul.Tensor(steep, turn(to_input)))
        found = aten.sub.Tensor(found, aten.mul.Tensor(aten.mul.Tensor(share, rstd), unit))
    return None if found is None else cast(found, dc.dtype(input))


def differentiate_statistics(
    found: Array | None, grads: Sequence[Any], frame: Frame, input: Array, mean: Array, rstd: Array
) -> Any:
    """Return ``found`` with the gradients of mean and deviation."""
    parts = [] if found is None else [found]
    if grads[1] is not None:
        even = aten.div.Scalar(frame.view_statistics(grads[1]), frame.elements)
        parts.append(_in_shape(aten.expand.default(even, frame.shape), input))
    if grads[2] is not None:
        rstd = frame.view_statistics(rstd)
        normal = aten.mul.Tensor(aten.sub.Tensor(frame.view(input), frame.view_statistics(mean)), rstd)
        steep = aten.mul.Tensor(frame.view_statistics(grads[2]), aten.mul.Tensor(rstd, rstd))
        parts.append(_in_shape(aten.mul.Tensor(aten.div.Scalar(steep, -frame.elements), normal), input))
    return _add(parts)


def deviate(variance: Array, eps: float) -> Array:
    """Return one over the deviation."""
    return aten.rsqrt.default(aten.add.Scalar(widen(variance), eps))


def _in_shape(found: Any, like: Array) -> Any:
    return None if found is None else aten.reshape.default(widen(found), dc.shape(like))
