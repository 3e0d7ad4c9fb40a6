"""Kernels of normalizations: one forward and one backward, on the input as each normalization cuts it.

An input is seen as ``(parts, shared)`` or ``(samples, channels, shared)``. ``einsum`` sums products without storing them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from ...arrays import Array
from ...kernel_table import Kernel, KernelTable
from ...output_specs import half_as_float
from ..support.compiled_kernels import native_rows
from ..support.constants import number
from ..support.reduce_ufuncs import SUM
from ..support.rule_kernels import cast, make_kernel

#: The function beneath ``np.einsum``, which looks for the order of more than two operands.
c_einsum: Final[Any] = getattr(getattr(getattr(np, "_core", None), "multiarray", None), "c_einsum", np.einsum)

KERNELS: Final = KernelTable()


class _Cut:
    """The shapes of input, statistics and weight that broadcast, and how elements that share one are added up."""

    __slots__ = ("bessel", "elements", "shape", "statistics", "to_statistics", "to_weight", "weight")

    def __init__(
        self,
        shape: tuple[int, ...],
        statistics: tuple[int, ...],
        weight: tuple[int, ...],
        to_statistics: str,
        to_weight: str,
    ) -> None:
        self.shape, self.statistics, self.weight = shape, statistics, weight
        self.to_statistics, self.to_weight = _Sum(to_statistics), _Sum(to_weight)
        self.elements = max(math.prod(shape) // max(math.prod(statistics), 1), 1)
        self.bessel = self.elements / (self.elements - 1) if self.elements > 1 else math.nan


class _Sum:
    """The sum of an array, or of the product of two, over the elements that share a statistic or a weight."""

    __slots__ = ("_axes", "_products")

    def __init__(self, products: str) -> None:
        terms, result = products.partition(",")[0], products.partition("->")[2]
        self._products = products
        self._axes = tuple(place for place, letter in enumerate(terms) if letter not in result)

    def __call__(self, array: Array, other: Array | None = None) -> Array:
        if other is None:
            return np.asarray(SUM(array, self._axes))
        found: Array = c_einsum(self._products, array, other)
        return found


@lru_cache(maxsize=256)
def cut_layers(shape: tuple[int, ...], normalized_shape: tuple[int, ...]) -> _Cut:
    count = math.prod(normalized_shape)
    parts = math.prod(shape[: len(shape) - len(normalized_shape)])
    return _Cut((parts, count), (parts, 1), (1, count), "ps,ps->p", "ps,ps->s")


@lru_cache(maxsize=256)
def _cut_groups(batch: int, channels: int, area: int, group: int) -> _Cut:
    each = channels // group
    shape = (batch, group, each, area)
    return _Cut(shape, (batch, group, 1, 1), (1, group, each, 1), "ngks,ngks->ng", "ngks,ngks->gk")


@lru_cache(maxsize=256)
def _cut_batch(shape: tuple[int, ...]) -> _Cut:
    channels = shape[1]
    cut = (shape[0], channels, math.prod(shape[2:]))
    return _Cut(cut, (1, channels, 1), (1, channels, 1), "ncs,ncs->c", "ncs,ncs->c")


def standardize(
    cut: _Cut, input: Array, weight: Array | None, bias: Array | None, eps: float, rounded: np.dtype[Any] | None = None
) -> tuple[Array, Array, Array, Array]:
    """Return the normalized input, and mean, variance and one over the deviation in the dtype computed in.

    Mean and deviation are rounded to the dtype ``rounded`` before the input is normalized.
    """
    dtype = half_as_float(input.dtype)
    factor = None if weight is None else cast(weight, dtype).reshape(cut.weight)
    summand = None if bias is None else cast(bias, dtype).reshape(cut.weight)
    if rounded is not None and rounded.itemsize >= dtype.itemsize:
        rounded = None
    wide = cast(input, dtype).reshape(cut.shape)
    out, mean, variance, rstd = standardize_cut(cut, wide, factor, summand, eps, rounded)
    return out.reshape(input.shape), mean, variance, rstd


def standardize_cut(
    cut: Any, wide: Array, factor: Array | None, summand: Array | None, eps: float, rounded: np.dtype[Any] | None = None
) -> tuple[Array, Array, Array, Array]:
    """Do the same for arrays that are cut already, in the dtype to compute in."""
    elements = number(cut.elements, wide)
    mean = cut.to_statistics(wide) / elements
    out = wide - mean.reshape(cut.statistics)
    variance = cut.to_statistics(out, out) / elements
    rstd = number(1, wide) / np.sqrt(variance + number(eps, wide))
    if rounded is not None:
        mean, rstd = (each.astype(rounded).astype(wide.dtype) for each in (mean, rstd))
        np.subtract(wide, mean.reshape(cut.statistics), out=out)
    scale = rstd.reshape(cut.statistics)
    if factor is not None:
        if 4 * max(scale.size, 1) * factor.size <= out.size or cut.statistics == cut.weight:
            scale = scale * factor
        else:
            out *= factor
    out *= scale
    if summand is not None:
        out += summand
    return out, mean, variance, rstd


def differentiate(
    cut: _Cut,
    grad: Array,
    input: Array,
    mean: Any,
    rstd: Any,
    weight: Array | None,
    mask: Sequence[bool],
    *,
    is_fixed: bool = False,
) -> tuple[Array, Array, Array]:
    """Return the gradients of input, weight and bias, those that ``mask`` asks for.

    Statistics are functions of the input unless they are fixed.
    """
    dtype = half_as_float(input.dtype)
    slope = cast(grad, dtype).reshape(cut.shape)
    wide = centre = scale = factor = None
    if mask[0] or mask[1]:
        wide = cast(input, dtype).reshape(cut.shape)
        centre = cast(mean, dtype).reshape(cut.statistics)
        scale = cast(rstd, dtype).reshape(cut.statistics)
    if mask[0] and weight is not None:
        factor = cast(weight, dtype).reshape(cut.weight)
    first, second, third = differentiate_cut(cut, mask, slope, wide, centre, scale, factor, is_fixed=is_fixed)
    none = np.empty(0, dtype)
    return (
        none if first is None else first.reshape(input.shape),
        none if second is None else second,
        none if third is None else third,
    )


def differentiate_cut(
    cut: Any,
    mask: Sequence[bool],
    slope: Array,
    wide: Any,
    mean: Any,
    scale: Any,
    factor: Array | None,
    *,
    is_fixed: bool = False,
) -> list[Any]:
    """Do the same for arrays that are cut already, in the dtype to compute in; None for what ``mask`` does not ask for."""
    found: list[Any] = [None, None, None]
    if mask[0] or mask[1]:
        normal = wide - mean
        normal *= scale
        if mask[1]:
            found[1] = cut.to_weight(slope, normal)
        if mask[0]:
            steep = slope if factor is None else slope * factor
            if not is_fixed:
                count = number(cut.elements, normal)
                level = (cut.to_statistics(steep) / count).reshape(cut.statistics)
                tilt = (cut.to_statistics(steep, normal) / count).reshape(cut.statistics)
                normal *= tilt
                normal += level
                steep = np.subtract(steep, normal, out=normal)
            found[0] = np.multiply(steep, scale, out=normal)
    if mask[2]:
        found[2] = cut.to_weight(slope)
    return found


def _native_layer_norm(
    specs: Any, input: Array, normalized_shape: Sequence[int], weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, ...]:
    out, mean, _, rstd = standardize(cut_layers(input.shape, tuple(normalized_shape)), input, weight, bias, eps)
    return out, mean, rstd


def _native_group_norm(
    specs: Any,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    batch: int,
    channels: int,
    area: int,
    group: int,
    eps: float,
) -> tuple[Array, ...]:
    out, mean, _, rstd = standardize(_cut_groups(batch, channels, area, group), input, weight, bias, eps)
    return out, mean, rstd


def _batch_norm(
    specs: Any, input: Array, weight: Array | None, bias: Array | None, training: bool, momentum: float, eps: float
) -> tuple[Array, ...]:
    out, mean, _, rstd = standardize(_cut_batch(input.shape), input, weight, bias, eps, specs[1].array_dtype)
    return out, mean, rstd


def _move(old: Array, new: Array, momentum: float) -> Any:
    return old * number(1 - momentum, old) + new * number(momentum, new)


def _batch_norm_functional(
    specs: Any,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array,
    running_var: Array,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Array, ...]:
    cut = _cut_batch(input.shape)
    out, mean, variance, rstd = standardize(cut, input, weight, bias, eps, specs[1].array_dtype)
    new_mean, new_var = _move_statistics(cut, running_mean, running_var, mean, variance, momentum)
    if new_mean.shape != running_mean.shape:
        new_mean = new_mean.reshape(running_mean.shape)
    if new_var.shape != running_var.shape:
        new_var = new_var.reshape(running_var.shape)
    return out, mean, rstd, new_mean, new_var


def _move_statistics(
    cut: Any, running_mean: Array, running_var: Array, mean: Array, variance: Array, momentum: float
) -> tuple[Any, Any]:
    unbiased = variance * number(cut.bessel, variance)
    return _move(running_mean, mean, momentum), _move(running_var, unbiased, momentum)


def _batch_norm_without_training(
    specs: Any,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array,
    running_var: Array,
    momentum: float,
    eps: float,
) -> tuple[Array, ...]:
    """Multiply by one factor and add one summand for each channel."""
    dtype = half_as_float(input.dtype)
    kept = np.promote_types(dtype, half_as_float(running_mean.dtype))
    factor = None if weight is None else cast(weight, kept)
    summand = None if bias is None else cast(bias, kept)
    by_channel = (-1, *[1] * (input.ndim - 2))
    out = _evaluate(
        cast(input, dtype), factor, summand, cast(running_mean, kept), cast(running_var, kept), eps, by_channel
    )
    nothing = np.empty(0, specs[1].array_dtype)
    return out, nothing, nothing


def _evaluate(
    wide: Array,
    factor: Array | None,
    summand: Array | None,
    mean: Array,
    variance: Array,
    eps: float,
    by_channel: tuple[int, ...],
) -> Array:
    scale = number(1, variance) / np.sqrt(variance + number(eps, variance))
    if factor is not None:
        scale = scale * factor
    shift = -(mean * scale)
    if summand is not None:
        shift = shift + summand
    out = wide * scale.reshape(by_channel)
    out += shift.reshape(by_channel)
    return out


def _native_layer_norm_backward(
    specs: Any,
    grad: Array,
    input: Array,
    normalized_shape: Sequence[int],
    mean: Array,
    rstd: Array,
    weight: Array | None,
    bias: Array | None,
    mask: Sequence[bool],
) -> tuple[Array, ...]:
    return differentiate(cut_layers(input.shape, tuple(normalized_shape)), grad, input, mean, rstd, weight, mask)


def _native_group_norm_backward(
    specs: Any,
    grad: Array,
    input: Array,
    mean: Array,
    rstd: Array,
    weight: Array | None,
    batch: int,
    channels: int,
    area: int,
    group: int,
    mask: Sequence[bool],
) -> tuple[Array, ...]:
    return differentiate(_cut_groups(batch, channels, area, group), grad, input, mean, rstd, weight, mask)


def _native_batch_norm_backward(
    specs: Any,
    grad: Array,
    input: Array,
    weight: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    mean: Array | None,
    rstd: Array | None,
    train: bool,
    eps: float,
    mask: Sequence[bool],
) -> tuple[Array, ...]:
    if train:
        return differentiate(_cut_batch(input.shape), grad, input, mean, rstd, weight, mask)
    dtype = half_as_float(input.dtype)
    deviation = 1 / np.sqrt(cast(running_var, dtype) + dtype.type(eps))
    return differentiate(_cut_batch(input.shape), grad, input, running_mean, deviation, weight, mask, is_fixed=True)


_COMPUTE: Final[dict[str, Kernel]] = {
    "native_layer_norm": _native_layer_norm,
    "native_group_norm": _native_group_norm,
    "_native_batch_norm_legit.no_stats": _batch_norm,
    "_native_batch_norm_legit_functional": _batch_norm_functional,
    "_native_batch_norm_legit_no_training": _batch_norm_without_training,
    "native_layer_norm_backward": _native_layer_norm_backward,
    "native_group_norm_backward": _native_group_norm_backward,
    "native_batch_norm_backward": _native_batch_norm_backward,
}
KERNELS.update({name: make_kernel(name, compute) for name, compute in _COMPUTE.items()})


class _TracedCut:
    """Stands for a cut in the trace of a formula, whose symbols know what broadcasts."""

    def __init__(self, tape: Any, *, is_batch: bool = False) -> None:
        self._tape, self._is_batch = tape, is_batch
        self.elements, self.bessel = tape.elements, tape.bessel
        self.statistics, self.weight = ("c", "c") if is_batch else ("p", "s")

    def to_statistics(self, array: Any, other: Any = None) -> Any:
        return self._sum(
            (0, 2) if self._is_batch else (1,), "ncs,ncs->c" if self._is_batch else "ps,ps->p", array, other
        )

    def to_weight(self, array: Any, other: Any = None) -> Any:
        return self._sum(
            (0, 2) if self._is_batch else (0,), "ncs,ncs->c" if self._is_batch else "ps,ps->s", array, other
        )

    def _sum(self, axes: tuple[int, ...], products: str, array: Any, other: Any) -> Any:
        return SUM(array, axes) if other is None else self._tape.products(products, array, other)


def _trace_layers(tape: Any, a: Any, weight: Any, bias: Any, eps: float) -> list[Any]:
    out, mean, _, rstd = standardize_cut(_TracedCut(tape), a, weight, bias, eps)
    return [out, mean, rstd]


def _trace_layers_backward(
    tape: Any, grad: Any, a: Any, mean: Any, rstd: Any, weight: Any, bias: Any, mask: Sequence[bool]
) -> list[Any]:
    return differentiate_cut(_TracedCut(tape), mask, grad, a, mean, rstd, weight)


def _trace_batch(
    tape: Any, a: Any, weight: Any, bias: Any, old_mean: Any, old_var: Any, momentum: float, eps: float
) -> list[Any]:
    cut = _TracedCut(tape, is_batch=True)
    out, mean, variance, rstd = standardize_cut(cut, a, weight, bias, eps)
    moved = _move_statistics(cut, old_mean, old_var, mean, variance, momentum)
    return [out, *((each, "k") for each in (mean, rstd, *moved))]


def _trace_batch_without_running(tape: Any, a: Any, weight: Any, bias: Any, momentum: float, eps: float) -> list[Any]:
    out, mean, _, rstd = standardize_cut(_TracedCut(tape, is_batch=True), a, weight, bias, eps)
    return [out, (mean, "k"), (rstd, "k")]


def _trace_batch_without_training(
    tape: Any, a: Any, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float, eps: float
) -> list[Any]:
    return [_evaluate(a, weight, bias, mean, variance, eps, ()), None, None]


def _trace_batch_backward(
    tape: Any,
    grad: Any,
    a: Any,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    mean: Any,
    rstd: Any,
    mask: Sequence[bool],
    eps: float,
) -> list[Any]:
    found = differentiate_cut(_TracedCut(tape, is_batch=True), mask, grad, a, mean, rstd, weight)
    return [found[0], *((each, "k") if each is not None else None for each in found[1:])]


#: Operator → its formula on symbols, and the roles of its arguments as `native_rows` takes them.
_TRACED: Final[dict[str, tuple[Any, str]]] = {
    "native_layer_norm": (_trace_layers, "fnvvo"),
    "native_layer_norm_backward": (_trace_layers_backward, "ffnccvvm"),
    "_native_batch_norm_legit_functional": (_trace_batch, "bkkkk1oo"),
    "_native_batch_norm_legit.no_stats": (_trace_batch_without_running, "bkk1oo"),
    "_native_batch_norm_legit_no_training": (_trace_batch_without_training, "bkkkkoo"),
    "native_batch_norm_backward": (_trace_batch_backward, "bfkkkkk1om"),
}
KERNELS.update({name: native_rows(KERNELS[name], *row) for name, row in _TRACED.items()})
