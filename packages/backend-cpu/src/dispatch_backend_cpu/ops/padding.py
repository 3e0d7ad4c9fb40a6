"""Kernels of padding."""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign
from typing import Any, Final

import numpy as np

from dispatch_aten.shapes import padding_pairs

from ..arrays import Array, empty_strided
from ..kernel_table import KernelTable
from ..output_specs import OutputSpec
from .rule_kernels import make_kernel
from .view import is_row_major

KERNELS: Final = KernelTable()


def _constant_pad_nd(spec: OutputSpec, self: Array, pad: Sequence[int], value: Any = 0) -> Any:
    """Write the borders and the inner part, each element once."""
    made = empty_strided(spec.shape, spec.strides, spec.array_dtype)
    inner = made
    source = self
    for dim, (before, after) in enumerate(padding_pairs(pad, self.ndim)):
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
