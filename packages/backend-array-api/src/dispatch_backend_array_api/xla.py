"""Programs of a pipeline for XLA: all nodes that JAX can trace are compiled together, as one function.

Note [What falls out]
    A kernel that needs values, because it computes on the host or decides by an element, cannot be traced. When a program is
    planned every node is traced once on shapes alone. A node that fails is tried again with its numbers as constants: the
    program is compiled for each of their values then. One that fails still, and one that draws random numbers, runs its own
    kernel where it stands, and cuts the program in two there.

Note [Overlapping slices]
    Compiled for the CPU by JAX 0.10, ``x.at[1:].set(x[:-1])`` of an ``x`` that the program has computed reads elements that
    it has written already. So a slice is written by a choice between the old elements and the new ones.

Note [Numbers]
    Numbers are arguments of the compiled function: a new learning rate compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp

from dispatch_core.planning import Node, PlannedStep, Program, Value

from .library import ArrayLibrary

#: Numbers that stand for others of their type while a program is planned: none that a kernel treats in its own way.
_SAMPLES: Final[dict[type, Any]] = {float: 0.37, int: 3, complex: 0.37 + 0.61j}
_RANDOM: Final = "nondeterministic_seeded"


def make_planner(library: ArrayLibrary, around: Callable[..., Any]) -> Callable[[Program], list[PlannedStep]]:
    """Return the function that plans programs of a library of JAX's arrays; ``around`` wraps what calls JAX."""

    def plan(program: Program) -> list[PlannedStep]:
        if not program.fuse:
            return []
        refused, fixed = around(_try_out)(program, library)
        made = [Compiled(program, part, fixed) for part in _split(program, refused) if len(part) > 1]
        return [PlannedStep(each.nodes, around(each.run), each.saved) for each in made]

    return plan


def _split(program: Program, refused: set[int]) -> Iterator[tuple[int, ...]]:
    """Yield the nodes between those that are refused."""
    part: list[int] = []
    for index in range(len(program.nodes)):
        if index not in refused:
            part.append(index)
            continue
        if part:
            yield tuple(part)
        part = []
    if part:
        yield tuple(part)


def _try_out(program: Program, library: ArrayLibrary) -> tuple[set[int], set[int]]:
    """Return the nodes that cannot be traced, and the values that must be constants; see Note [What falls out]."""
    refused: set[int] = set()
    fixed: set[int] = set()

    def describe(value: Value) -> Any:
        return jax.ShapeDtypeStruct(value.shape, library.dtype(value.dtype))

    def trace(given: dict[int, Any]) -> None:
        values: list[Any] = [given.get(value.index) for value in program.values]
        for index, node in enumerate(program.nodes):
            if _RANDOM not in node.tags and _can_run(node, values, fixed):
                continue
            refused.add(index)
            for output in node.outputs:
                if output is not None:
                    values[output.index] = library.full(output.shape, 0, output.dtype)

    samples = {value.index: _SAMPLES[value.number] for value in program.values if value.number is not None}
    arrays = {value.index: describe(value) for value in program.values if value.given and value.number is None}
    jax.eval_shape(trace, samples | arrays)
    return refused, fixed


def _can_run(node: Node, values: list[Any], fixed: set[int]) -> bool:
    """Return whether a node can be traced, if need be with its numbers as constants."""
    if _runs(node, values):
        return True
    numbers = {value.index: _SAMPLES[value.number] for value in node.inputs() if value.number is not None}
    tried = [numbers.get(index, value) for index, value in enumerate(values)]
    if not numbers or not _runs(node, tried):
        return False
    values[:] = tried
    fixed.update(numbers)
    return True


def _runs(node: Node, values: list[Any]) -> bool:
    try:
        node.run(values)
    except Exception:  # noqa: BLE001  # whatever it is, the kernel raises it again when it runs on its own
        return False
    return True


class Compiled:
    """Nodes as one compiled function."""

    def __init__(self, program: Program, nodes: Sequence[int], fixed: set[int]) -> None:
        self.nodes = tuple(nodes)
        self._own = [program.nodes[index] for index in nodes]
        self._count = len(program.values)
        made = {value.index: value for node in self._own for value in node.outputs if value is not None}
        read = {value.index for node in self._own for value in node.inputs()}
        others = set(range(len(program.nodes))) - set(nodes)
        read_after = {value.index for index in others for value in program.nodes[index].inputs()}
        self._taken = sorted(read - set(made))
        self._kept = [value.index for value in made.values() if value.kept or value.index in read_after]
        #: Bytes of results that are never stored.
        self.saved = sum(_bytes(value) for value in made.values() if value.index not in self._kept)
        constants = [place for place, index in enumerate(self._taken) if index in fixed]
        self._function = jax.jit(self.trace, static_argnums=constants)

    def trace(self, *given: Any) -> list[Any]:
        """Run the nodes' kernels on what stands for the arrays, while JAX compiles them."""
        values: list[Any] = [None] * self._count
        for index, value in zip(self._taken, given, strict=True):
            values[index] = value
        for node in self._own:
            node.run(values)
        return [values[index] for index in self._kept]

    def run(self, values: list[Any]) -> None:
        """Run the function on the list of values."""
        for index, result in zip(self._kept, self._function(*[values[index] for index in self._taken]), strict=True):
            values[index] = result


def write_slice(array: Any, src: Any, dim: int, start: int, end: int, step: int) -> Any:
    """Return ``array`` with the elements of ``src`` in a slice; see Note [Overlapping slices]."""
    count = src.shape[dim]
    if not count:
        return array
    around = [(0, 0, 0)] * array.ndim
    around[dim] = start, array.shape[dim] - start - (count - 1) * step - 1, step - 1
    place = jax.lax.broadcasted_iota(jnp.int32, array.shape, dim) - start
    is_inside = (place >= 0) & (place < end - start) & (place % step == 0)
    return jnp.where(is_inside, jax.lax.pad(src, jnp.zeros((), src.dtype), around), array)


def _bytes(value: Value) -> int:
    count = value.dtype.itemsize
    for size in value.shape:
        count *= size
    return int(count)
