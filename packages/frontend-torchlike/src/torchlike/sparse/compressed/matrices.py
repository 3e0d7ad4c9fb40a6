"""Products on the components of compressed matrices: SciPy's on the cpu, operators elsewhere and where it is not installed.

These operators take ordinary tensors, so a pipeline records them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import dispatch_core as dc

from ...tensors.tensor import Tensor

Array = NDArray[Any]


@cache
def load_scipy(name: str = "scipy.sparse") -> Any:
    """Return SciPy's sparse matrices, or None where it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None


def make_matrix(compressed: Array, plain: Array, values: Array, size: list[int], layout: str) -> Any:
    """Return SciPy's matrix of components."""
    scipy = load_scipy()
    if layout == "bsc":
        return scipy.bsr_array((values.swapaxes(1, 2), plain, compressed), shape=size[::-1]).T
    return getattr(scipy, f"{layout}_array")((values, plain, compressed), shape=tuple(size))


def _multiply_on_cpu(
    compressed: Array, plain: Array, values: Array, size: list[int], layout: str, dense: Array
) -> Array:
    if load_scipy() is None or not len(plain):
        found: Array = _multiply_by_operators(compressed, plain, values, size, layout, dense)
        return found
    found = make_matrix(compressed, plain, values, size, layout) @ np.ascontiguousarray(dense)
    return found


def _multiply_by_operators(compressed: Any, plain: Any, values: Any, size: list[int], layout: str, dense: Any) -> Any:
    # Operators alone: a pipeline runs them with arrays. An element is a block of one.
    aten = dc.ops.aten
    count, shape = dc.shape(plain)[0], dc.shape(values)
    high, wide = shape[1:] or (1, 1)
    numbers = aten.cumsum.default(aten.ones_like.default(plain), 0, dtype=dc.dtype(plain))
    lines = aten.sub.Scalar(
        aten.searchsorted.Tensor(compressed, numbers), 1
    )  # the line of the element with each number
    rows, columns = (lines, plain) if layout in ("csr", "bsr") else (plain, lines)
    parts = aten.reshape.default(dense, (size[1] // wide, wide, dc.shape(dense)[1]))
    blocks = aten.reshape.default(values, (count, high, wide))
    found = aten.bmm.default(blocks, aten.index_select.default(parts, 0, columns))
    zeros = aten.new_zeros.default(values, (size[0] // high, high, dc.shape(dense)[1]))
    return aten.reshape.default(aten.index_add.default(zeros, 0, rows, found), (size[0], dc.shape(dense)[1]))


def _make_product(
    compressed: Tensor, plain: Tensor, values: Tensor, size: list[int], layout: str, dense: Tensor
) -> Tensor:
    """Return a product without elements: the places are in no values."""
    found: Tensor = dc.ops.aten.new_zeros.default(values, (size[0], dc.shape(dense)[1]))
    return found


def _multiply_both_on_cpu(
    compressed: Array,
    plain: Array,
    values: Array,
    size: list[int],
    layout: str,
    other_compressed: Array,
    other_plain: Array,
    other_values: Array,
    other_size: list[int],
    other_layout: str,
) -> tuple[Array, Array, Array]:
    one = make_matrix(compressed, plain, values, size, layout).tocsr()
    other = make_matrix(other_compressed, other_plain, other_values, other_size, other_layout).tocsr()
    product = one @ other
    # SciPy leaves out sums that are zero, which torch keeps: the product of the patterns has every place.
    every = _set_ones(one) @ _set_ones(other)
    product.sort_indices()
    data = product.data
    if len(data) == len(every.data):
        every = product
    else:
        every.sort_indices()
        found = _number(every)
        data = np.zeros(len(found), data.dtype)
        data[np.searchsorted(found, _number(product))] = product.data
    return every.indptr.astype(np.int64), every.indices.astype(np.int64), data


def _set_ones(matrix: Any) -> Any:
    ones = np.ones(len(matrix.data), np.float32)
    return type(matrix)((ones, matrix.indices, matrix.indptr), shape=matrix.shape)


def _number(matrix: Any) -> Array:
    lines = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return lines * matrix.shape[1] + matrix.indices


with dc.registry.transaction(level="backend"):
    _library: Final = dc.Library("compressed", "DEF")
    _library.define(
        "mm(Tensor compressed, Tensor plain, Tensor values, int[] size, str layout, Tensor dense) -> Tensor"
    )
    _library.define(
        "mm.sparse(Tensor compressed, Tensor plain, Tensor values, int[] size, str layout, Tensor other_compressed,"
        " Tensor other_plain, Tensor other_values, int[] other_size, str other_layout) -> (Tensor, Tensor, Tensor)"
    )
    _library.impl("mm.sparse", _multiply_both_on_cpu, "CPU")
    _library.impl("mm", _multiply_on_cpu, "CPU")
    _library.impl("mm", _make_product, "Meta")
    _library.impl("mm", _multiply_by_operators, "CompositeExplicitAutograd")
multiply: Final = dc.ops.compressed.mm
