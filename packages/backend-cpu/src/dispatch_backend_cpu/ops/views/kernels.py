"""Views: NumPy views of the same storage, with exactly the strides and offset of the shape rules.

The common ones have fast paths through NumPy's basic indexing; the rest are made from the rule's answer. A
view is always an array: ``a[1]`` would be a NumPy scalar where one dimension is left, ``a[1, ...]`` is not.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...arrays import Array, is_row_major, row_major_strides, storage_offset_of, strided_view
from ...kernel_table import Kernel, KernelTable
from ...output_specs import OutputSpec, infer_output, output_rule
from ..support.compiled_kernels import native

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


def _as_strided_by_rule(self: Array, size: Any, stride: Any, storage_offset: int | None = None) -> Array:
    wanted = infer_output("as_strided", self, size, stride, storage_offset)
    offset = storage_offset_of(self) if storage_offset is None else storage_offset
    return strided_view(self, wanted.shape, wanted.strides, offset)


_VIEWS: Final = """
    view expand squeeze squeeze.dim squeeze.dims unsqueeze split.Tensor split_with_sizes unbind.int diagonal
    alias t transpose.int unfold permute select.int slice.Tensor
"""
#: The kernels that serve every call. Those below serve the plain ones, and leave the others, and all errors, to these.
_BY_RULE: Final = {name: _by_rule(name) for name in _VIEWS.split()} | {"as_strided": _as_strided_by_rule}

#: The errors of NumPy for arguments that are wrong, or that it cannot make a view of.
_REFUSALS: Final = (IndexError, OverflowError, TypeError, ValueError)

#: From how many parts on the rule is asked, which refuses more than memory holds.
_MANY: Final = 1 << 20

#: The number of dimensions before one → the part of an index for them.
_BEFORE: Final[tuple[Any, ...]] = tuple((slice(None),) * count for count in range(65))


@KERNELS("as_strided")
def _as_strided(self: Array, size: Any, stride: Any, storage_offset: int | None = None) -> Array:
    # NumPy lets a view of an array without elements reach beyond it.
    if self.base is None and self.size and self.flags.c_contiguous and 0 not in size and min(stride, default=0) >= 0:
        itemsize = self.itemsize
        try:
            return np.ndarray(size, self.dtype, self, (storage_offset or 0) * itemsize, [n * itemsize for n in stride])
        except _REFUSALS:
            pass
    return _BY_RULE["as_strided"](self, size, stride, storage_offset)


def _view_with_gaps(self: Array, size: Any) -> Any:
    """Return an array that does not lie row by row in another shape.

    NumPy chooses the strides of dimensions of size 1 in its own way, and takes any negative size for -1.
    """
    if self.size and 1 not in self.shape and 1 not in size and -1 not in size:
        try:
            result = self.reshape(size, copy=False)
        except _REFUSALS:
            pass
        else:
            if result.shape == size:
                return result
    return _BY_RULE["view"](self, size)


def _make_row_major_view(otherwise: Kernel) -> Kernel:
    """Return a function that views a row-major array in another shape; other arrays, and NumPy's refusals, are left."""

    def view(self: Array, size: Any) -> Any:
        # As `is_row_major`, whose call would cost as much as the view.
        if (
            self.flags.c_contiguous
            and self.size
            and (1 not in (shape := self.shape) or self.strides == row_major_strides(shape, self.itemsize))
        ):
            try:
                result = self.reshape(size)
            except _REFUSALS:
                pass
            else:
                # NumPy takes any negative size for -1.
                if result.shape == size or -1 in size or result.shape == tuple(size):
                    return result
        return otherwise(self, size)

    return view


#: Returns ``NotImplemented`` for calls that it leaves.
view_row_major: Final = native("view", _make_row_major_view(lambda self, size: NotImplemented))
KERNELS("view", "_unsafe_view")(_make_row_major_view(_view_with_gaps))


@KERNELS("alias", "detach")
def _alias(self: Array) -> Any:
    return self.view() if self.size else _BY_RULE["alias"](self)


@KERNELS("unsqueeze")
def _unsqueeze(self: Array, dim: int) -> Any:
    shape = self.shape
    place = dim + len(shape) + 1 if dim < 0 else dim
    # NumPy gives a last dimension the strides of the one before.
    if (0 <= place < len(shape) and 1 not in shape and 0 not in shape) or (
        0 <= place <= len(shape) and is_row_major(self)
    ):
        return self.reshape((*shape[:place], 1, *shape[place:]) if place else (1, *shape))
    return _BY_RULE["unsqueeze"](self, dim)


@KERNELS("squeeze")
def _squeeze(self: Array) -> Any:
    return self.squeeze() if self.size else _BY_RULE["squeeze"](self)


@KERNELS("squeeze.dim")
def _squeeze_dim(self: Array, dim: int) -> Any:
    ndim = self.ndim
    if -ndim <= dim < ndim and self.size:
        return self.squeeze(dim) if self.shape[dim] == 1 else self.view()
    return _BY_RULE["squeeze.dim"](self, dim)


@KERNELS("expand")
def _expand(self: Array, size: Any, *, implicit: bool = False) -> Any:
    if size == self.shape and self.size:
        return self.view()
    added = len(size) - self.ndim
    if added >= 0 and self.size and self.flags.c_contiguous:
        if size[added:] == self.shape and 1 not in size and 0 not in size:
            try:
                return np.ndarray(size, self.dtype, self, 0, (0,) * added + self.strides)
            except _REFUSALS:
                return _BY_RULE["expand"](self, size)
        shape, strides = [], []
        for wanted, length, stride in zip(size[added:], self.shape, self.strides, strict=True):
            if wanted == length or wanted == -1:  # noqa: PLR1714  # no tuple is made
                shape.append(length)
                strides.append(stride)
            elif length == 1:
                shape.append(wanted)
                strides.append(0)
            else:
                return _BY_RULE["expand"](self, size)
        if added:
            for wanted in size[:added][::-1]:
                strides.insert(0, shape[0] * strides[0] if wanted == 1 and shape else 0)
                shape.insert(0, wanted)
        if min(shape, default=1) > 0:
            try:
                return np.ndarray(shape, self.dtype, self, 0, strides)
            except _REFUSALS:
                pass
    return _BY_RULE["expand"](self, size)


