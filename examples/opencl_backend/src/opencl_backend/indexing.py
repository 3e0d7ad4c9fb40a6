"""Reading and writing at places that arrays of integers or masks name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import RULES, broadcast_shapes, cached_rule, contiguous, wrap_dim

from .arrays import Array, empty
from .ctypes import C_TYPES
from .elementwise import broadcast, compute
from .moves import ATEN as MOVES
from .moves import compact, download
from .nest import Code, Operand, run
from .reductions import FOLDS, accumulate_into, keep, limit


def _nonzero(self: Array) -> Array:
    """Return the places of values that are not zero: a running count gives each its row in the result."""
    rank, index = len(self.shape), self.block.index
    flags = compact(self, ScalarType.Bool)
    flat = Array(flags.block, contiguous((self.spec.numel,), ScalarType.Bool))
    counts = empty(contiguous(flat.shape, ScalarType.Long), index)
    accumulate_into(counts, flat, "sum", 0)
    last = MOVES["as_strided"](counts, (1,), (1,), flat.shape[0] - 1) if flat.shape[0] else None
    result = empty(contiguous((int(download(last)[0]) if last else 0, rank), ScalarType.Long), index)
    places = "".join(f" m0[row * {rank} + {dim}] = rest % n{dim}; rest /= n{dim};" for dim in reversed(range(rank)))
    code = Code(f"    if (m1[p1]) {{ long row = m2[p2] - 1, rest = item;{places} }}")
    run(code, [Operand(result, (0,)), Operand(flat, (1,)), Operand(counts, (1,))], flat.shape, numbers=self.shape)
    return result


class _Places:
    """The dimensions of ``x[indices]``: those that are kept, and those of the indices, which broadcast together."""

    def __init__(self, self_: Array, indices: Sequence[Array | None]) -> None:
        self.arrays: list[Array] = []
        dims: list[int] = []
        dim = 0
        for each in indices:
            for one in (None,) if each is None else _columns(each):
                if one is not None:
                    self.arrays.append(one)
                    dims.append(dim)
                dim += 1
        #: For the shape rule: the indices by dimension, masks being replaced.
        self.metas = [None] * dim
        for place, array in zip(dims, self.arrays, strict=True):
            self.metas[place] = array.spec
        self.shape = broadcast_shapes(*(each.shape for each in self.arrays))
        kept = [each for each in range(len(self_.shape)) if each not in dims]
        # Indices of dimensions that stand together take their place; others come first.
        is_block = dims == list(range(dims[0], dims[-1] + 1))
        self.first = sum(each < dims[0] for each in kept) if is_block else 0
        self.kept_shape = [self_.shape[each] for each in kept]
        self.kept_steps = tuple(self_.strides[each] for each in kept)
        #: A size and a step for each index.
        self.numbers = [number for each in dims for number in (self_.shape[each], self_.strides[each])]

    def split(self, steps: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Split what belongs to the result's dimensions into the part of those that are kept, and of the indices'."""
        last = self.first + len(self.shape)
        return (*steps[: self.first], *steps[last:]), tuple(steps[self.first : last])


def _columns(index: Array) -> list[Array]:
    """Return an index, or the indices that a mask means."""
    if str(index.dtype) not in ("bool", "uint8"):
        return [index]
    found = _nonzero(index)
    return [MOVES["as_strided"](found, found.shape[:1], (len(index.shape),), dim) for dim in range(len(index.shape))]


def _find(indices: Sequence[Array], first: int, position: str, start: str) -> str:
    """Write the statements that find the position ``s`` by the indices, and whether it ``fits``."""
    lines = [f"long s = {start}, fits = 1;"]
    for i, each in enumerate(indices):
        load = C_TYPES[str(each.dtype)].load.format(m=f"m{first + i}", p=f"{position}{first + i}")
        size, step = f"n{2 * i}", f"n{2 * i + 1}"
        lines.append(
            f"{{ long k = {load}; if (k < -{size} || k >= {size}) {{ FAIL(1, k, {size}); fits = 0; }}"
            f" s += (k < 0 ? k + {size} : k) * {step}; }}"
        )
    return " ".join(lines)


