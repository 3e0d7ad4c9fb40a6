"""Sums of duplicates and products of matrices, on the components: SciPy's on the cpu, operators elsewhere.

These operators take ordinary tensors, so a pipeline records them. SciPy leaves explicit zeros out of products, which torch
keeps: the product of the absolute patterns has every place. Where SciPy is not installed NumPy adds up the products.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ..functions.arrangements import unique
from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from .tensor import Coo, count_through, find_all, places_of

Array = NDArray[Any]
#: The dtypes that SciPy computes in.
_SCIPY: Final = (ScalarType.Float, ScalarType.Double, ScalarType.ComplexFloat, ScalarType.ComplexDouble)


@cache
def _load_scipy() -> Any:
    """Return SciPy's sparse matrices, or None where it is not installed."""
    try:
        return import_module("scipy.sparse")
    except ImportError:
        return None


def _compress(indices: Array, values: Array, size: Sequence[int]) -> Any:
    """Return SciPy's matrix with compressed rows, duplicates summed."""
    return _load_scipy().csr_array((values, (indices[0], indices[1])), shape=tuple(size))


def _list_places(matrix: Any) -> Array:
    """Return the places of a matrix with compressed rows, row by row."""
    matrix.sort_indices()
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.stack([rows, matrix.indices.astype(np.int64, copy=False)])


def _sum_on_cpu(indices: Array, values: Array, size: list[int]) -> tuple[Array, Array]:
    if _load_scipy() is None:
        there, inverse = np.unique(indices[0] * size[1] + indices[1], return_inverse=True)
        return np.stack(np.divmod(there, size[1])), _add_up(values, inverse, len(there))
    made = _compress(indices, values, size)
    made.sum_duplicates()
    return _list_places(made), made.data


def _add_up(values: Array, places: Array, count: int) -> Array:
    found = np.zeros((count, *values.shape[1:]), values.dtype)
    with np.errstate(all="ignore"):
        np.add.at(found, places, values)
    return found


def _multiply_on_cpu(indices: Array, values: Array, size: list[int], dense: Array) -> Array:
    if _load_scipy() is None:
        with np.errstate(all="ignore"):
            products = values[:, None] * dense[indices[1]]
        return _add_up(products, indices[0], size[0])
    found: Array = _compress(indices, values, size) @ np.ascontiguousarray(dense)
    return found


def _multiply_both_on_cpu(
    indices: Array, values: Array, size: list[int], other_indices: Array, other_values: Array, other_size: list[int]
) -> tuple[Array, Array]:
    if _load_scipy() is None:
        # Each element meets all elements of the row of the other matrix that its column names.
        low, high = (np.searchsorted(other_indices[0], indices[1], side) for side in ("left", "right"))
        counts = high - low
        mine = np.repeat(np.arange(len(counts)), counts)
        met = np.arange(len(mine)) + np.repeat(high - np.cumsum(counts), counts)
        with np.errstate(all="ignore"):
            products = values[mine] * other_values[met]
        return _sum_on_cpu(np.stack([indices[0][mine], other_indices[1][met]]), products, [size[0], other_size[1]])
    one, other = _compress(indices, values, size), _compress(other_indices, other_values, other_size)
    product = one @ other
    one.data, other.data = np.ones_like(one.data), np.ones_like(other.data)
    places, there = _list_places(one @ other), _list_places(product)
    every, found = (rows * other_size[1] + columns for rows, columns in (places, there))
    full = np.zeros(len(every), values.dtype)
    full[np.searchsorted(every, found)] = product.data
    return places, full


def _sum_by_operators(indices: Tensor, values: Tensor, size: Sequence[int]) -> tuple[Tensor, Tensor]:
    sizes = size[: dc.shape(indices)[0]]
    there, inverse = unique(count_through(indices, sizes), return_inverse=True)
    return places_of(there, sizes), add_up(values, inverse, dc.shape(there)[0])


