"""Kernels of padding: borders of one value, and borders that repeat or mirror elements, whose places are prepared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import copysign, prod
from typing import Any, Final

import numpy as np

from dispatch_aten import shapes

from ...arrays import Array, empty_strided, is_row_major
from ...kernel_table import KernelTable
from ...output_specs import OutputSpec, half_as_float
from ..support.reduce_ufuncs import SUM
from ..support.rule_kernels import make_kernel, make_prepared

KERNELS: Final = KernelTable()


def _constant_pad_nd(spec: OutputSpec, self: Array, pad: Sequence[int], value: Any = 0) -> Any:
    """Write the borders and the inner part, each element once."""
    made = empty_strided(spec.shape, spec.strides, spec.array_dtype)
    inner = made
    source = self
    for dim, (before, after) in enumerate(shapes.padding_pairs(pad, self.ndim)):
        outer = (slice(None),) * dim
        if before < 0 or after < 0:
            source = source[(*outer, slice(max(-before, 0), source.shape[dim] - max(-after, 0)))]
        if before > 0:
            inner[(*outer, slice(0, before))] = value
        if after > 0:
            inner[(*outer, slice(inner.shape[dim] - after, None))] = value
        inner = inner[(*outer, slice(max(before, 0), inner.shape[dim] - max(after, 0)))]
    inner[...] = source
    return made


_pad_by_rule: Final = make_kernel("constant_pad_nd", _constant_pad_nd)


@KERNELS("constant_pad_nd")
def _surround(self: Array, pad: Sequence[int], value: Any = 0) -> Any:
    """Lay zeros, or floating-point numbers, around an array that lies row by row; leave the rest to the rule."""
    count = self.ndim
    if is_row_major(self) and pad and not len(pad) % 2 and len(pad) <= 2 * count and min(pad) >= 0:
        sizes, inner = list(self.shape), [slice(None)] * count
        for place in range(0, len(pad), 2):
            dim, before, after = -1 - place // 2, pad[place], pad[place + 1]
            inner[dim] = slice(before, before + sizes[dim])
            sizes[dim] += before + after
        made = None
        if type(value) in (int, float) and not value and copysign(1, value) > 0:
            made = np.zeros(sizes, self.dtype)
        elif type(value) is float and self.dtype.char in "fd":
            made = np.empty(sizes, self.dtype)
            made.fill(value)
        if made is not None:
            made[tuple(inner)] = self
            return made
    return _pad_by_rule(self, pad, value)


#: The places of all elements of an image of up to so many are kept, else those along each dimension.
_KEPT: Final = 4096


def _sources(size: int, before: int, after: int, *, reflects: bool) -> Array:
    """Return the places in a dimension of ``size`` that its padded elements come from."""
    places = np.arange(-before, size + after)
    if not reflects:
        return np.clip(places, 0, size - 1)
    return size - 1 - np.abs(size - 1 - np.abs(places))


def _pad_by(count: int, *, reflects: bool) -> Callable[..., Callable[..., Any]]:
    def prepare(spec: OutputSpec, self: Array, padding: Sequence[int]) -> Callable[..., Any]:
        around = shapes.padding_pairs(padding, self.ndim)
        lines = [(dim, _sources(self.shape[dim], *around[dim], reflects=reflects)) for dim in range(-count, 0)]
        size, wanted = prod(self.shape[-count:]), spec.shape[-count:]
        if max(size, prod(wanted)) > _KEPT or count == 1:
            return lambda self, padding: _take_lines(self, lines)
        places: Any = 0
        for dim, line in lines:
            places = places * self.shape[dim] + line.reshape(-1, *[1] * (-1 - dim))
        outer = self.shape[:-count]
        return lambda self, padding: self.reshape(*outer, size).take(places, -1)

    return prepare


def _take_lines(self: Array, lines: Sequence[tuple[int, Array]]) -> Array:
    for dim, line in lines:
        self = self.take(line, dim)
    return self


def _lay_back(grad: Array, dim: int, size: int, before: int, after: int, *, reflects: bool) -> Array:
    """Return the gradient of one padded dimension: its inner part, and the borders added where they come from."""
    whole = grad.shape[dim]
    left = min(max(before, 0), whole)
    right = max(min(before + size, whole), left)
    outer = (slice(None),) * dim

    def part(of: Array, start: int, stop: int) -> Any:
        return of[(*outer, slice(start, stop))]

    found = np.zeros((*grad.shape[:dim], size, *grad.shape[dim + 1 :]), grad.dtype)
    start = max(-before, 0) if right > left else 0
    part(found, start, start + right - left)[...] = part(grad, left, right)
    for begin, end, first, edge in ((0, left, 1, 0), (right, whole, size - 1 - (whole - right), size - 1)):
        if end > begin:
            border = part(grad, begin, end)
            if reflects:
                into = part(found, first, first + end - begin)
                into += np.flip(border, dim)
            else:
                into = part(found, edge, edge + 1)
                into += SUM(border, dim, half_as_float(grad.dtype), None, True).astype(grad.dtype)
    return found


def _pad_backward(*, reflects: bool) -> Callable[..., Any]:
    def compute(spec: OutputSpec, grad_output: Array, self: Array, padding: Sequence[int]) -> Any:
        found = grad_output
        for dim, (before, after) in enumerate(shapes.padding_pairs(padding, self.ndim)):
            if before or after:
                found = _lay_back(found, dim, self.shape[dim], before, after, reflects=reflects)
        return found.copy() if found is grad_output else found

    return compute


for _kind in ("reflection", "replication"):
    for _count in (1, 2, 3):
        _name, _reflects = f"{_kind}_pad{_count}d", _kind == "reflection"
        KERNELS[_name] = make_prepared(_name, _pad_by(_count, reflects=_reflects))
        KERNELS[f"{_name}_backward"] = make_kernel(f"{_name}_backward", _pad_backward(reflects=_reflects))
