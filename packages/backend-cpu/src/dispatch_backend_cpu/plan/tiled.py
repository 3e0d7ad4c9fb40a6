"""The source of a chain that is computed tile by tile, in buffers that stay in the cache."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dispatch_aten.shapes import contiguous_strides

from ..arrays import empty_strided, numpy_dtype
from ..ops.support.tape import Symbol
from .buffers import return_buffers, take_buffers
from .chain import Chain
from .folds import LONGEST_ROW, FoldSpec, Tree, add_up, halve, leaves
from .space import TILE, Space, Tile
from .writer import ChainWriter


class TiledWriter(ChainWriter):
    """Writes a loop over tiles, which are computed in buffers."""

    def __init__(self, chain: Chain, space: Space) -> None:
        super().__init__(chain, space)
        self._body: list[str] = []
        self._buffers: list[Any] = []

    def write(self) -> None:
        """Write the lines of the function."""
        lines, fold = self.lines, self.chain.fold
        by_halves = fold is not None and fold.over_all and self.space.is_row and self.space.size <= LONGEST_ROW
        tree = halve(0, self.space.size, TILE)
        tiles = _tiles_of(tree) if by_halves else self.space.tiles(TILE)
        whole_rows = all(len(shape) > 1 for _, shape, _ in tiles) and self.space.is_in_order and not self.space.is_flat
        fused = fold is not None and (by_halves or (not fold.over_all and whole_rows))
        sliced = self._write_inputs()
        self.write_scalars()
        outs = self._write_outputs(fold if fold is not None and not fused else None)
        self._write_body(outs)
        if fused and fold is not None:
            self._write_partial_fold(fold)
        most = max(size for _, _, size in tiles)
        lines.append(f"buffers, b = {self.constant(partial(take_buffers, self._buffers, most))}()")
        lines.append("now = None")
        if by_halves:
            lines.append("sums = []")
        lines.append(f"for i, shape, size in {self.constant(tiles)}:")
        lines.append("    if shape is not now:")
        lines.append("        now = shape")
        for number in range(len(self._buffers)):
            lines.append(f"        t{number} = b[{number}][:size].reshape(shape)")
        lines += [f"    x{name} = {name}[i]" for name in (*sliced, *outs.values())]
        lines += ["    " + line for line in self._body]
        lines.append(f"{self.constant(return_buffers)}(buffers)")
        for value in self.chain.stored:
            if value not in self.chain.targets:
                lines.append(f"v[{value.index}] = o{value.index}")
        if fold is not None:
            if not fused:
                self.fold(fold, f"{'v[%d]' if fold.value in self.chain.targets else 'o%d'}" % fold.value.index)
            elif fold.over_all:
                lines.append(f"r = {self.constant(add_up)}({self.constant(tree)}, sums[::-1])")
            self.store_fold(fold)

    def _write_inputs(self) -> list[str]:
        """Bring the arrays that are read into the shape of the space, and return the names of those that have tiles."""
        sliced = []
        for symbol in dict.fromkeys(each for operation in self.chain.operations for each in operation.inputs):
            value = None if symbol.source is None else self.chain.inputs[symbol.source]
            if value is None:
                continue
            name, source = f"a{value.index}", f"v[{value.index}]"
            if value.number is not None or not value.shape:
                self.names[symbol] = source
            elif value.shape != self.space.shape and all(size == 1 for size in value.shape):
                self.lines.append(f"{name} = {source}.reshape(())")
                self.names[symbol] = name
            else:
                if value.shape != self.space.shape:
                    source = f"{self.constant(np.broadcast_to)}({source}, {self.space.shape})"
                self.lines.append(f"{name} = {self.reshape(source)}")
                self.names[symbol] = f"x{name}"
                sliced.append(name)
        return sliced

    def _write_outputs(self, fold: FoldSpec | None) -> dict[Symbol, str]:
        """Make the arrays that are stored; a value that is reduced after the loop has to be stored as well."""
        outs: dict[Symbol, str] = {}
        stored = dict(self.chain.stored)
        if fold is not None:
            stored.setdefault(fold.value, fold.symbol)
        for value, symbol in stored.items():
            source = f"v[{value.index}]"
            if value not in self.chain.targets:
                source = f"o{value.index}"
                self.lines.append(f"{source} = {self.empty(value)}")
            self.lines.append(f"y{value.index} = {self.reshape(source)}")
            outs[symbol] = f"y{value.index}"
        return outs

    def _write_body(self, outs: dict[Symbol, str]) -> None:
        """Write the operations on one tile."""
        targets = {f"y{value.index}" for value in self.chain.targets}
        free: dict[Any, list[int]] = {}
        held: dict[Symbol, int] = {}
        for place, operation in enumerate(self.chain.operations):
            out = operation.out
            if out.is_scalar or out not in self.last:
                continue
            stored = f"x{outs[out]}" if out in outs else ""
            # A choice is written in two steps, and its inputs must still be there at the second.
            if stored and not (operation.kind == "where" and outs[out] in targets):
                name = stored
            else:
                # Another buffer than the operands': NumPy is slower where it writes to its inputs.
                unused = free.setdefault(out.dtype, [])
                if not unused:
                    unused.append(len(self._buffers))
                    self._buffers.append(out.dtype)
                held[out] = unused.pop()
                name = f"t{held[out]}"
            self._body += self.into(operation, name)
            if stored and name != stored:
                self._body.append(f"{self.constant(np.copyto)}({stored}, {name})")
                free[out.dtype].append(held.pop(out))
            self.names[out] = stored or name
            for each in dict.fromkeys(operation.inputs):
                if self.last[each] == place and each in held:
                    free[each.dtype].append(held.pop(each))

    def _write_partial_fold(self, fold: FoldSpec) -> None:
        """Write the fold of one tile, into ``sums`` or the rows of ``r``."""
        name = self.name(fold.symbol)
        reduce = self.constant(fold.fold)
        if fold.over_all:
            self._body.append(f"sums.append({reduce}({name}))")
            return
        shape = fold.value.shape[:-1]
        make = partial(empty_strided, shape, contiguous_strides(shape), numpy_dtype(fold.result.dtype))
        self.lines.append(f"r = {self.constant(make)}()")
        self._body.append(f"{reduce}({name}, -1, None, r[i])")


def _tiles_of(tree: Tree) -> list[Tile]:
    return [(slice(start, stop), (stop - start,), stop - start) for start, stop in leaves(tree)]
