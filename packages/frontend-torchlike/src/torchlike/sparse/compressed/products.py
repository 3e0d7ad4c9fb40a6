"""Products with compressed matrices: SciPy's on the cpu, by way of coordinates elsewhere and where it is not installed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.variants import functional_of

from ...functions.operator_functions import FUNCTIONS
from ...tensors.tensor import Tensor
from .. import tensor as coo
from ..operators import ops
from . import places
from .dimensions import select, transpose_matrix
from .operators import NAMES, convert
from .rules import call
from .tensor import LAYOUTS, Compressed, is_compressed, record_of, widen_indices

Array = NDArray[Any]
#: The dtypes that are computed in float32.
NARROW: Final = (ScalarType.Half, ScalarType.BFloat16)


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
    counts = aten.sub.Tensor(aten.slice.Tensor(compressed, 0, 1), aten.slice.Tensor(compressed, 0, 0, -1))
    steps = aten.sub.Scalar(aten.cumsum.default(aten.ones_like.default(counts), 0), 1)
    lines = aten.repeat_interleave.self_Tensor(steps, counts)
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


with dc.registry.transaction(level="backend"):
    _library: Final = dc.Library("compressed", "DEF")
    _library.define(
        "mm(Tensor compressed, Tensor plain, Tensor values, int[] size, str layout, Tensor dense) -> Tensor"
    )
    _library.impl("mm", _multiply_on_cpu, "CPU")
    _library.impl("mm", _make_product, "Meta")
    _library.impl("mm", _multiply_by_operators, "CompositeExplicitAutograd")
_mm: Final = dc.ops.compressed.mm


def _multiply(record: Compressed, dense: Tensor) -> Tensor:
    """Return the product of a compressed matrix and a strided one."""
    kind = dc.dtype(record.values)
    values = record.values
    if kind in NARROW:
        values, dense = values.float(), dense.float()
    size, name = list(record.size), NAMES[record.layout]
    found: Tensor = _mm(record.compressed, record.plain, values, size, name, dense)
    return found.to(kind) if kind in NARROW else found


def _multiply_both(self: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two sparse matrices as one of coordinates."""
    one, two = (places.to_coo(each) if is_compressed(each) else each for each in (self, mat2))
    if (kind := dc.dtype(one)) not in NARROW:
        found: Tensor = FUNCTIONS["mm"](one, two)
        return found
    return FUNCTIONS["mm"](one.float(), two.float()).to(kind)


def _check(name: str, self: Tensor, mat2: Tensor) -> None:
    sizes = dc.shape(self), dc.shape(mat2)
    for size in sizes:
        if len(size) != 2:
            raise RuntimeError(f"{name}(): expected matrices, but got a tensor of {len(size)} dimensions")
    if sizes[0][1] != sizes[1][0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, sizes[0]))} and {'x'.join(map(str, sizes[1]))})"
        )
    for each in (self, mat2):
        if is_compressed(each) and record_of(each).dense:
            raise RuntimeError(
                f"{name}(): expected matrices without dense dimensions, but got {len(record_of(each).dense)}"
            )
    if dc.dtype(self) is not dc.dtype(mat2):
        raise RuntimeError(f"expected scalar type {dc.dtype(self).name} but found {dc.dtype(mat2).name}")


def multiply_matrices(op: Any, self: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices: of compressed rows where both are sparse, else strided."""
    _check("mm", self, mat2)
    sparse = [is_compressed(each) or coo.is_sparse(each) for each in (self, mat2)]
    if all(sparse):
        return convert(_multiply_both(self, mat2), LAYOUTS["csr"])
    if sparse[0]:
        return _multiply(record_of(self), mat2)
    return _multiply(record_of(transpose_matrix(op, mat2)), self.t()).t()


def multiply_vector(op: Any, self: Tensor, vec: Tensor) -> Tensor:
    """Return the product of a compressed matrix and a strided vector."""
    if len(dc.shape(self)) != 2 or len(dc.shape(vec)) != 1 or is_compressed(vec):
        raise RuntimeError(
            f"mv: expected a matrix and a strided vector, but got tensors of {self.dim()} and {vec.dim()} dimensions"
        )
    return multiply_matrices(op, self, vec.unsqueeze(1)).squeeze(1)


def add_product(op: Any, self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * self + alpha * mat1 @ mat2``, of the layout of ``self``."""
    _check("addmm", mat1, mat2)
    sparse = [is_compressed(each) or coo.is_sparse(each) for each in (self, mat1, mat2)]
    if sparse[0] and not all(sparse):
        raise RuntimeError(
            f"addmm: computation is not implemented for {self.layout} + {mat1.layout} @ {mat2.layout}\n"
            "Hint: to_dense() makes the first tensor strided, as the product is"
        )
    if not sparse[0]:
        product = ops.to_dense(_multiply_both(mat1, mat2), True) if all(sparse[1:]) else FUNCTIONS["mm"](mat1, mat2)
        product = product * alpha if alpha != 1 else product
        return product if beta == 0 else self * beta + product
    product = _multiply_both(mat1, mat2)
    found = convert(product, self.layout, record_of(self).block) if is_compressed(self) else product
    found = found * alpha if alpha != 1 else found
    found = found if beta == 0 else self * beta + found
    return widen_indices(found) if is_compressed(found) else found


def write_dense(op: Any, *values: Any) -> Tensor:
    """Put a product into ``out``, or into the first tensor, which is strided."""
    name = functional_of(op.name)
    assert name is not None
    packet, _, overload = name.partition(".")
    *given, out = values if op.name.endswith("out") else (*values, values[0])
    if is_compressed(out) or coo.is_sparse(out):
        raise RuntimeError(f"{op.name}: expected a strided tensor to write to, but got {out.layout}")
    found = call(getattr(getattr(dc.ops.aten, packet), overload or "default"), *given)
    if is_compressed(found):
        found = ops.to_dense(found, True)
    if dc.shape(out) != dc.shape(found):
        if not op.name.endswith("out"):
            raise RuntimeError(f"{op.name}: the output has sizes {list(out.shape)}, but the result {list(found.shape)}")
        out.resize_(found.shape)
    written: Tensor = out.copy_(found)
    return written


def add_vector(op: Any, self: Tensor, mat: Tensor, vec: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * self + alpha * mat @ vec`` for strided vectors."""
    product = multiply_vector(op, mat, vec) * alpha
    return product if beta == 0 else self * beta + product


def multiply_batches(op: Any, self: Tensor, mat2: Tensor) -> Tensor:
    """Return the products of matrices of two batches, one of them compressed, the other strided."""
    sizes = dc.shape(self), dc.shape(mat2)
    if len(sizes[0]) != 3 or len(sizes[1]) != 3 or sizes[0][0] != sizes[1][0] or sizes[0][2] != sizes[1][1]:
        raise RuntimeError(
            f"bmm: expected batches of matrices that fit, but got sizes {list(sizes[0])}, {list(sizes[1])}"
        )
    if is_compressed(self) and is_compressed(mat2):
        raise RuntimeError("bmm: expected one strided batch\nHint: to_dense() makes one")

    def take(each: Tensor, number: int) -> Tensor:
        return select(op, each, 0, number) if is_compressed(each) else each.select(0, number)

    rows = [FUNCTIONS["mm"](take(self, number), take(mat2, number)) for number in range(sizes[0][0])]
    if rows:
        return FUNCTIONS["stack"](rows)
    strided = mat2 if is_compressed(self) else self
    return strided.new_zeros((0, sizes[0][1], sizes[1][2]))
