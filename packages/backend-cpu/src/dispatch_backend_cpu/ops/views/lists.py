"""Joining, repeating and reordering along dimensions, and triangles of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np

from dispatch_aten.shapes import wrap_dim

from ...arrays import Array, empty_strided, is_row_major
from ...kernel_table import Kernel, KernelTable
from ...output_specs import OutputSpec, output_rule
from ..pointwise.numpy_formulas import select
from ..support.compiled_kernels import native
from ..support.rule_kernels import check_overlap, make_kernel, write

KERNELS: Final = KernelTable()


def _is_legacy_empty(array: Array) -> bool:
    """Return whether ``cat`` skips the array: torch's oldest tensors had one dimension of size 0 where others have none."""
    return array.shape == (0,)


def _cat(spec: OutputSpec, tensors: Sequence[Array], dim: int = 0) -> Any:
    result = empty_strided(spec.shape, spec.strides, spec.array_dtype)
    if not spec.numel:
        return result
    axis = wrap_dim(dim, len(spec.shape))
    start = 0
    for each in tensors:
        if _is_legacy_empty(each) and len(spec.shape) != 1:
            continue
        end = start + each.shape[axis]
        write(result[(slice(None),) * axis + (slice(start, end),)], each)
        start = end
    return result


def _stack(spec: OutputSpec, tensors: Sequence[Array], dim: int = 0) -> Any:
    result = empty_strided(spec.shape, spec.strides, spec.array_dtype)
    axis = wrap_dim(dim, len(spec.shape))
    for place, each in enumerate(tensors):
        write(result[(slice(None),) * axis + (place, ...)], each)
    return result


def _repeat(spec: OutputSpec, self: Array, repeats: Sequence[int]) -> Any:
    return np.tile(self, tuple(repeats)) if len(repeats) else self.copy()


def _flip(spec: OutputSpec, self: Array, dims: Sequence[int]) -> Any:
    if not self.ndim:
        return self.copy()
    result = empty_strided(spec.shape, spec.strides, spec.array_dtype)
    # NumPy gives a view, which would be taken for a fresh array where its strides are the wanted ones.
    write(result, np.flip(self, tuple(wrap_dim(dim, self.ndim) for dim in dims)))
    return result


def _roll(spec: OutputSpec, self: Array, shifts: Any, dims: Any = ()) -> Any:
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    if not self.ndim or not self.size:
        return self.copy()
    if not dims:
        return np.roll(self, shifts[0])
    return np.roll(self, shifts, tuple(wrap_dim(dim, self.ndim) for dim in dims))


def _make_triangle(rows: int, columns: int, diagonal: int) -> Array:
    """Return a mask that is true on and below a diagonal."""
    # NumPy takes no more than 64 bits.
    return np.tri(rows, columns, max(-rows, min(diagonal, columns)), np.bool_)


_keep_triangle: Final = lru_cache(maxsize=64)(_make_triangle)


def _triangle(spec: OutputSpec, self: Array, diagonal: int = 0, *, lower: bool) -> Any:
    rows, columns = self.shape[-2:]
    make = _keep_triangle if rows * columns <= _SMALL else _make_triangle
    below = make(rows, columns, diagonal if lower else diagonal - 1)
    zero = np.zeros((), self.dtype)
    return select(below, self, zero) if lower else select(below, zero, self)


def _clear_triangle(name: str, *, lower: bool) -> Kernel:
    """Make the kernel that writes zeros beyond a diagonal, line by line along the shorter dimension."""
    infer = output_rule(name)

    def kernel(self: Array, diagonal: int = 0) -> Array:
        infer(self, diagonal)
        check_overlap(self)
        rows, columns = self.shape[-2:]
        if rows * columns <= _SMALL:
            below = _keep_triangle(rows, columns, diagonal if lower else diagonal - 1)
            np.copyto(self, False, where=~below if lower else below)
        else:
            # Rows are cleared from a place on where the lower part is kept, columns where the upper one is.
            by_row = rows <= columns
            lines = np.moveaxis(self, (-2, -1) if by_row else (-1, -2), (0, 1))
            first, from_place = (diagonal + lower, lower) if by_row else (1 - lower - diagonal, not lower)
            for place, line in enumerate(lines, first):
                if from_place:
                    line[max(place, 0) :] = 0
                else:
                    line[: max(place, 0)] = 0
        return self

    return kernel


for _name in ("tril_", "triu_"):
    KERNELS[_name] = _clear_triangle(_name, lower=_name == "tril_")


#: Up to how many elements a triangle's mask is kept.
_SMALL: Final = 4096

_COMPUTE: Final[dict[str, Kernel]] = {
    "cat": _cat,
    "stack": _stack,
    "repeat": _repeat,
    "flip": _flip,
    "roll": _roll,
    "tril": partial(_triangle, lower=True),
    "triu": partial(_triangle, lower=False),
}
_BY_RULE: Final = {name: make_kernel(name, compute) for name, compute in _COMPUTE.items()}