def _index(self: Array, indices: Sequence[Array | None]) -> Array:
    places = _Places(self, indices)
    result = empty(RULES["index.Tensor"](self.spec, places.metas), self.block.index)
    kind, rank = C_TYPES[str(self.dtype)], len(places.kept_shape) - places.first
    load = kind.load.format(m="m1", p="s")
    code = Code(f"    {_find(places.arrays, 2, 'p', 'p1')} if (fits) {kind.write_store('m0', 'p0', load)}")
    zeros = (0,) * len(places.shape)
    steps = (*places.kept_steps[: places.first], *zeros, *places.kept_steps[places.first :])
    operands = [Operand(result, result.strides), Operand(self, steps)]
    for each in places.arrays:
        operands.append(Operand(each, (0,) * places.first + broadcast(each, places.shape).outer + (0,) * rank))
    run(code, operands, result.shape, numbers=places.numbers)
    return result


def _index_put(self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False) -> Array:
    """Write in the order of the indices, so that the last of several values for a place stays, and sums are repeatable."""
    places = _Places(self, indices)
    meta = RULES["index.Tensor"](self.spec, places.metas)
    RULES["index_put_"](self.spec, places.metas, values.spec, accumulate)
    kind = C_TYPES[str(self.dtype)]
    value = C_TYPES[str(values.dtype)].load.format(m="m1", p="q1")
    if accumulate:
        value = f"{kind.load.format(m='m0', p='s')} + {value}"
    code = Code(body=f"        {_find(places.arrays, 2, 'q', 'q0')} if (fits) {kind.write_store('m0', 's', value)}")
    kept = (0,) * len(places.kept_shape)
    operands = [
        Operand(self, places.kept_steps, (0,) * len(places.shape)),
        Operand(values, *places.split(broadcast(values, meta.shape).outer)),
        *(Operand(each, kept, broadcast(each, places.shape).outer) for each in places.arrays),
    ]
    run(code, operands, places.kept_shape, places.shape, numbers=places.numbers)
    return self


def _scatter_reduce(
    self: Array, dim: int, index: Array, src: Array, reduce: str, *, include_self: bool = True
) -> Array:
    result = empty(
        cached_rule("scatter_reduce.two")(self, dim, index, src, reduce, include_self=include_self), self.block.index
    )
    MOVES["copy_"](result, self)
    fold, first = FOLDS["sum" if reduce == "mean" else reduce]
    first = limit(first, result.dtype)
    if not include_self:
        _scatter(result, dim, index, src, first)
    _scatter(result, dim, index, src, fold)
    if reduce == "mean":
        counts = empty(result.spec, self.block.index)
        MOVES["fill_.Scalar"](counts, int(include_self))
        _scatter(counts, dim, index, src, "r + 1")
        compute("maximum", counts, (counts, 1))
        compute("div" if result.dtype.is_floating_point else "floor_divide", result, (result, counts))
    return result


def _scatter(result: Array, dim: int, index: Array, src: Array, step: str) -> None:
    """Replace elements ``r`` of the result by ``step``, once for each value ``a`` of ``src`` whose index is theirs."""
    if not index.spec.numel:
        return
    dims = (wrap_dim(dim, len(result.shape)),) if result.shape else ()
    size, stride = (result.shape[dims[0]], result.strides[dims[0]]) if dims else (1, 0)
    kind, given = C_TYPES[str(result.dtype)], C_TYPES[str(src.dtype)]
    load = C_TYPES[str(index.dtype)].load.format(m="m2", p="q2")
    body = (
        f"        long k = {load}, s = q0 + k * n1; if (k < 0 || k >= n0) {{ FAIL(1, k, n0); }} else {{"
        f" {kind.value} r = {kind.load.format(m='m0', p='s')}, a = {given.load.format(m='m1', p='q1')};"
        f" {kind.write_store('m0', 's', step)} }}"
    )
    operands = [
        Operand(each, keep(each.strides, dims), tuple(each.strides[d] if each is not result else 0 for d in dims))
        for each in (result, src, index)
    ]
    run(Code(body=body), operands, keep(index.shape, dims), [index.shape[d] for d in dims], numbers=[size, stride])


ATEN: Final[dict[str, Callable[..., Any]]] = {
    "nonzero": _nonzero,
    "index.Tensor": _index,
    "index_put_": _index_put,
    "scatter_reduce.two": _scatter_reduce,
}
