"""The common part of the writers of a chain's source.

Note [Numbers are kept]
    The result of a call on numbers alone is kept from run to run: mostly the numbers are the same as in the last run. Of an
    array without dimensions, given or computed, nothing is kept, because it may be written to, and of a target it is the
    same object in each run; and kept values are stored as copies. Complex numbers are equal whatever the signs of their
    zeros, so they have to be the same objects.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, cast

import numpy as np

from dispatch_aten.shapes import TensorMeta, contiguous_strides
from dispatch_core.calls import define, make_function
from dispatch_core.planning import Value

from .. import memory
from ..arrays import Array, check_writable, empty_strided, numpy_dtype
from ..fp_errors import quietly
from ..ops.support.fast_paths import INTO
from ..ops.support.tape import Operation, Symbol
from ..output_specs import OutputSpec, conform
from .chain import Chain
from .folds import FoldSpec
from .space import Space


class ChainWriter:
    """Writes the source of the function that runs a chain."""

    def __init__(self, chain: Chain, space: Space) -> None:
        self.chain, self.space = chain, space
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {}
        self.names: dict[Symbol, str] = {}
        self._numbers: list[Any] = []
        #: The results that are kept; see Note [Numbers are kept].
        self._kept: set[Symbol] = set()
        #: The place of the last operation that reads a symbol; beyond all operations for those that are stored.
        self.last: dict[Symbol, int] = {}
        for place, operation in enumerate(chain.operations):
            for each in operation.inputs:
                self.last[each] = place
        for symbol in (*chain.stored.values(), *([chain.fold.symbol] if chain.fold else ())):
            self.last[symbol] = len(chain.operations)

    def compile(self) -> Callable[[list[Any]], None]:
        """Write the source and return its function."""
        for value in self.chain.targets:
            # Before anything is written to.
            self.lines.append(f"{self.constant(check_writable)}(v[{value.index}])")
        self.write()
        self.scope["numbers"] = self._numbers
        run: Callable[[list[Any]], None] = make_function(define("run(v)", self.lines), "planned chain", self.scope)
        return run

    def write(self) -> None:
        """Write the lines of the function."""
        raise NotImplementedError

    def constant(self, value: Any) -> str:
        """Return the name of an object that the function uses."""
        name = getattr(value, "__name__", "") if isinstance(value, np.ufunc) or callable(value) else ""
        name = name if name.isidentifier() and self.scope.get(name, value) is value else f"k{len(self.scope)}"
        self.scope[name] = value
        return name

    def name(self, symbol: Symbol) -> str:
        """Return the name of a symbol's value."""
        known = self.names.get(symbol)
        if known is None:
            if symbol.constant is not None:
                known = self.constant(symbol.constant)
            else:
                assert symbol.source is not None
                known = f"v[{symbol.source}]"
            self.names[symbol] = known
        return known

    def write_scalars(self) -> None:
        """Write the operations whose operands have no dimensions, before all others."""
        for place, operation in enumerate(self.chain.operations):
            if operation.out.is_scalar and operation.out in self.last:
                self.names[operation.out] = f"s{place}"
                self.scalar(operation, f"s{place}")

    def scalar(self, operation: Operation, name: str) -> None:
        """Write an operation whose operands have no dimensions; see Note [Numbers are kept]."""
        inputs = [self.name(each) for each in operation.inputs]
        if not all(map(self._is_number, operation.inputs)):
            function = self.constant(function_of(operation))
            self.lines.append(f"{name} = {self.constant(np.asarray)}({function}({', '.join(inputs)}))")
            return
        self._kept.add(operation.out)
        place = len(self._numbers)
        self._numbers.append(((None,) * len(operation.inputs), None))
        compute = self.constant(partial(_compute_if_new, self._numbers, place, function_of(operation)))
        same = " and ".join(
            f"c[{index}] is {each}"
            if symbol.dtype.kind == "c"
            else f"(c[{index}] is {each} or c[{index}] == {each} != 0)"
            for index, (each, symbol) in enumerate(zip(inputs, operation.inputs, strict=True))
        )
        self.lines.append(f"c, {name} = numbers[{place}]")
        self.lines.append(f"if not ({same}): {name} = {compute}({', '.join(inputs)})")

    def _is_number(self, symbol: Symbol) -> bool:
        """Return whether a symbol is a number that no write changes; see Note [Numbers are kept]."""
        return symbol in self._kept or symbol.constant is not None or (symbol.source is not None and symbol.weak)

    def expression(self, operation: Operation) -> str:
        """Return the source of an operation that makes an array of its own."""
        names = [self.name(each) for each in operation.inputs]
        if operation.kind == "ufunc":
            return f"{self.constant(operation.fn)}({', '.join(names)})"
        if operation.kind == "where":
            return f"{self.constant(np.where)}({', '.join(names)})"
        if operation.kind == "choose":
            return f"({names[1]} if {names[0]} else {names[2]})"
        if operation.kind == "cast":
            array = f"{self.constant(np.asarray)}({names[0]})" if operation.inputs[0].is_scalar else names[0]
            return f"{array}.astype({self.constant(operation.out.dtype)})"
        return f"{names[0]}.copy()"

    def into(self, operation: Operation, out: str) -> list[str]:
        """Return the source of an operation that writes its result to ``out``."""
        names = [self.name(each) for each in operation.inputs]
        copy = self.constant(np.copyto)
        if operation.kind == "ufunc":
            function = INTO.get(operation.fn, operation.fn)
            # By position in less time, which NumPy takes for a mistake where folds are meant.
            by_position = function is operation.fn and function not in (np.maximum, np.minimum)
            return [f"{self.constant(function)}({', '.join(names)}, {'' if by_position else 'out='}{out})"]
        if operation.kind == "where":
            return [f"{copy}({out}, {names[2]})", f"{copy}({out}, {names[1]}, where={names[0]})"]
        if operation.kind == "choose":
            return [f"{copy}({out}, {names[1]} if {names[0]} else {names[2]})"]
        return [f'{copy}({out}, {names[0]}, casting="unsafe")']

    def reshape(self, source: str) -> str:
        """Return the source of an array in the order and shape of the space."""
        if not self.space.is_in_order:
            source = f"{source}.transpose({self.space.order})"
        return f"{source}.reshape(-1)" if self.space.is_flat and len(self.space.shape) != 1 else source

    def empty(self, value: Value) -> str:
        """Return the source of a new array for a value."""
        dtype = numpy_dtype(value.dtype)
        size = prod(value.shape)
        if value.strides == contiguous_strides(value.shape):
            # As `empty_strided` makes it.
            if size * dtype.itemsize < memory.SMALL:
                return f"{self.constant(np.empty)}({value.shape}, {self.constant(dtype)})"
            if len(value.shape) == 1:
                return f"{self.constant(memory.empty)}({size}, {self.constant(dtype)})"
        return f"{self.constant(partial(empty_strided, value.shape, value.strides, dtype))}()"

    def conform(self, value: Value) -> str:
        """Return the name of the function that gives an array the layout of a value."""
        spec = OutputSpec(TensorMeta(value.shape, value.strides, value.dtype))
        return self.constant(partial(conform, spec=spec))

    def fold(self, fold: FoldSpec, source: str) -> None:
        """Write a fold of the array ``source``, all at once."""
        axis = None if fold.over_all else len(fold.value.shape) - 1
        self.lines.append(f"r = {self.constant(fold.fold)}({source}, {axis})")

    def store_fold(self, fold: FoldSpec) -> None:
        """Write the end of a fold, whose sum is ``r``."""
        if fold.divisor is not None:
            self.lines.append(f"r = r / {self.constant(fold.divisor)}")
        self.lines.append(f"v[{fold.result.index}] = {self.conform(fold.result)}(r)")


def function_of(operation: Operation) -> Callable[..., Any]:
    """Return the function that computes an operation whose operands have no dimensions."""
    if operation.kind == "ufunc":
        return cast("Callable[..., Any]", operation.fn)
    if operation.kind in ("where", "choose"):
        return np.where
    dtype = operation.out.dtype
    return lambda number: np.asarray(number).astype(dtype)


def _compute_if_new(numbers: list[Any], place: int, compute: Callable[..., Any], *inputs: Any) -> Array:
    """Compute a number, unless its inputs are those of the last run."""
    before, result = numbers[place]
    for a, b in zip(before, inputs, strict=True):
        # A float may be another object; zeros are told apart by their signs.
        if a is not b and not (type(a) is type(b) is float and a == b != 0):
            result = np.asarray(quietly(compute, *inputs))  # compiled functions are not run so as a whole
            break
    numbers[place] = inputs, result
    return result
