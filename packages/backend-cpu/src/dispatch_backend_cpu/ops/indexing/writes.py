"""Writing to the places that indices name: each operator in place, and as a copy that is written to.

Everything is checked before anything is written. NumPy itself refuses indices that are out of range before it writes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.errors import AtenError, DtypeError, OperatorError
from dispatch_aten.shapes import contiguous_strides, wrap_dim
from dispatch_aten.variants import inplace_of

from ...arrays import Array, check_writable, describe, empty_strided, is_row_major
from ...fp_errors import ignore_fp_errors, quietly
from ...kernel_table import Kernel, KernelTable
from ...output_specs import OutputSpec, conform, infer_output, output_rule
from ..pointwise.kernels import name_fill
from ..support.compiled_kernels import native
from ..support.places import add_slices, apply_at, as_vector, check_along, check_rows, is_outside, locate
from ..support.rule_kernels import cast, check_apart, check_overlap, make_kernel
from .reads import INT64, Indices, check_range, find_places, is_one_mask, one_index

KERNELS: Final = KernelTable()


def _are_lines(self: Array, dim: int, index: Array, source: Any) -> bool:
    """Return whether the elements of one line are written to places in another, which no rule has to see."""
    return (
        type(source) is np.ndarray
        and self.ndim == 1
        and -1 <= dim < 1
        and index.dtype is INT64
        and source.dtype is self.dtype
        and index.ndim == 1
        and index.shape == source.shape
    )


def _quick_inplace(general: Kernel, store: Callable[[Array, Array, Array], object]) -> Kernel:
    """Make the kernel of an operator in place, which calls ``store`` for lines in memory of their own, and their places."""

    def kernel(self: Array, dim: int, index: Array, source: Any, alpha: Any = 1) -> Array:
        if (
            alpha == 1
            and _are_lines(self, dim, index, source)
            and self.base is None
            and index.base is None
            and source.base is None
            and self is not index
            and self is not source
            and self.flags.writeable
            and not is_outside(index, 0, self.shape[0])
        ):
            store(self, index, source)
            return self
        found: Array = (
            general(self, dim, index, source) if alpha == 1 else general(self, dim, index, source, alpha=alpha)
        )
        return found

    return kernel


def _both_forms(name: str, write: Callable[..., None]) -> None:
    """Add the kernels of an operator and of its in-place form from ``write``, which writes to its first argument."""
    inplace_name = inplace_of(name)
    assert inplace_name is not None
    infer, infer_inplace = output_rule(name), output_rule(inplace_name)

    @ignore_fp_errors
    def kernel(self: Array, *args: Any, **kwargs: Any) -> Array:
        result = self.copy("C")
        if kwargs or not _are_lines(self, *args):
            result = conform(result, infer(self, *args, **kwargs))
        try:
            write(result, *args, **kwargs)
        except AtenError as error:
            raise error.at(f"aten::{name}") from None
        return result

    @ignore_fp_errors
    def inplace(self: Array, *args: Any, **kwargs: Any) -> Array:
        if kwargs or not _are_lines(self, *args):
            infer_inplace(self, *args, **kwargs)
        check_overlap(self)
        check_apart(self, *args)
        try:
            write(self, *args, **kwargs)
        except AtenError as error:
            raise error.at(f"aten::{inplace_name}") from None
        return self

    named = dc.KernelTraits(stands_for=lambda: write)
    KERNELS(name)(named(kernel))
    store = _OF_LINES.get(name)
    KERNELS(inplace_name)(named(inplace if store is None else _quick_inplace(inplace, store)))


def _scatter(store: Callable[[Array, Any, Any], None]) -> Callable[..., None]:
    """Make the writer of a scattering operator from a function of an array, places in it and values."""

    def write(self: Array, dim: int, index: Array, src: Any) -> None:
        if not index.size:
            return
        target, index = as_vector(self), as_vector(index)
        axis = wrap_dim(dim, target.ndim)
        check_along(index, axis, target.shape[axis])
        if isinstance(src, np.ndarray):
            if src.shape != index.shape:
                src = as_vector(src)[tuple([slice(size) for size in index.shape])]
        else:
            src = cast(src, self.dtype)
        base, place = locate(target, index, axis, index.shape)
        store(base, place, src)

    return write


def _store(target: Array, place: Any, value: Any) -> None:
    target[place] = value


def _index_add(self: Array, dim: int, index: Array, source: Array, *, alpha: Any = 1) -> None:
    if not self.size and self.ndim != 1:
        return  # torch looks at no index
    target, places, addend = as_vector(self), as_vector(index), as_vector(source)
    axis = wrap_dim(dim, target.ndim)
    check_rows(places, target.shape[axis])
    if alpha != 1:
        addend = addend * cast(alpha, self.dtype)
    if addend.size:
        add_slices(target, axis, places, addend)


def _store_slices(self: Array, dim: int, index: Array, source: Any) -> None:
    """Write to the slices along ``dim`` that ``index`` names; negative ones count from the end."""
    target, places = as_vector(self), as_vector(index)
    axis = wrap_dim(dim, target.ndim)
    try:
        target[(slice(None),) * axis + (places,)] = source
    except IndexError:
        check_range(target, [None] * axis + [places])
        raise


def _index_copy(self: Array, dim: int, index: Array, source: Array) -> None:
    # A source without dimensions is one element, and so is the target.
    _store_slices(self, dim, index, source)


def _index_fill(self: Array, dim: int, index: Array, value: Any) -> None:
    _store_slices(self, dim, index, cast(value, self.dtype))


def _masked_scatter(self: Array, mask: Array, source: Array) -> None:
    if mask.shape == self.shape and is_row_major(self) and is_row_major(mask):
        (places,) = mask.reshape(-1).nonzero()
        if len(places) <= source.size:
            self.reshape(-1)[places] = source.reshape(-1)[: len(places)]
            return
    chosen = np.broadcast_to(mask, self.shape)
    count = int(np.count_nonzero(chosen))
    if count > source.size:
        raise OperatorError("masked_scatter: expected source to have at least as many elements as mask has ones")
    self[chosen] = source.reshape(-1)[:count]


def _put_flat(self: Array, index: Array, source: Array, accumulate: bool = False) -> None:
    """Write to places that count the elements row by row; negative ones count from the end."""
    places, values, count = index.reshape(-1), source.reshape(-1), self.size
    if not places.size:
        return
    check_range(self.reshape(-1) if count else np.empty(0), [places])
    places = places % count if accumulate or not is_row_major(self) else places
    if is_row_major(self):
        target: Any = self.reshape(-1)
        where: Any = places
    else:
        target, where = self, np.unravel_index(places, self.shape)
    if accumulate:
        np.add.at(target, where, values)
    else:
        target[where] = values


_WRITES: Final[dict[str, Callable[..., None]]] = {
    "put": _put_flat,
    "scatter.src": _scatter(_store),
    "scatter.value": _scatter(_store),
    "scatter_add": _scatter(partial(apply_at, np.add)),
    "index_add": _index_add,
    "index_copy": _index_copy,
    "index_fill.int_Scalar": _index_fill,
    "index_fill.int_Tensor": _index_fill,
}
#: How those write whose source has the shape of the index, where all have one dimension.
_OF_LINES: Final[dict[str, Callable[[Array, Array, Array], object]]] = {
    "scatter.src": _store,
    "scatter_add": partial(quietly, np.add.at),
    "index_add": partial(quietly, np.add.at),
}
for _name, _write in _WRITES.items():
    _both_forms(_name, _write)
KERNELS["scatter.src"] = native("scatter", KERNELS["scatter.src"], None, None, halves=1)
for _name in ("scatter_add", "index_add"):
    KERNELS[_name] = native(_name, KERNELS[_name], None, map(np.dtype, "fdl"))


def _masked_scatter_copy(spec: OutputSpec, self: Array, mask: Array, source: Array) -> Array:
    made = empty_strided(spec.shape, contiguous_strides(spec.shape), spec.array_dtype)
    made[...] = self
    chosen = np.broadcast_to(mask, spec.shape)
    count = int(np.count_nonzero(chosen))
    if source.size < count:
        raise OperatorError(
            "masked_scatter: Number of elements of source < number of ones in mask",
            operator="aten::masked_scatter",
            argument="source",
        )
    made[chosen] = source.reshape(-1)[:count]
    return made


KERNELS["masked_scatter"] = make_kernel("masked_scatter", _masked_scatter_copy)


@KERNELS("masked_scatter_")
@ignore_fp_errors
def _masked_scatter_inplace(self: Array, mask: Array, source: Array) -> Array:
    if mask.dtype.kind != "b":
        raise DtypeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {describe(mask).dtype.name}",
            argument="mask",
        )
    if source.dtype != self.dtype:
        raise DtypeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{describe(self).dtype.name} and {describe(source).dtype.name}",
            argument="source",
        )
    if self.shape != mask.shape:
        infer_output("copy_", self, mask)
    check_overlap(self)
    _masked_scatter(self, mask, source)
    return self


def _are_apart(written: Array, read: Array) -> bool:
    """Return whether two arrays surely share no memory."""
    return written is not read and (
        (written.base is None and read.base is None) or not np.may_share_memory(written, read)
    )


def _put_plainly(self: Array, indices: Indices, values: Array, accumulate: bool) -> bool:
    """Write by one index where all is plain; see Note [One index]. Return whether that was so."""
    if values.dtype is not self.dtype or not self.flags.writeable or not _are_apart(self, values):
        return False
    one = one_index(self, indices)
    if one is None and not accumulate:
        return _put_points(self, indices, values)
    if one is None or not _are_apart(self, one[2]):
        return False
    target, axis, index = one
    if not accumulate:
        if values.ndim >= target.ndim + index.ndim:
            return False
        try:
            target[(slice(None),) * axis + (index,) if axis else index] = values
        except (IndexError, ValueError):
            return False  # Nothing was written; the general way makes the error.
        return True
    size = target.shape[axis]
    if index.ndim != 1 or values.shape != (*target.shape[:axis], *index.shape, *target.shape[axis + 1 :]):
        return False
    if is_outside(index, 0, size):
        return False
    quietly(add_slices, target, axis, index, values)
    return True


def _put_points(self: Array, indices: Indices, values: Array) -> bool:
    """Write to elements that have an index in each dimension, one value to each. Return whether that was all plain."""
    if len(indices) != self.ndim or values.ndim != 1 or not values.size:
        return False
    for each in indices:
        if each is None or each.dtype is not INT64 or each.shape != values.shape or not _are_apart(self, each):
            return False
    try:
        self[tuple(indices)] = values
    except IndexError:
        return False  # Nothing was written; the general way makes the error.
    return True


@KERNELS("index_put_")
def _index_put_inplace(self: Array, indices: Indices, values: Array, accumulate: bool = False) -> Array:
    return self if _put_plainly(self, indices, values, accumulate) else _put(self, indices, values, accumulate)


@KERNELS("index_put")
def _index_put(self: Array, indices: Indices, values: Array, accumulate: bool = False) -> Array:
    result = self.copy()
    if not is_row_major(self):
        result = conform(result, infer_output("index_put", self, indices, values, accumulate))
    return _index_put_inplace(result, indices, values, accumulate)


@ignore_fp_errors
def _put(self: Array, indices: Indices, values: Array, accumulate: bool) -> Array:
    items, places = find_places(self, indices)
    if not accumulate and values.size == 1 and is_one_mask(indices):
        infer_output("index_put", self, indices, values, accumulate)
        # Torch calls masked_fill_ here, which reads and converts its value first.
        name_fill(self, values.reshape(()))
        values = cast(values, self.dtype).copy()
    infer_output("index_put_", self, places, values, accumulate)
    check_writable(self, expanded=True)
    check_apart(self, values, *places)
    target = infer_output("index.Tensor", self, places)
    if not target.numel:
        return self
    check_range(self, places)
    given = [(axis, index) for axis, index in enumerate(places) if index is not None]
    if not accumulate:
        self[tuple(items)] = values
    elif len(given) == 1 and given[0][1].ndim == 1:
        axis, index = given[0]
        if index.item(index.argmin()) < 0:
            index = index % self.shape[axis]
        add_slices(self, axis, index, np.broadcast_to(values, target.shape))
    else:
        np.add.at(self, tuple(items), np.broadcast_to(values, target.shape))
    return self
