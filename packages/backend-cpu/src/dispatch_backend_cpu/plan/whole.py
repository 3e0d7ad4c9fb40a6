"""The source of a chain that is computed whole, one ufunc after the other."""

from __future__ import annotations

import numpy as np

from dispatch_core.planning import Value

from ..arrays import numpy_dtype
from .writer import ChainWriter


class WholeWriter(ChainWriter):
    """Writes all of an operation before the next."""

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
                else:
                    self.lines.append(f"{out} = {self.expression(operation)}")
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

    def _laid_out(self, name: str, value: Value) -> str:
        """Return the source of an array in the layout of a value, which it mostly has."""
        steps = tuple(stride * numpy_dtype(value.dtype).itemsize for stride in value.strides)
        return f"{name} if {name}.strides == {steps} else {self.conform(value)}({name})"