@KERNELS("t")
def _t(self: Array) -> Array:
    if self.ndim == 2 and self.size:
        return self.T
    return _BY_RULE["t"](self)


@KERNELS("transpose.int")
def _transpose(self: Array, dim0: int, dim1: int) -> Any:
    if self.size:
        try:
            return self.swapaxes(dim0, dim1)
        except _REFUSALS:
            pass
    return _BY_RULE["transpose.int"](self, dim0, dim1)


@KERNELS("permute")
def _permute(self: Array, dims: Any) -> Any:
    try:
        if self.ndim == len(dims) > 0 and self.size:
            return self.transpose(dims)
    except _REFUSALS:
        pass
    return _BY_RULE["permute"](self, dims)


@KERNELS("diagonal")
def _diagonal(self: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    if self.size:
        try:
            result = self.diagonal(offset, dim1, dim2)
        except _REFUSALS:
            pass
        else:
            if result.size:
                if self.flags.writeable:
                    result.flags.writeable = True
                return result
    return _BY_RULE["diagonal"](self, offset, dim1, dim2)


def _before(self: Array, dim: int) -> Any:
    """Return the part of an index before dimension ``dim``; for a dimension that is not there too much, or an error."""
    return _BEFORE[dim if dim >= 0 else dim + self.ndim]


@KERNELS("select.int")
def _select(self: Array, dim: int, index: int) -> Any:
    if self.size:
        try:
            return (
                self[index, ...]
                if dim == 0
                else self[:, index, ...]
                if dim == 1
                else self[(*_before(self, dim), index, ...)]
            )
        except _REFUSALS:
            pass
    return _BY_RULE["select.int"](self, dim, index)


@KERNELS("slice.Tensor")
def _slice(self: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    if self.size and step > 0:
        try:
            if dim == 0:
                result = self[start:end:step]
            elif dim == 1:
                result = self[:, start:end:step]
            else:
                result = self[(*_before(self, dim), slice(start, end, step))]
        except _REFUSALS:
            pass
        else:
            if result.size:
                return result
    return _BY_RULE["slice.Tensor"](self, dim, start, end, step)


@KERNELS("unbind.int")
def _unbind(self: Array, dim: int = 0) -> Any:
    ndim = self.ndim
    place = dim if dim >= 0 else dim + ndim
    if self.size and 0 <= place < ndim and self.shape[place] < _MANY:
        if ndim == 1:  # the items of such an array are no arrays
            return [self[index, ...] for index in range(len(self))]
        return list(self.transpose((place, *range(place), *range(place + 1, ndim))) if place else self)
    return _BY_RULE["unbind.int"](self, dim)


@KERNELS("unfold")
def _unfold(self: Array, dimension: int, size: int, step: int) -> Any:
    ndim = self.ndim
    if is_row_major(self) and -ndim <= dimension < ndim and step > 0 and 0 < size <= self.shape[dimension]:
        shape, strides = list(self.shape), list(self.strides)
        strides.append(strides[dimension])
        shape.append(size)
        place = dimension % ndim
        shape[place] = (shape[place] - size) // step + 1
        strides[place] *= step
        return np.ndarray(shape, self.dtype, self, 0, strides)
    return _BY_RULE["unfold"](self, dimension, size, step)


@KERNELS("split.Tensor")
def _split(self: Array, split_size: int, dim: int = 0) -> Any:
    shape = self.shape
    if split_size > 0 and -len(shape) <= dim < len(shape) and self.size:
        size = shape[dim]
        if size < _MANY * split_size:
            # A loop: for a few parts a comprehension costs as much again.
            parts, start, before = [], 0, _before(self, dim) if dim else ()
            while start < size:
                stop = start + split_size
                parts.append(self[(*before, slice(start, stop))] if dim else self[start:stop])
                start = stop
            return parts
    return _BY_RULE["split.Tensor"](self, split_size, dim)


@KERNELS("split_with_sizes")
def _split_with_sizes(self: Array, split_sizes: Any, dim: int = 0) -> Any:
    shape = self.shape
    # A part without elements begins elsewhere in NumPy.
    if (
        -len(shape) <= dim < len(shape)
        and self.size
        and split_sizes
        and min(split_sizes) > 0
        and sum(split_sizes) == shape[dim]
    ):
        parts, start, before = [], 0, _before(self, dim) if dim else ()
        for length in split_sizes:
            stop = start + length
            parts.append(self[(*before, slice(start, stop))] if dim else self[start:stop])
            start = stop
        return parts
    return _BY_RULE["split_with_sizes"](self, split_sizes, dim)


KERNELS.update({name: kernel for name, kernel in _BY_RULE.items() if name not in KERNELS})

#: The way of compiled kernels that operators share.
_COMPILED: Final = {
    "view": "view _unsafe_view",
    "alias": "alias detach",
    "t": "t",
    "transpose": "transpose.int",
    "select": "select.int",
    "slice": "slice.Tensor",
    "permute": "permute",
    "unsqueeze": "unsqueeze",
    "squeeze": "squeeze",
    "squeeze dim": "squeeze.dim",
    "expand": "expand",
}
for _way, _names in _COMPILED.items():
    for _name in _names.split():
        KERNELS[_name] = native(_way, KERNELS[_name])
