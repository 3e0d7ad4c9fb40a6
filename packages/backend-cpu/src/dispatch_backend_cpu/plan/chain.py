"""A chain: the calls that a group of nodes makes, and the values that it reads and stores."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dispatch_core.planning import Value

from ..ops.support.tape import Operation, Symbol
from .folds import FoldSpec
from .space import Space, make_space


@dataclass(frozen=True, slots=True)
class Chain:
    """The computation of a group of nodes."""

    operations: list[Operation]
    shape: tuple[int, ...]
    #: The arrays and numbers that are read, by index.
    inputs: dict[int, Value]
    #: The values that are stored, and the symbol of each at the end.
    stored: dict[Value, Symbol]
    #: The stored values whose arrays exist before the chain runs.
    targets: frozenset[Value]
    fold: FoldSpec | None

    def space(self) -> Space:
        """Return the space of the tiles."""
        arrays = [value for value in self.inputs.values() if value.number is None]
        stored = list(self.stored)
        if self.fold is not None and not stored:
            stored = [self.fold.value]
        space = make_space(self.shape, stored, arrays)
        by_rows = self.fold is not None and not self.fold.over_all
        return replace(space, is_flat=False) if by_rows else space
