"""The computation of a kernel of rows as a list of ufunc calls and folds, for compiled kernels.

An array is seen as rows of its last dimensions, or as samples that have a row for each channel, or as one row. A formula's
values are arrays of that shape (``FULL``), have an element for each row (``COLUMN``), for each place in a row (``ROW``), or
one (``ONE``). Beside calls of ufuncs it may fold arrays along rows or across them, and sum the products of two. Shapes are
those of the symbols' layouts: ``reshape`` changes none.

An operation in place, or with ``out``, is one in the compiled kernel, too, and no other is. A kernel leaves calls to Python
of which it has found a nan, so a formula must not make numbers of nans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from .reduce_ufuncs import FEW_TO_TURN, ROWS_TO_TURN, SHORT_TO_TURN
from .tape import DType, Operation, Symbol, Tape, Untraceable

ONE, COLUMN, ROW, FULL = range(4)
"""The layouts of values, as the compiled kernels number them."""
_CALL, _CHOOSE, _FOLD, _TURN, _PRODUCTS = range(5)
#: The sizes that symbols say they have: of no array that is cut otherwise than others.
_SIZES: Final = {ONE: 1, COLUMN: 64, ROW: 64, FULL: 4096}

Formula: TypeAlias = tuple[list[Any], list[Any], list[Any], int, list[Any], bool]
"""Places, constants, lines, the number of slots, results, and whether folds see rows alone, for a compiled kernel."""


class RowSymbol(Symbol):
    """Represents an array of one of the layouts."""

    __slots__ = ("layout",)

    def __init__(self, tape: RowTape, dtype: DType, layout: int, **options: Any) -> None:
        super().__init__(tape, dtype, is_scalar=layout == ONE, **options)
        self.layout = layout

    @property
    def size(self) -> int:
        """A size that the layout may have."""
        return _SIZES[self.layout]

    def reshape(self, *shape: Any) -> RowSymbol:
        """Return the symbol: its layout is its shape."""
        return self

    def row_maxima(self, axis: int) -> RowSymbol:
        """Record the maxima of rows, which are turned where these are many and short."""
        return self.tape.fold(np.maximum, self, axis, _TURN)  # type: ignore[attr-defined]  # a RowTape

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Symbol:
        (out,) = kwargs.pop("out", None) or (None,)
        if method == "reduce" and out is None:
            axis, dtype = kwargs.pop("axis", 0), kwargs.pop("dtype", None)
            kwargs.pop("keepdims", None)
            if kwargs or dtype is not None:
                raise Untraceable("reduce")
            return self.tape.fold(ufunc, inputs[0], axis)  # type: ignore[attr-defined]  # a RowTape
        found = super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        if out is not None:
            self.tape.written[id(found)] = out  # type: ignore[attr-defined]  # a RowTape
        return found

    def __iadd__(self, other: Any) -> Any:
        return self.__array_ufunc__(np.add, "__call__", self, other, out=(self,))

    def __isub__(self, other: Any) -> Any:
        return self.__array_ufunc__(np.subtract, "__call__", self, other, out=(self,))

    def __imul__(self, other: Any) -> Any:
        return self.__array_ufunc__(np.multiply, "__call__", self, other, out=(self,))

    def __itruediv__(self, other: Any) -> Any:
        return self.__array_ufunc__(np.true_divide, "__call__", self, other, out=(self,))

    __hash__ = object.__hash__


class SizeNumber(RowSymbol):
    """Represents a number that depends on sizes, in the dtype that it is converted to."""

    __slots__ = ("code",)

    def __init__(self, tape: RowTape, code: int) -> None:
        super().__init__(tape, np.dtype(np.float64), ONE)
        self.code = code

    def astype(self, dtype: Any) -> Symbol:
        """Return the number as an array without dimensions."""
        made = SizeNumber(self.tape, self.code)  # type: ignore[arg-type]  # a RowTape
        made.dtype = np.dtype(dtype)
        return made


class RowTape(Tape):
    """Calls and folds in the order in which they are made.

    >>> tape = RowTape({})
    >>> a = tape.array(np.dtype(np.float32), FULL)
    >>> powers = np.exp(a - a.row_maxima(-1))
    >>> [(each.kind, each.out.layout) for each in tape.operations]
    [('turn', 1), ('ufunc', 3), ('ufunc', 3)]
    """

    def __init__(self, starts: dict[tuple[Any, DType], Any]) -> None:
        super().__init__()
        self.arrays: list[RowSymbol] = []
        #: How many elements share a statistic, the factor for a variance without bias, and two over their number.
        self.elements, self.bessel, self.twice_mean = (SizeNumber(self, code) for code in (1, 2, 3))
        #: The element with which NumPy begins a fold, by ufunc and dtype; none where it is the first.
        self._starts = starts
        #: What each fold and sum of products is called with besides.
        self.details: dict[int, Any] = {}
        #: The operands that results are written over.
        self.written: dict[int, Symbol] = {}

    def array(self, dtype: DType, layout: int) -> RowSymbol:
        """Return the symbol of a further argument."""
        self.arrays.append(RowSymbol(self, dtype, layout))
        return self.arrays[-1]

    def record(self, kind: Any, fn: Any, inputs: tuple[Symbol, ...], dtype: DType, *, weak: bool = False) -> Symbol:
        """Record one operation."""
        layouts = {layout_of(each) for each in inputs} - {ONE}
        layout = FULL if len(layouts) > 1 else max(layouts, default=ONE)
        if len(layouts) > 1 and FULL not in layouts:
            raise Untraceable("a row and a column")
        return self._add(kind, fn, inputs, RowSymbol(self, dtype, layout, weak=weak))

    def _add(self, kind: Any, fn: Any, inputs: tuple[Symbol, ...], out: RowSymbol) -> RowSymbol:
        self.operations.append(Operation(kind, fn, inputs, out))
        return out

    def fold(self, ufunc: Any, array: Any, axis: Any, kind: int = _FOLD) -> RowSymbol:
        """Record a fold along rows, across them, or of everything."""
        axes = axis if isinstance(axis, tuple) else (axis,)
        layout = ONE if axis is None else COLUMN if axes in ((-1,), (1,), (0, 2)) else ROW if axes == (0,) else None
        if not isinstance(array, RowSymbol) or array.layout != FULL or layout is None:
            raise Untraceable("a fold")
        start = self._starts.get((ufunc, array.dtype))
        inputs: tuple[Symbol, ...] = (array,)
        if start is not None:
            inputs += (Symbol(self, array.dtype, is_scalar=True, constant=start),)
        name: Any = "turn" if kind == _TURN else "fold"
        out = self._add(name, ufunc, inputs, RowSymbol(self, array.dtype, layout))
        self.details[id(out)] = ufunc.reduce, axis
        return out

    def products(self, subscripts: str, one: RowSymbol, two: RowSymbol) -> RowSymbol:
        """Record a sum of products, as ``np.einsum`` makes it."""
        layout = {"ps,ps->p": COLUMN, "ps,ps->s": ROW, "ncs,ncs->c": COLUMN}[subscripts]
        kind: Any = "products"
        out = self._add(kind, None, (one, two), RowSymbol(self, one.dtype, layout))
        self.details[id(out)] = subscripts, None
        return out


def layout_of(symbol: Symbol) -> int:
    """Return the layout of a symbol; constants have none of their own."""
    return symbol.layout if isinstance(symbol, RowSymbol) else ONE


def write_formula(tape: RowTape, results: Sequence[Any], dtype: DType, known: frozenset[Any]) -> Formula | None:
    """Return what was recorded as a compiled kernel takes it; None where it has a function that is not ``known``.

    A result is a symbol, a pair of one and a letter for its shape, or None for an array without elements.
    """
    operations, arrays = tape.operations, tape.arrays
    letters = [each[1] if isinstance(each, tuple) else None for each in results]
    results = [each[0] if isinstance(each, tuple) else each for each in results]
    if any(each.fn not in known or each.kind == "cast" for each in operations) or not operations:
        return None
    given = {id(each) for each in arrays} | {id(each.out) for each in operations}
    constants = {id(each): each for operation in operations for each in operation.inputs if id(each) not in given}
    symbols: list[Symbol] = [*arrays, *constants.values(), *(each.out for each in operations)]
    index = {id(symbol): place for place, symbol in enumerate(symbols)}
    made = {id(each.out) for each in operations}
    if any(each is not None and id(each) not in made for each in results):
        return None
    lines, last = [], {id(each): len(operations) for each in results}
    for line, operation in enumerate(operations):
        last |= {id(each): max(line, last.get(id(each), 0)) for each in operation.inputs}
        kind = {"ufunc": _CALL, "where": _CHOOSE, "fold": _FOLD, "turn": _TURN, "products": _PRODUCTS}[operation.kind]
        at = tuple(index[id(each)] for each in (*operation.inputs, operation.out))
        call, axis = tape.details.get(id(operation.out), (None, None))
        lines.append((kind, operation.fn, at, call, axis, (FEW_TO_TURN, SHORT_TO_TURN, ROWS_TO_TURN)))
    shared = _share_memory(operations, last, tape.written)
    if shared is None:
        return None
    slots, held = shared
    places = [(each.dtype.num, layout_of(each), held.get(id(each), -1)) for each in symbols]
    values: list[Any] = [
        each.code if isinstance(each, SizeNumber) else np.ascontiguousarray(each.constant)
        for each in constants.values()
    ]
    codes = {ONE: "1", COLUMN: "c", ROW: "v", FULL: "f"}
    outs = [
        (-1, "e", dtype.num) if each is None else (held[id(each)], letter or codes[layout_of(each)], each.dtype.num)
        for each, letter in zip(results, letters, strict=True)
    ]
    is_flat = any(axis not in (-1, None) for _, axis in tape.details.values())
    return places, values, lines, slots, outs, is_flat


def _share_memory(
    operations: Sequence[Operation], last: dict[int, int], written: dict[int, Symbol]
) -> tuple[int, dict[int, int]] | None:
    """Return the number of slots of memory, and the one that holds each result; None for one written over what is needed."""
    kinds: list[tuple[int, int]] = []
    held: dict[int, int] = {}
    free: list[int] = []
    for line, operation in enumerate(operations):
        out = operation.out
        kind = layout_of(out), out.dtype.itemsize
        over = written.get(id(out))
        if over is not None:
            slot = held.get(id(over), -1)
            if slot < 0 or kinds[slot] != kind or last.get(id(over), line) > line:
                return None
        else:
            # The newest first: it lies in the cache.
            slot = next((each for each in reversed(free) if kinds[each] == kind), -1)
            if slot >= 0:
                free.remove(slot)
            else:
                slot = len(kinds)
                kinds.append(kind)
        held[id(out)] = slot
        for each in dict.fromkeys(map(id, operation.inputs)):
            if each in held and last[each] == line and held[each] != slot:
                free.append(held[each])
    return len(kinds), held


def trace_rows(
    make: Callable[..., Any],
    layouts: Sequence[int | None],
    options: Sequence[Any],
    dtype: DType,
    starts: Any,
    known: Any,
) -> Formula | None:
    """Trace ``make(tape, *arrays, *options)``, where an array is None for a layout of None; None where that fails."""
    tape = RowTape(starts)
    arrays = [None if layout is None else tape.array(dtype, layout) for layout in layouts]
    try:
        found = make(tape, *arrays, *options)
    except (Untraceable, AttributeError, OverflowError, TypeError, ValueError):
        return None
    return write_formula(tape, found if isinstance(found, list) else [found], dtype, known)
