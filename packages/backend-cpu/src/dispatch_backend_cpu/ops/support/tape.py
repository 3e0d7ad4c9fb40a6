"""The computation of element-wise kernels as a list of ufunc calls: formulas are run on symbols.

A kernel's formula is a function of arrays. Run on symbols it records the ufuncs that it calls and their operands, with
the dtypes that NumPy would choose; run on tiles, these calls give the bits that the formula gives on whole arrays. A
formula that does anything else, such as to look at values, cannot be traced, and its operator is not fused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

DType = np.dtype[Any]
#: How NumPy is asked about a Python number, whose dtype gives way to that of arrays.
_WEAK: Final[dict[str, type]] = {"i": int, "f": float, "c": complex}


class Untraceable(Exception):  # noqa: N818  # a property of a formula, and always caught
    """A formula does something that is not a call of a ufunc on its arguments."""


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One operation: ``out`` from ``inputs``."""

    kind: Literal["ufunc", "cast", "where", "choose", "copy"]
    fn: Any
    inputs: tuple[Symbol, ...]
    out: Symbol


class Symbol(np.lib.mixins.NDArrayOperatorsMixin):
    """Represents an array, or a number that is known when the tape runs."""

    __slots__ = ("constant", "dtype", "is_scalar", "source", "tape", "weak")

    def __init__(
        self,
        tape: Tape,
        dtype: DType,
        *,
        is_scalar: bool,
        weak: bool = False,
        source: int | None = None,
        constant: Any = None,
    ) -> None:
        self.tape, self.dtype = tape, dtype
        #: Whether it has no dimensions, so that it is the same for all tiles.
        self.is_scalar = is_scalar
        #: Whether it is a Python number, whose dtype gives way to that of arrays.
        self.weak = weak
        #: The index of the value that it is read from.
        self.source = source
        #: An array without dimensions, where it is known already.
        self.constant = constant

    def astype(self, dtype: Any) -> Symbol:
        """Convert as ``ndarray.astype`` does; a symbol of that dtype is not copied."""
        return self.tape.cast(self, np.dtype(dtype))

    def copy(self) -> Symbol:
        """Copy."""
        return self.tape.record("copy", None, (self,), self.dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Symbol:
        if method != "__call__" or kwargs or ufunc.nout != 1 or ufunc.signature is not None:
            raise Untraceable(f"{ufunc.__name__}.{method}")
        return self.tape.ufunc(ufunc, inputs)

    def __array_function__(self, fn: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Symbol:
        if fn is not np.where or len(args) != 3 or kwargs:
            raise Untraceable(fn.__name__)
        return self.tape.where(*args)

    def __bool__(self) -> bool:
        raise Untraceable("a value is looked at")

    @property
    def size(self) -> int:
        """The number of elements that the operation has whose formula is run."""
        self.tape.is_asked_for_size = True
        return self.tape.size

    # A symbol never changes; an operation in place makes another one.
    __iadd__ = np.lib.mixins.NDArrayOperatorsMixin.__add__
    __isub__ = np.lib.mixins.NDArrayOperatorsMixin.__sub__
    __imul__ = np.lib.mixins.NDArrayOperatorsMixin.__mul__
    __itruediv__ = np.lib.mixins.NDArrayOperatorsMixin.__truediv__

    __hash__ = object.__hash__


class Tape:
    """Calls in the order in which they are made.

    >>> tape = Tape()
    >>> a = tape.read(0, np.dtype(np.float32))
    >>> [each.fn.__name__ for each in (1 + a * a, tape.operations)[1]]
    ['multiply', 'add']
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        #: The number of elements of the results that are now recorded.
        self.size = 0
        #: Whether a formula has read it, which may do otherwise for another size then.
        self.is_asked_for_size = False
        self._read: dict[int, Symbol] = {}

    def read(self, index: int, dtype: DType, *, is_scalar: bool = False, weak: bool = False) -> Symbol:
        """Return the symbol of a value that is there before the tape runs."""
        found = self._read.get(index)
        if found is None:
            found = self._read[index] = Symbol(self, dtype, is_scalar=is_scalar, weak=weak, source=index)
        return found

    def record(self, kind: Any, fn: Any, inputs: tuple[Symbol, ...], dtype: DType, *, weak: bool = False) -> Symbol:
        """Record one operation."""
        out = Symbol(self, dtype, is_scalar=all(each.is_scalar for each in inputs), weak=weak)
        self.operations.append(Operation(kind, fn, inputs, out))
        return out

    def ufunc(self, ufunc: Any, inputs: tuple[Any, ...]) -> Symbol:
        """Record a call of a ufunc, with the dtypes that NumPy computes in."""
        given = [_resolvable(each) for each in inputs]
        try:
            *wanted, result = ufunc.resolve_dtypes((*given, None))
        except TypeError as error:
            raise Untraceable(str(error)) from error
        # Arrays and NumPy scalars go in as they are: NumPy converts them piece by piece.
        symbols = [
            self._constant(each, dtype) if not isinstance(each, Symbol) or each.weak else each
            for each, dtype in zip(inputs, wanted, strict=True)
        ]
        weak = all(each.weak if isinstance(each, Symbol) else isinstance(each, (int, float)) for each in inputs)
        return self.record("ufunc", ufunc, tuple(symbols), result, weak=weak and result.kind != "b")

    def where(self, condition: Any, a: Any, b: Any) -> Symbol:
        """Record a call of ``np.where``."""
        if not isinstance(condition, Symbol) or condition.dtype.kind != "b":
            raise Untraceable("where")
        dtype = np.result_type(*[_example(each) for each in (a, b)])
        return self.record("where", None, (condition, self._constant(a, dtype), self._constant(b, dtype)), dtype)

    def choose(self, condition: Symbol, a: Symbol, b: Symbol) -> Symbol:
        """Record a choice of all of ``a`` or all of ``b``, which have one shape and dtype, by a number."""
        return self.record("choose", None, (condition, a, b), a.dtype)

    def cast(self, value: Any, dtype: DType) -> Symbol:
        """Record a conversion; a symbol of that dtype stays as it is."""
        if not isinstance(value, Symbol):
            return self._constant(value, dtype)
        if value.dtype == dtype and not value.weak:
            return value
        if value.dtype.kind in "fc" and dtype.kind in "iu":
            raise Untraceable("the conversion of a float outside an integer's range depends on the machine")
        if value.dtype.kind == "c" and dtype.kind not in "cb":
            raise Untraceable("the real part")
        return self.record("cast", None, (value,), dtype)

    def _constant(self, value: Any, dtype: DType) -> Symbol:
        """Return an operand in the dtype in which a Python number takes part."""
        if isinstance(value, Symbol):
            return self.cast(value, dtype) if value.weak else value
        if isinstance(value, (np.ndarray, np.generic)) and value.ndim == 0:
            return Symbol(self, value.dtype, is_scalar=True, constant=np.asarray(value))
        if isinstance(value, (bool, int, float, complex)):
            return Symbol(self, dtype, is_scalar=True, constant=np.asarray(value).astype(dtype))
        raise Untraceable(f"an operand of type {type(value).__name__}")


def _resolvable(value: Any) -> Any:
    """Return an operand in the form that ``resolve_dtypes`` takes."""
    if isinstance(value, (Symbol, np.ndarray, np.generic)):
        weak = isinstance(value, Symbol) and value.weak
        return _WEAK[value.dtype.kind] if weak else value.dtype
    if isinstance(value, bool) or not isinstance(value, (int, float, complex)):
        raise Untraceable(f"an operand of type {type(value).__name__}")
    return type(value)


def _example(value: Any) -> Any:
    """Return an operand in the form that ``result_type`` takes."""
    asked = _resolvable(value)
    return asked(0) if isinstance(asked, type) else asked
