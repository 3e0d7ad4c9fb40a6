"""What a node launches: the recipes of its functions, and where their tensors and numbers stand among the plan's values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dispatch_aten.shapes import TensorMeta
from dispatch_core.pipelines.program import Node, Value, filled

from ..aclnn.calls import Number, Recipe
from ..aclnn.launch import PlaceholderBlock, collect_launches
from ..aclnn.source import code_of
from ..aclnn.table import OPERATORS, PROTOTYPES
from ..arrays import AclArray
from ..kernels import BY_HAND, KERNELS
from ..placement import original

__all__ = ["Task", "Work", "read", "seen"]

_BY_HAND: Final = {name for names in BY_HAND.values() for name in names.split()}


class Task:
    """One launch of a function."""

    __slots__ = ("numbers", "recipe", "tensors")

    def __init__(self, recipe: Recipe, tensors: Sequence[int], numbers: Sequence[int]) -> None:
        self.recipe = recipe
        #: Indices of the values that are the function's tensors, in its order.
        self.tensors = tuple(tensors)
        self.numbers = tuple(numbers)


class Work:
    """One node: its tasks, in order, and the arrays that nobody else sees."""

    __slots__ = ("index", "node", "tasks", "temporaries")

    def __init__(self, index: int, node: Node, tasks: Sequence[Task], temporaries: Sequence[Value] = ()) -> None:
        self.index, self.node, self.tasks, self.temporaries = index, node, tuple(tasks), tuple(temporaries)

    def run_kernel(self, values: list[Any]) -> None:
        """Run the operator's kernel instead."""
        positional, keywords = self.node.split()
        found = self.node.kernel(
            *[filled(value, values) for value in positional],
            **{name: filled(value, values) for name, value in keywords.items()},
        )
        outputs = [value.index for value in self.node.outputs if value is not None]
        for index, array in zip(outputs, found if len(outputs) > 1 else (found,), strict=False):
            values[index] = array


def read(index: int, node: Node, begin: int) -> Work | None:
    """Read a node; None for one that has to run its kernel. Its temporaries get the indices from ``begin`` downwards."""
    name = node.name.removeprefix("aten::")
    if original(node.kernel) is not KERNELS.get(name) or None in node.outputs:
        return None
    # An operand in the memory that is written to is looked at by the kernel, which knows where it begins.
    written = [value.place for value in node.written]
    if sum(value.place in written for value in node.inputs() if value.number is None) > len(written):
        return None
    if name in OPERATORS:
        return _row(index, node, name)
    return _LaunchCollector(begin).read(index, node, KERNELS[name]) if name in _BY_HAND else None


def _row(index: int, node: Node, name: str) -> Work | None:
    """Read a row of the table."""
    code = code_of(name)
    outputs: list[Any] = list(node.outputs)
    scope = [seen(value) for value in (*node.arguments, *outputs)]
    found = [read(*scope) for read in code.values]
    numbers: list[int] = []
    for place, expression in enumerate(code.expressions):
        if isinstance(found[place], Value):
            if expression not in code.numbers:
                return None
            numbers.append(found[place].index)
            found[place] = Number(len(numbers) - 1, None)
    values = dict(zip((*code.arguments, *code.outs), (*node.arguments, *outputs), strict=True))
    tensors: list[int] = []
    for expression in code.tensors:
        value = values[expression.removeprefix("*")]
        tensors += [each.index for each in (value if type(value) is tuple else [value])]
    return Work(index, node, [Task(Recipe(code.function, found), tensors, numbers)])


class _UnknownError(Exception):
    """The launches of a kernel are not known before it runs."""


class _LateScalar(float):
    """A number that is different in each run: a kernel may pass it on, but neither compare it nor compute with it."""

    __slots__ = ("value",)

    value: Value

    def _refuse(self, *others: object) -> Any:
        raise _UnknownError

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __int__ = __float__ = __round__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = __abs__ = (
        _refuse
    )
    # The keys under which rules' answers are kept hold the class of such numbers, not their values.
    __hash__ = float.__hash__