def add_up(values: Tensor, places: Tensor, count: int) -> Tensor:
    """Return ``count`` sums of the values in each place; truth values are joined by or."""
    if dc.dtype(values) is ScalarType.Bool:
        return add_up(values.long(), places, count) > 0
    return values.new_zeros((count, *dc.shape(values)[1:])).index_add(0, places, values)


def _multiply_by_operators(indices: Tensor, values: Tensor, size: Sequence[int], dense: Tensor) -> Tensor:
    # Operators alone: a pipeline asks for the shape with arrays of the meta backend.
    aten = dc.ops.aten
    rows, columns = aten.unbind.int(indices, 0)
    parts = aten.mul.Tensor(aten.index_select.default(dense, 0, columns), aten.unsqueeze.default(values, 1))
    zeros = aten.new_zeros.default(values, (size[0], dc.shape(dense)[1]))
    found: Tensor = aten.index_add.default(zeros, 0, rows, parts)
    return found


def _multiply_both_by_operators(one: Coo, other: Coo) -> tuple[Tensor, Tensor]:
    # Each element meets all elements of the row of the other matrix that its column names.
    mine, met = find_all(other.indices[0], one.indices[1])
    places = FUNCTIONS["stack"]([one.indices[0].index_select(0, mine), other.indices[1].index_select(0, met)])
    products = one.values.index_select(0, mine) * other.values.index_select(0, met)
    return sum_duplicates(places, products, (one.size[0], other.size[1]))


with dc.registry.transaction(level="backend"):
    _library: Final = dc.Library("coo", "DEF")
    _library.define("sum_duplicates(Tensor indices, Tensor values, int[] size) -> (Tensor, Tensor)")
    _library.define("mm(Tensor indices, Tensor values, int[] size, Tensor dense) -> Tensor")
    _library.define(
        "mm.sparse(Tensor indices, Tensor values, int[] size, Tensor other_indices, Tensor other_values, int[] other_size)"
        " -> (Tensor, Tensor)"
    )
    _library.impl("sum_duplicates", _sum_on_cpu, "CPU")
    _library.impl("mm", _multiply_on_cpu, "CPU")
    _library.impl("mm.sparse", _multiply_both_on_cpu, "CPU")
    _library.impl("mm", _multiply_by_operators, "CompositeExplicitAutograd")
_ops: Final = dc.ops.coo


def sum_duplicates(indices: Tensor, values: Tensor, size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return sorted places that differ, and the sums of the values of each."""
    if not dc.shape(indices)[1]:
        return indices, values
    found: tuple[Tensor, Tensor]
    is_matrix = dc.shape(indices)[0] == 2 and len(dc.shape(values)) == 1
    if is_matrix and values.is_cpu and dc.dtype(values) in _SCIPY and all(size):
        found = _ops.sum_duplicates(indices, values, list(size))
        return found
    return _sum_by_operators(indices, values, size)


def multiply(indices: Tensor, values: Tensor, size: Sequence[int], dense: Tensor) -> Tensor:
    """Return the product of a sparse matrix and a strided one."""
    if dc.dtype(values) not in _SCIPY:
        return _multiply_by_operators(indices, values, size, dense)
    found: Tensor = _ops.mm(indices, values, list(size), dense)
    return found


def multiply_both(one: Coo, other: Coo) -> tuple[Tensor, Tensor]:
    """Return places and values of the product of two coalesced matrices, in the dtypes of SciPy's on every device."""
    if dc.dtype(one.values) not in _SCIPY:
        raise NotImplementedError(
            f'"sparse_matmul" not implemented for {dc.dtype(one.values).name!r}\n'
            "Hint: it is for float32, float64, complex64 and complex128"
        )
    if not one.values.is_cpu:
        return _multiply_both_by_operators(one, other)
    found: tuple[Tensor, Tensor] = _ops.mm.sparse(
        one.indices, one.values, list(one.size), other.indices, other.values, list(other.size)
    )
    return found
