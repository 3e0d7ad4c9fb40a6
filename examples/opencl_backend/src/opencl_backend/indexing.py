"""Reading and writing at places that arrays of integers or masks name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import RULES, TensorMeta, broadcast_shapes, cached_rule, contiguous, wrap_dim

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
    found = int(download(last)[0]) if last else 0
    # Dimension by dimension, as the cpu's: so each one's places are an index.
    result = empty(TensorMeta((found, rank), (1, max(found, 1)), ScalarType.Long), index)
    places = "".join(f" m0[row + {dim} * n{rank}] = rest % n{dim}; rest /= n{dim};" for dim in reversed(range(rank)))
    code = Code(f"    if (m1[p1]) {{ long row = m2[p2] - 1, rest = item;{places} }}")
    operands = [Operand(result, (0,)), Operand(flat, (1,)), Operand(counts, (1,))]
    run(code, operands, flat.shape, numbers=[*self.shape, found])
    return result


def _write_place(index: Array, operand: int, position: str, size: str, step: str, *, from_end: bool) -> str:
    """Write the statements that add an index to a position ``s``, or report it and clear ``fits`` where it is too far."""
    load = C_TYPES[str(index.dtype)].load.format(m=f"m{operand}", p=f"{position}{operand}")
    least = f"-{size}" if from_end else "0"
    return (
        f"{{ long k = {load}; if (k < {least} || k >= {size}) {{ FAIL(1, k, {size}); fits = 0; }}"
        f" s += (k < 0 ? k + {size} : k) * {step}; }}"
    )


class _Places:
    """The dimensions of ``x[indices]``: those that are kept, and those of the indices, which broadcast together."""

    def __init__(self, array: Array, indices: Sequence[Array | None]) -> None:
        found = [one for each in indices for one in ([None] if each is None else _columns(each))]
        #: The indices by dimension, masks being replaced.
        self.arrays = {dim: each for dim, each in enumerate(found) if each is not None}
        #: The same for the shape rule.
        self.metas = [each and each.spec for each in found]
        self.shape = broadcast_shapes(*(each.shape for each in self.arrays.values()))
        dims = list(self.arrays)
        kept = [each for each in range(len(array.shape)) if each not in dims]
        # Indices of dimensions that stand together take their place; others come first.
        is_block = dims == list(range(dims[0], dims[-1] + 1))
        self.first = sum(each < dims[0] for each in kept) if is_block else 0
        self.kept_shape = [array.shape[each] for each in kept]
        self.kept_steps = tuple(array.strides[each] for each in kept)
        #: A size and a step for each index.
        self.numbers = [number for each in dims for number in (array.shape[each], array.strides[each])]

    def join(self, kept: Sequence[int], steps: Sequence[int]) -> tuple[int, ...]:
        """Return the steps of the result's dimensions, of those that are kept and those of the indices."""
        return (*kept[: self.first], *steps, *kept[self.first :])

    def split(self, steps: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the steps of the dimensions that are kept, and those of the indices: the inverse of `join`."""
        last = self.first + len(self.shape)
        return (*steps[: self.first], *steps[last:]), tuple(steps[self.first : last])

    def write(self, position: str, start: str, *, from_end: bool) -> str:
        """Write the statements that find the position ``s`` by the indices, operands from 2 on, and whether all ``fits``."""
        each = enumerate(self.arrays.values())
        lines = [
            _write_place(array, 2 + i, position, f"n{2 * i}", f"n{2 * i + 1}", from_end=from_end) for i, array in each
        ]
        return " ".join([f"long s = {start}, fits = 1;", *lines])


def _columns(index: Array) -> list[Array]:
    """Return an index, or the indices that a mask means."""
    if str(index.dtype) not in ("bool", "uint8"):
        return [index]
    found = _nonzero(index)
    rows, dims = found.shape
    return [MOVES["as_strided"](found, (rows,), (1,), dim * rows) for dim in range(dims)]


def _index(self: Array, indices: Sequence[Array | None]) -> Array:
    places = _Places(self, indices)
    return _read(empty(RULES["index.Tensor"](self.spec, places.metas), self.block.index), self, places)


def _index_select(self: Array, dim: int, index: Array) -> Array:
    result = empty(cached_rule("index_select")(self, dim, index), self.block.index)
    row = result if result.shape else _line(result)
    array, dims = (self, wrap_dim(dim, len(self.shape))) if self.shape else (_line(self), 0)
    _read(row, array, _Places(array, [*[None] * dims, index if index.shape else _line(index)]), from_end=False)
    return result


def _line(array: Array) -> Array:
    """Return an array without dimensions as one of one element."""
    return MOVES["as_strided"](array, (1,), (1,), array.storage_offset)


def _read(result: Array, self: Array, places: _Places, *, from_end: bool = True) -> Array:
    """Read the elements that the indices name into an array that is there."""
    kind, zeros = C_TYPES[str(self.dtype)], (0,) * len(places.shape)
    store = kind.write_store("m0", "p0", kind.load.format(m="m1", p="s"))
    code = Code(f"    {places.write('p', 'p1', from_end=from_end)} if (fits) {store}")
    operands = [
        Operand(result, result.strides),
        Operand(self, places.join(places.kept_steps, zeros)),
    ]
    kept = (0,) * len(places.kept_shape)
    operands += [Operand(each, places.join(kept, _steps(each, places))) for each in places.arrays.values()]
    run(code, operands, result.shape, numbers=places.numbers)
    return result


def _steps(index: Array, places: _Places) -> tuple[int, ...]:
    return broadcast(index, places.shape).outer


def _index_add(self: Array, dim: int, index: Array, source: Array, *, alpha: Any = 1) -> Array:
    result = MOVES["copy_"](
        empty(cached_rule("index_add")(self, dim, index, source, alpha=alpha), self.block.index), self
    )
    values = source
    if alpha != 1:
        values = empty(contiguous(source.shape, source.dtype), self.block.index)
        compute("mul", values, (source, alpha))
    array, dims = (result, wrap_dim(dim, len(self.shape))) if self.shape else (_line(result), 0)
    _index_put(array, [*[None] * dims, index if index.shape else _line(index)], values, True, from_end=False)
    return result


def _index_put(
    self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False, *, from_end: bool = True
) -> Array:
    """Write in the order of the indices, so that the last of several values for a place stays, and sums are repeatable."""
    places = _Places(self, indices)
    meta = RULES["index.Tensor"](self.spec, places.metas)
    RULES["index_put_"](self.spec, places.metas, values.spec, accumulate)
    kind = C_TYPES[str(self.dtype)]
    value = C_TYPES[str(values.dtype)].load.format(m="m1", p="q1")
    if accumulate:
        value = f"{kind.load.format(m='m0', p='s')} + {value}"
    store = kind.write_store("m0", "s", value)
    code = Code(body=f"        {places.write('q', 'q0', from_end=from_end)} if (fits) {store}")
    kept, zeros = (0,) * len(places.kept_shape), (0,) * len(places.shape)
    operands = [
        Operand(self, places.kept_steps, zeros),
        Operand(values, *places.split(broadcast(values, meta.shape).outer)),
        *(Operand(each, kept, _steps(each, places)) for each in places.arrays.values()),
    ]
    run(code, operands, places.kept_shape, places.shape, numbers=places.numbers)
    return self


def _gather(self: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    result = empty(cached_rule("gather")(self, dim, index, sparse_grad=sparse_grad), self.block.index)
    if index.spec.numel:
        dims, kind, rank = _dims(self, dim), C_TYPES[str(self.dtype)], len(index.shape)
        place = _write_place(index, 2, "p", "n0", "n1", from_end=False)
        store = kind.write_store("m0", "p0", kind.load.format(m="m1", p="s"))
        steps = tuple(0 if each in dims else step for each, step in enumerate(self.strides[:rank]))
        operands = [Operand(result, result.strides), Operand(self, steps or (0,) * rank), Operand(index, index.strides)]
        code = Code(f"    long s = p1, fits = 1; {place} if (fits) {store}")
        run(code, operands, index.shape, numbers=_line_of(self, dims))
    return result


def _line_of(array: Array, dims: Sequence[int]) -> list[int]:
    """Return the size and the step of a dimension; an array without dimensions is a line of one element."""
    return [array.shape[dims[0]], array.strides[dims[0]]] if dims else [1, 0]


def _dims(array: Array, dim: int) -> tuple[int, ...]:
    return (wrap_dim(dim, len(array.shape)),) if array.shape else ()


def _make_scatter(name: str, step: str) -> Callable[..., Array]:
    rule = cached_rule(name)

    def kernel(self: Array, dim: int, index: Array, src: Array) -> Array:
        result = MOVES["copy_"](empty(rule(self, dim, index, src), self.block.index), self)
        _scatter(result, dim, index, src, step)
        return result

    return kernel


def _scatter_reduce(
    self: Array, dim: int, index: Array, src: Array, reduce: str, *, include_self: bool = True
) -> Array:
    spec = cached_rule("scatter_reduce.two")(self, dim, index, src, reduce, include_self=include_self)
    result = MOVES["copy_"](empty(spec, self.block.index), self)
    fold, first = FOLDS["sum" if reduce == "mean" else reduce]
    _scatter(result, dim, index, src, *([] if include_self else [limit(first, result.dtype)]), fold)
    if reduce == "mean":
        counts = empty(result.spec, self.block.index)
        MOVES["fill_.Scalar"](counts, int(include_self))
        _scatter(counts, dim, index, src, "r + 1")
        compute("maximum", counts, (counts, 1))
        compute("div" if result.dtype.is_floating_point else "floor_divide", result, (result, counts))
    return result


def _scatter(result: Array, dim: int, index: Array, src: Array, *steps: str) -> None:
    """Replace elements ``r`` of the result by each step, once for each value ``a`` of ``src`` whose index is theirs."""
    if not index.spec.numel:
        return
    dims = _dims(result, dim)
    kind, given = C_TYPES[str(result.dtype)], C_TYPES[str(src.dtype)]
    operands = [
        Operand(each, keep(each.strides, dims), tuple(each.strides[d] if each is not result else 0 for d in dims))
        for each in (result, src, index)
    ]
    place = _write_place(index, 2, "q", "n0", "n1", from_end=False)
    values = f"{kind.value} r = {kind.load.format(m='m0', p='s')}, a = {given.load.format(m='m1', p='q1')};"
    for step in steps:
        store = kind.write_store("m0", "s", step)
        code = Code(body=f"        long s = q0, fits = 1; {place} if (fits) {{ {values} {store} }}")
        outer, inner = keep(index.shape, dims), [index.shape[d] for d in dims]
        run(code, operands, outer, inner, numbers=_line_of(result, dims))


ATEN: Final[dict[str, Callable[..., Any]]] = {
    "nonzero": _nonzero,
    "index.Tensor": _index,
    "index_select": _index_select,
    "index_add": _index_add,
    "index_put_": _index_put,
    "gather": _gather,
    "scatter.src": _make_scatter("scatter.src", "a"),
    "scatter_add": _make_scatter("scatter_add", "r + a"),
    "scatter_reduce.two": _scatter_reduce,
}