class _LaunchCollector:
    """Collect the launches of a node's kernel, see Note [Collecting launches] in ``aclnn.launch``."""

    def __init__(self, begin: int) -> None:
        self._begin = begin
        self._arrays: dict[int, AclArray] = {}
        #: Placeholder of a block → the value that it is the block of.
        self._values: dict[PlaceholderBlock, Value] = {}
        self._temporaries: list[Value] = []

    def read(self, index: int, node: Node, kernel: Any) -> Work | None:
        positional, keywords = node.split()
        try:
            with collect_launches() as launches:
                found = kernel(
                    *[self._given(value) for value in positional],
                    **{name: self._given(value) for name, value in keywords.items()},
                )
            self._keep(node, found if isinstance(found, (list, tuple)) else [found])
            tasks = [self._task(function, values) for function, values in launches]
        except Exception:  # noqa: BLE001  # It runs by itself, and raises then what it has to raise.
            return None
        return Work(index, node, tasks, self._temporaries)

    def _given(self, value: Any) -> Any:
        """Give what the kernel sees of an argument."""
        if type(value) is tuple:
            return [self._given(item) for item in value]
        if not isinstance(value, Value):
            return value
        if value.number is not None:
            if value.number is not float:
                raise _UnknownError
            scalar = _LateScalar("nan")
            scalar.value = value
            return scalar
        array: Any = self._arrays.get(value.index)
        if array is None:
            array = self._arrays[value.index] = object.__new__(AclArray)
            array.block, array.spec, array.storage_offset = value, seen(value), 0
        return array

    def _keep(self, node: Node, results: Sequence[Any]) -> None:
        """Match the kernel's results with the node's."""
        made = [array for array in results if isinstance(array.block, PlaceholderBlock)]
        if [array.block for array in results if not isinstance(array.block, PlaceholderBlock)] != list(node.written):
            raise _UnknownError
        for array, value in zip(made, node.outputs, strict=True):
            assert value is not None
            if array.spec is not array.block.spec or array.spec != seen(value):
                raise _UnknownError
            self._values[array.block] = value

    def _task(self, function: str, values: Sequence[Any]) -> Task:
        arguments: list[Any] = []
        tensors: list[int] = []
        numbers: list[int] = []
        for kind, value in zip(PROTOTYPES[function], values, strict=True):
            argument = value
            if isinstance(value, AclArray):
                tensors.append(self._place(value))
                argument = value.spec
            elif kind.endswith("TensorList*"):
                tensors += map(self._place, value)
                argument = [each.spec for each in value]
            elif isinstance(value, _LateScalar):
                if kind != "const aclScalar*":
                    raise _UnknownError
                argument = Number(len(numbers), None)
                numbers.append(value.value.index)
            arguments.append(argument)
        return Task(Recipe(function, arguments), tensors, numbers)

    def _place(self, array: Any) -> int:
        """Give the index of the value that an array is, or shows from its beginning."""
        block = array.block
        if array.storage_offset:
            raise _UnknownError
        if isinstance(block, PlaceholderBlock):
            value = self._values.get(block)
            if value is None:
                spec = block.spec
                place = self._begin - len(self._temporaries)
                value = Value(place, None, spec.shape, spec.strides, spec.dtype, given=False, kept=False)
                self._temporaries.append(value)
                self._values[block] = value
            return value.index
        if not isinstance(block, Value):
            raise _UnknownError
        return block.index


def seen(value: Any) -> Any:
    """Give what a row's expressions see of an argument: descriptions of tensors, and what is given later as it is."""
    if isinstance(value, Value):
        return value if value.number is not None else TensorMeta(value.shape, value.strides, value.dtype)
    return [seen(item) for item in value] if type(value) is tuple else value
