"""Views: NumPy views of the same storage, with exactly the strides and offset of the shape rules.

The common ones have fast paths through NumPy's basic indexing; the rest are made from the rule's answer. A
view is always an array: ``a[1]`` would be a NumPy scalar where one dimension is left, ``a[1, ...]`` is not.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..arrays import Array, storage_offset_of, strided_view
from ..kernel_table import Kernel, KernelTable
from ..output_specs import OutputSpec, infer_output, output_rule

KERNELS: Final = KernelTable()


def _make_view(array: Array, wanted: OutputSpec) -> Array:
    """View ``array`` as its rule says; the rule's offset counts from the array's own first element."""
    if array.flags.c_contiguous and array.size and 0 not in wanted.shape:
        try:
            offset = wanted.storage_offset * array.itemsize
            return np.ndarray(wanted.shape, array.dtype, array, offset, wanted.byte_strides)
        except ValueError:
            pass  # An expanded dimension of size 1 can reach beyond the array's end.
    return strided_view(array, wanted.shape, wanted.strides, storage_offset_of(array) + wanted.storage_offset)


def _by_rule(name: str) -> Kernel:
    """Make the kernel of a view operator from its shape rule."""
    infer = output_rule(name)

    def kernel(self: Array, *args: Any, **kwargs: Any) -> Any:
        wanted = infer(self, *args, **kwargs)
        if isinstance(wanted, OutputSpec):
            return _make_view(self, wanted)
        return [_make_view(self, each) for each in wanted]

    return kernel


@KERNELS("as_strided")
def _as_strided(self: Array, size: Any, stride: Any, storage_offset: int | None = None) -> Array:
    wanted = infer_output("as_strided", self, size, stride, storage_offset)
    offset = storage_offset_of(self) if storage_offset is None else storage_offset
    return strided_view(self, wanted.shape, wanted.strides, offset)


_VIEWS: Final = """
    view expand squeeze squeeze.dim squeeze.dims unsqueeze split.Tensor split_with_sizes unbind.int diagonal
    alias t transpose.int unfold permute select.int slice.Tensor
"""
_BY_RULE: Final = {name: _by_rule(name) for name in _VIEWS.split()}


@KERNELS("alias", "detach")
def _alias(self: Array) -> Any:
    return self.view() if self.size else _BY_RULE["alias"](self)


@KERNELS("t")
def _t(self: Array) -> Array:
    if self.ndim == 2 and self.size:
        return self.T
    return _BY_RULE["t"](self)


@KERNELS("transpose.int")
def _transpose(self: Array, dim0: int, dim1: int) -> Any:
    ndim = self.ndim
    if -ndim <= dim0 < ndim and -ndim <= dim1 < ndim and self.size:
        return self.swapaxes(dim0, dim1)
    return _BY_RULE["transpose.int"](self, dim0, dim1)


@KERNELS("permute")
def _permute(self: Array, dims: Any) -> Any:
    try:
        if self.ndim == len(dims) > 0 and self.size:
            return self.transpose(dims)
    except ValueError:
        pass
    return _BY_RULE["permute"](self, dims)


@KERNELS("select.int")
def _select(self: Array, dim: int, index: int) -> Any:
    if 0 <= dim < self.ndim and 0 <= index < self.shape[dim] and self.size:
        return self[(slice(None),) * dim + (index, ...)]
    return _BY_RULE["select.int"](self, dim, index)


@KERNELS("slice.Tensor")
def _slice(self: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    # A dimension of size 0 or 1 gets other strides from NumPy, so the fast path takes only the clear case.
    if 0 <= dim < self.ndim and step == 1 and self.size:
        result = self[(slice(None),) * dim + (slice(start, end),)]
        if result.size:
            return result
    return _BY_RULE["slice.Tensor"](self, dim, start, end, step)


@KERNELS("_unsafe_view")
def _unsafe_view(self: Array, size: Any) -> Any:
    return KERNELS["view"](self, size)


KERNELS.update({name: kernel for name, kernel in _BY_RULE.items() if name not in KERNELS})
