"""Which nodes run together: neighbours in the record that compute values of one shape.

Note [A group waits]
    A group runs where its last node stands. A node that does not join it may come before it ends, if it neither reads
    results and targets of the group, nor writes to a value that the group touches; else the group ends there.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Final

import numpy as np

from dispatch_core import PlannedStep, Program
from dispatch_core.planning import Node, Value

from ..arrays import numpy_dtype
from ..ops.support.tape import Symbol, Tape
from .chain import Chain
from .folds import FoldSpec, match_fold
from .functions import make_function
from .lowering import lower

#: A longer chain is cut: its code would grow, and little more is saved.
_MOST: Final = 64


def plan(program: Program) -> Iterable[PlannedStep]:
    """Yield a step for each group of nodes that run together."""
    if not program.fuse:
        return
    readers = _list_readers(program)
    group: Group | None = None
    for index, node in enumerate(program.nodes):
        if group is not None and group.fold is None and len(group.nodes) < _MOST and group.add(index, node):
            continue
        fresh = Group(program, readers)
        joins = fresh.add(index, node)
        if group is not None and (joins or group.fold is not None or group.must_end_before(node)):
            yield from group.steps()
            group = None
        if joins:
            group = fresh
    if group is not None:
        yield from group.steps()


def _list_readers(program: Program) -> dict[Value, list[int]]:
    """Return the nodes that read each value, by index."""
    found: dict[Value, list[int]] = {}
    for index, node in enumerate(program.nodes):
        for value in node.inputs():
            found.setdefault(value, []).append(index)
    return found


class Group:
    """Nodes on one tape."""

    def __init__(self, program: Program, readers: dict[Value, list[int]]) -> None:
        self.program = program
        self._readers = readers
        self.tape = Tape()
        self.nodes: list[int] = []
        self.shape: tuple[int, ...] = ()
        self.fold: FoldSpec | None = None
        #: The symbol of each value at the end of the tape so far; also of inputs that are written to.
        self.now: dict[Value, Symbol] = {}
        self._read: list[Value] = []
        self._made: list[Value] = []
        self._written: list[Value] = []

    def add(self, index: int, node: Node) -> bool:
        """Take a node in, if it fits; if not, nothing has changed."""
        if not self._is_apart(node):
            return False
        if self.nodes and self._add_fold(index, node):
            return True
        target = node.written[0] if node.written else node.outputs[0] if len(node.outputs) == 1 else None
        if target is None or (self.nodes and target.shape != self.shape) or not prod(target.shape):
            return False
        if node.written and not _is_dense(target):
            return False
        before = len(self.tape.operations)
        found = lower(self.tape, node, self._symbol)
        if found is None:
            assert len(self.tape.operations) == before
            return False
        self.shape = target.shape
        self.nodes.append(index)
        self._read += node.inputs()
        (self._written if node.written else self._made).append(target)
        self.now[target] = found
        return True

    def _add_fold(self, index: int, node: Node) -> bool:
        fold = match_fold(node, self.now)
        if fold is None:
            return False
        self.fold = fold
        self.nodes.append(index)
        self._made.append(fold.result)
        return True

    def _symbol(self, value: Value) -> Symbol:
        known = self.now.get(value)
        if known is not None:
            return known
        if value.number is not None:
            dtype = np.dtype(value.number)
            return self.tape.read(value.index, dtype, is_scalar=True, weak=True)
        return self.tape.read(value.index, numpy_dtype(value.dtype), is_scalar=not value.shape)

    def _is_apart(self, node: Node) -> bool:
        """Return whether no two values of the group share memory of which one is written to."""
        written = {value.place: value for value in (*self._written, *node.written)}
        if not written:
            return True
        touched = (*self._read, *self._made, *self._written, *node.inputs())
        return all(value.number is not None or written.get(value.place, value) is value for value in touched)

    def must_end_before(self, node: Node) -> bool:
        """Return whether a node that stays outside must not run before the group; see Note [A group waits]."""
        changed = {value.place for value in (*self._made, *self._written)}
        touched = changed | {value.place for value in self._read}
        return any(value.number is None and value.place in changed for value in node.inputs()) or any(
            value.place in touched for value in node.written
        )

    def steps(self) -> Iterable[PlannedStep]:
        """Yield the group's step, if it is worth one."""
        if len(self.nodes) < 2:
            return
        inside = set(self.nodes)
        targets = frozenset(self._written).difference(self._made)
        made = [value for value in self._made if value in self.now]
        kept = [value for value in made if value.kept or not inside.issuperset(self._readers.get(value, ()))]
        stored = {value: self.now[value] for value in (*targets, *kept)}
        saved = sum(prod(value.shape) * value.dtype.itemsize for value in made if value not in stored)
        chain = Chain(self.tape.operations, self.shape, self._inputs(), stored, targets, self.fold)
        yield PlannedStep(tuple(self.nodes), make_function(chain), saved)

    def _inputs(self) -> dict[int, Value]:
        """Return the values that the tape reads, by index."""
        symbols = {each for operation in self.tape.operations for each in operation.inputs}
        return {each.source: self.program.values[each.source] for each in symbols if each.source is not None}


def _is_dense(value: Value) -> bool:
    """Return whether each element has a place of its own."""
    step = 1
    for stride, size in sorted((s, n) for s, n in zip(value.strides, value.shape, strict=True) if n > 1):
        if stride < step:
            return False
        step = stride * size
    return True
