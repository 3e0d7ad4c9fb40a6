"""The source of a chain that is computed whole, one ufunc after the other.

Note [Results in operands]
    A ufunc writes its result to an operand that the function has made itself and that nothing reads afterwards: NumPy need
    not find memory for it, a fifth of the time of some thousand elements. Of one element NumPy takes twice as long so.
"""

from __future__ import annotations

import numpy as np

from dispatch_core.planning import Value

from ..arrays import numpy_dtype
from ..ops.support.tape import Operation, Symbol
from .chain import Chain
from .space import Space
from .writer import ChainWriter


class WholeWriter(ChainWriter):
    """Writes all of an operation before the next."""

    def __init__(self, chain: Chain, space: Space) -> None:
        super().__init__(chain, space)
        #: The symbols whose values have the chain's shape, in arrays that the function has made for them alone.
        self._own: set[Symbol] = set()

    def write(self) -> None:
        """Write the lines of the function."""
        chain = self.chain
        targets = {symbol: value for value, symbol in chain.stored.items() if value in chain.targets}
        free: list[str] = []
        for place, operation in enumerate(chain.operations):
            done = [each for each in dict.fromkeys(operation.inputs) if self.last[each] == place and each in self.names]
            reusable = [self.names[each] for each in done if self.names[each].startswith("t")]
            if operation.out not in self.last:
                continue
            if operation.out in targets and not (operation.kind == "where" and chain.shape):
                out = f"v[{targets[operation.out].index}]"
                self.lines += self.into(operation, out)
            elif operation.out in targets:
                out = f"v[{targets[operation.out].index}]"
                self.lines.append(f"{self.constant(np.copyto)}({out}, {self.expression(operation)})")
            else:
                out = (reusable or free or [f"t{len(self.lines)}"])[-1]
                if operation.out.is_scalar:
                    out = f"s{len(self.lines)}"
                    self.scalar(operation, out)
                elif (own := self._find_own(operation, done)) is not None:
                    out = self.names[own]
                    self.lines += self.into(operation, out)
                else:
                    self.lines.append(f"{out} = {self.expression(operation)}")
                if operation.kind == "choose":  # which is one of its operands
                    self._own.difference_update(operation.inputs)
                elif any(map(self._is_whole, operation.inputs)):
                    self._own.add(operation.out)
            free = [each for each in (*free, *reusable) if each != out]
            self.names[operation.out] = out
        for value, symbol in chain.stored.items():
            if value in chain.targets:
                continue
            name = self.name(symbol)
            if value.shape and not symbol.is_scalar:
                self.lines.append(f"v[{value.index}] = {self._laid_out(name, value)}")
            elif symbol.is_scalar and symbol.source is None:
                self.lines.append(f"v[{value.index}] = {self.conform(value)}({name}.copy())")
            else:
                self.lines.append(f"v[{value.index}] = {self.conform(value)}({name})")
        if chain.fold is not None:
            # In the layout that the kernel would see.
            self.fold(chain.fold, self._laid_out(self.name(chain.fold.symbol), chain.fold.value))
            self.store_fold(chain.fold)

    def _is_whole(self, symbol: Symbol) -> bool:
        """Return whether a symbol's value has the chain's shape."""
        given = None if symbol.source is None else self.chain.inputs[symbol.source]
        return symbol in self._own or (given is not None and given.shape == self.chain.shape)

    def _find_own(self, operation: Operation, done: list[Symbol]) -> Symbol | None:
        """Return the operand that an operation's result may take the memory of; see Note [Results in operands]."""
        if operation.kind != "ufunc" or not self.space.is_row or self.space.size == 1:
            return None
        return next((each for each in done if each in self._own and each.dtype == operation.out.dtype), None)

    def _laid_out(self, name: str, value: Value) -> str:
        """Return the source of an array in the layout of a value, which it mostly has."""
        steps = tuple(stride * numpy_dtype(value.dtype).itemsize for stride in value.strides)
        return f"{name} if {name}.strides == {steps} else {self.conform(value)}({name})"
