"""Kernels of padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dispatch_aten.shapes import padding_pairs

from ..arrays import Array, empty_strided
from ..kernel_table import KernelTable
from ..output_specs import OutputSpec
from .rule_kernels import make_kernel

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


KERNELS["constant_pad_nd"] = make_kernel("constant_pad_nd", _constant_pad_nd)