#: `numpy.concatenate` without the look for arrays of other libraries.
_concatenate: Final[Any] = getattr(np.concatenate, "_implementation", np.concatenate)
#: From how many dimensions on channels may lie innermost, which torch keeps.
_MAY_HAVE_CHANNELS: Final = 4


@KERNELS("cat")
def _join(tensors: Sequence[Array], dim: int = 0) -> Any:
    try:
        first, length = tensors[0], 0
        dtype, ndim = first.dtype, first.ndim
        for each in tensors:
            if each.dtype is not dtype or (ndim >= _MAY_HAVE_CHANNELS and not is_row_major(each)):
                break
            length += each.shape[dim]
        else:
            if length and dtype.isbuiltin:
                if ndim == 1:
                    return _concatenate(tensors, dim)
                sizes = [*first.shape]
                sizes[dim] = length
                # A result of its own is row-major, as the arrays need not be.
                result = np.empty(sizes, dtype)
                if result.size:
                    return _concatenate(tensors, dim, result)
    except (IndexError, ValueError):
        pass
    return _BY_RULE["cat"](tensors, dim)


@KERNELS("stack")
def _join_on_top(tensors: Sequence[Array], dim: int = 0) -> Any:
    first = tensors[0] if tensors else None
    if first is not None and first.ndim and first.size and first.dtype.isbuiltin:
        dtype, shape = first.dtype, first.shape
        for each in tensors:
            if each.dtype is not dtype or each.shape != shape:
                break
        else:
            place = dim if dim >= 0 else dim + len(shape) + 1
            if 0 <= place < len(shape):
                head, tail = shape[:place], shape[place + 1 :]
                result = np.empty((*head, len(tensors) * shape[place], *tail), dtype) if len(shape) > 1 else None
                return _concatenate(tensors, place, result).reshape(*head, len(tensors), *shape[place:])
            if place == len(shape):
                result = np.empty((*shape, len(tensors)), dtype)
                return _concatenate([each[..., None] for each in tensors], place, result)
    return _BY_RULE["stack"](tensors, dim)


KERNELS["cat"] = native("cat", _join, None, None, halves=1)
KERNELS["stack"] = native("stack", _join_on_top, None, None, halves=1)


@KERNELS("flip")
def _reverse(self: Array, dims: Sequence[int]) -> Any:
    if is_row_major(self) and self.ndim:
        index = [slice(None)] * self.ndim
        try:
            for dim in dims:
                index[dim] = _BACKWARDS
        except IndexError:
            pass
        else:
            if index.count(_BACKWARDS) == len(dims):
                return self[tuple(index)].copy()
    return _BY_RULE["flip"](self, dims)


@KERNELS("roll")
def _rotate(self: Array, shifts: Any, dims: Any = ()) -> Any:
    if is_row_major(self) and len(shifts) == 1 and len(dims) < 2:
        found = self if dims else self.reshape(-1)
        dim = dims[0] if dims else 0
        if -found.ndim <= dim < found.ndim:
            cut = -shifts[0] % found.shape[dim]
            if dim == 0:
                halves = found[cut:], found[:cut]
            else:
                before = (slice(None),) * (dim % found.ndim)
                halves = found[(*before, slice(cut, None))], found[(*before, slice(cut))]
            # Of its own, so that it is row-major also where a size is 1.
            return _concatenate(halves, dim, np.empty(found.shape, self.dtype)).reshape(self.shape)
    return _BY_RULE["roll"](self, shifts, dims)


def _make_words(rows: int, columns: int, diagonal: int, words: np.dtype[Any], *, lower: bool) -> Array:
    """Return -1, whose bits are all set, for the elements of a triangle, and 0 for the others."""
    below = _make_triangle(rows, columns, diagonal if lower else diagonal - 1)
    return np.negative((below if lower else ~below).astype(words))


_keep_words: Final = lru_cache(maxsize=64)(_make_words)


def _cut_triangle(name: str, *, lower: bool) -> Kernel:
    """Make the kernel of a triangle: of small arrays that lie row by row by the bits of their elements."""
    otherwise = _BY_RULE[name]

    def kernel(self: Array, diagonal: int = 0) -> Any:
        words = _WORDS.get(self.itemsize)
        if words is not None and self.ndim > 1 and self.size <= _SMALL and is_row_major(self):
            mask = _keep_words(*self.shape[-2:], diagonal, words, lower=lower)
            return (self.view(words) & mask).view(self.dtype)
        return otherwise(self, diagonal)

    return kernel


_WORDS: Final = {dtype.itemsize: dtype for dtype in map(np.dtype, ("i1", "i2", "i4", "i8"))}
KERNELS["tril"], KERNELS["triu"] = _cut_triangle("tril", lower=True), _cut_triangle("triu", lower=False)

_BACKWARDS: Final = slice(None, None, -1)

KERNELS.update({name: kernel for name, kernel in _BY_RULE.items() if name not in KERNELS})
