"""The nodes that are rows of the table: their recipes, and where their tensors and numbers stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatch_aten.shapes import TensorMeta
from dispatch_core.pipelines.program import Node, Value

from ..aclnn.calls import Number, Recipe
from ..aclnn.source import code_of
from ..aclnn.table import OPERATORS
from ..kernels import KERNELS

__all__ = ["Task", "read", "seen"]


class Task:
    """One node: its recipe, and where its tensors and numbers stand among the plan's values."""

    __slots__ = ("index", "node", "numbers", "recipe", "tensors")

    def __init__(
        self, index: int, node: Node, recipe: Recipe, tensors: Sequence[Value], numbers: Sequence[Value]
    ) -> None:
        self.index, self.node, self.recipe = index, node, recipe
        #: Indices of the values that are the function's tensors, in its order.
        self.tensors = tuple([value.index for value in tensors])
        self.numbers = tuple([value.index for value in numbers])

    def run_kernel(self, values: list[Any]) -> None:
        """Run the operator's kernel instead."""
        positional, keywords = self.node.split()
        found = self.node.kernel(
            *[_filled(value, values) for value in positional],
            **{name: _filled(value, values) for name, value in keywords.items()},
        )
        outputs = [value.index for value in self.node.outputs if value is not None]
        for index, array in zip(outputs, found if len(outputs) > 1 else (found,), strict=False):
            values[index] = array


def _filled(value: Any, values: list[Any]) -> Any:
    if isinstance(value, Value):
        return values[value.index]
    return [_filled(item, values) for item in value] if type(value) is tuple else value


def read(index: int, node: Node) -> Task | None:
    """Read a node; None for one that has to run its kernel."""
    name = node.name.removeprefix("aten::")
    if name not in OPERATORS or node.kernel is not KERNELS[name] or None in node.outputs:
        return None
    # An operand in the memory that is written to is looked at by the kernel, which knows where it begins.
    written = [value.place for value in node.written]
    if sum(value.place in written for value in node.inputs() if value.number is None) > len(written):
        return None
    code = code_of(name)
    outputs: list[Any] = list(node.outputs)
    scope = [seen(value) for value in (*node.arguments, *outputs)]
    found = [read(*scope) for read in code.values]
    numbers: list[Value] = []
    for place, expression in enumerate(code.expressions):
        if isinstance(found[place], Value):
            if expression not in code.numbers:
                return None
            numbers.append(found[place])
            found[place] = Number(len(numbers) - 1, None)
    values = dict(zip((*code.arguments, *code.outs), (*node.arguments, *outputs), strict=True))
    tensors: list[Value] = []
    for expression in code.tensors:
        value = values[expression.removeprefix("*")]
        tensors += value if type(value) is tuple else [value]
    return Task(index, node, Recipe(code.function, found), tensors, numbers)


def seen(value: Any) -> Any:
    """Give what a row's expressions see of an argument: descriptions of tensors, and what is given later as it is."""
    if isinstance(value, Value):
        return value if value.number is not None else TensorMeta(value.shape, value.strides, value.dtype)
    return [seen(item) for item in value] if type(value) is tuple else value
