"""The launches of a node: templates of its calls, and the indices of their tensors and numbers among the plan's values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dispatch_aten.shapes import TensorMeta
from dispatch_core.planning import Node, Value, filled

from ..aclnn.calls import CallTemplate, NotTakenError, ScalarParameter
from ..aclnn.launch import LateDraw, PlaceholderBlock, collect_launches
from ..aclnn.row_kernels import operator_row
from ..aclnn.table import OPERATORS, PROTOTYPES
from ..arrays import AclArray, array_in
from ..kernels import BY_HAND, KERNELS, PRIMS
from ..ops.dropout import MaskBlock

_BY_HAND: Final = {name for names in BY_HAND.values() for name in names.split()}


class Task:
    """One launch of a function."""

    __slots__ = ("draw", "numbers", "template", "tensors")

    def __init__(
        self, template: CallTemplate, tensors: Sequence[int], numbers: Sequence[int], draw: LateDraw | None = None
    ) -> None:
        self.template = template
        #: What it draws, where that is taken by each run.
        self.draw = draw
        #: Indices of the values that are the function's tensors, in its order.
        self.tensors = tuple(tensors)
        self.numbers = tuple(numbers)


class NodeTasks:
    """One node: its tasks, in order, and its temporary arrays."""

    __slots__ = ("index", "node", "tasks", "temporaries")

    def __init__(self, index: int, node: Node, tasks: Sequence[Task], temporaries: Sequence[Value] = ()) -> None:
        self.index, self.node, self.tasks, self.temporaries = index, node, tuple(tasks), tuple(temporaries)

    def run_kernel(self, values: list[Any]) -> None:
        """Run the operator's kernel instead of the tasks."""
        positional, keywords = self.node.split()
        found = self.node.kernel(
            *[filled(value, values) for value in positional],
            **{name: filled(value, values) for name, value in keywords.items()},
        )
        # A list may have one array, or none.
        arrays = found if isinstance(found, (list, tuple)) else (found,)
        for value, array in zip(self.node.outputs, arrays, strict=False):
            if value is not None:
                values[value.index] = array


def read_node(index: int, node: Node, begin: int, masks: dict[int, MaskBlock] | None = None) -> NodeTasks | None:
    """Return the tasks of a node, None where its kernel has to run.

    Its temporaries get the indices from ``begin`` downwards. With ``masks``, the masks of dropout among the values, which
    it extends, tasks may draw random numbers.
    """
    name = node.name.removeprefix("aten::")
    prims = PRIMS.get(name.removeprefix("prims::")) if name.startswith("prims::") else None
    if prims is not None and node.kernel is prims:
        return _LaunchCollector(begin, masks).read(index, node, prims)
    if node.kernel is not KERNELS.get(name) or None in node.outputs:
        return None
    # Only the kernel, which knows the offsets, can compare an operand with the memory that it writes to.
    written = [value.place for value in node.written]
    if sum(value.place in written for value in node.inputs() if value.number is None) > len(written):
        return None
    if name in OPERATORS:
        return _read_row(index, node, name)
    return _LaunchCollector(begin, masks).read(index, node, KERNELS[name]) if name in _BY_HAND else None


def _read_row(index: int, node: Node, name: str) -> NodeTasks | None:
    """Return the task of a row of the table."""
    row = operator_row(name)
    outputs: list[Any] = list(node.outputs)
    scope = [to_spec(value) for value in (*node.arguments, *outputs)]
    try:
        if row.is_taken is not None and not row.is_taken(*scope[: len(node.arguments)]):
            return None
        found = list(row.evaluate(*scope))
    except TypeError:  # they compute with a number that is not known yet
        return None
    numbers: list[int] = []
    for position, expression in enumerate(row.expressions):
        if isinstance(found[position], Value):
            if expression not in row.late:
                return None
            numbers.append(found[position].index)
            found[position] = ScalarParameter(len(numbers) - 1, None)
    tensors = [value.index for value in row.list_tensors(*node.arguments, *outputs)]
    try:
        template = CallTemplate(row.function, found)
    except NotTakenError:
        return None
    return NodeTasks(index, node, [Task(template, tensors, numbers)])


class _UnknownLaunchError(Exception):
    """The launches of a kernel are not known before it runs."""


class _LateScalar(float):
    """A number that is different in each run: a kernel may pass it on, but neither compare it nor compute with it."""

    __slots__ = ("value",)

    value: Value

    def _refuse(self, *others: object) -> Any:
        raise _UnknownLaunchError

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __int__ = __float__ = __round__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = __abs__ = (
        _refuse
    )
    # The keys under which rules' answers are kept hold the class of such numbers, not their values.
    __hash__ = float.__hash__


class _LaunchCollector:
    """Collect the launches of a node's kernel, see Note [Collecting launches] in ``aclnn.launch``."""

    def __init__(self, begin: int, masks: dict[int, MaskBlock] | None) -> None:
        self._begin = begin
        self._takes_draws = masks is not None
        self._masks = {} if masks is None else masks
        self._arrays: dict[int, AclArray] = {}
        #: Placeholder of a block → the value whose block it is.
        self._values: dict[PlaceholderBlock, Value] = {}
        self._temporaries: list[Value] = []

    def read(self, index: int, node: Node, kernel: Any) -> NodeTasks | None:
        positional, keywords = node.split()
        try:
            results = [to_spec(each) for each in node.outputs if each is not None]
            with collect_launches(results, takes_draws=self._takes_draws) as launches:
                found = kernel(
                    *[self._to_argument(value) for value in positional],
                    **{name: self._to_argument(value) for name, value in keywords.items()},
                )
            if found is not None:
                self._match_results(node, found if isinstance(found, (list, tuple)) else [found])
            tasks = [self._to_task(function, values) for function, values in launches]
            self._keep_masks()
        except Exception:  # noqa: BLE001  # the kernel runs by itself, and raises its own errors then
            return None
        return NodeTasks(index, node, tasks, self._temporaries)

    def _to_argument(self, value: Any) -> Any:
        """Return an argument as the kernel gets it."""
        if type(value) is tuple:
            return [self._to_argument(item) for item in value]
        if not isinstance(value, Value):
            return value
        if value.number is not None:
            if value.number is not float:
                raise _UnknownLaunchError
            scalar = _LateScalar("nan")
            scalar.value = value
            return scalar
        array: Any = self._arrays.get(value.index)
        if array is None:
            block = self._masks.get(value.index, value)
            array = self._arrays[value.index] = array_in(block, to_spec(value))
        return array

    def _match_results(self, node: Node, results: Sequence[Any]) -> None:
        """Match the kernel's results with the node's."""
        kinds = (PlaceholderBlock, MaskBlock)
        fresh = [array for array in results if isinstance(array.block, kinds)]
        if [array.block for array in results if not isinstance(array.block, kinds)] != list(node.written):
            raise _UnknownLaunchError
        for array, value in zip(fresh, node.outputs, strict=True):
            assert value is not None
            if array.spec != to_spec(value):
                raise _UnknownLaunchError
            if isinstance(array.block, MaskBlock):
                self._masks[value.index] = array.block
            elif array.spec is not array.block.spec:
                raise _UnknownLaunchError
            else:
                self._values[array.block] = value

    def _keep_masks(self) -> None:
        """Give the masks that the node has made bits that later nodes find."""
        for index, mask in self._masks.items():
            for bits in mask.held or ():
                block: Any = bits.block
                if isinstance(block, PlaceholderBlock):
                    kept = next(each for each in self._temporaries if each.index == self._index_of(bits))
                    self._masks[index] = MaskBlock(mask.spec, array_in(kept, bits.spec), mask.p)

    def _to_task(self, function: str, values: Sequence[Any]) -> Task:
        arguments: list[Any] = []
        tensors: list[int] = []
        numbers: list[int] = []
        draw: LateDraw | None = None
        for kind, value in zip(PROTOTYPES[function], values, strict=True):
            argument = value
            if isinstance(value, LateDraw):
                draw, argument = value, ScalarParameter(-1, None)
            elif isinstance(value, AclArray):
                tensors.append(self._index_of(value))
                argument = value.spec
            elif kind.endswith("TensorList*"):
                tensors += map(self._index_of, value)
                argument = [each.spec for each in value]
            elif isinstance(value, _LateScalar):
                if kind not in ("const aclScalar*", "float", "double"):
                    raise _UnknownLaunchError
                argument = ScalarParameter(len(numbers), None)
                numbers.append(value.value.index)
            arguments.append(argument)
        return Task(CallTemplate(function, arguments), tensors, numbers, draw)

    def _index_of(self, array: Any) -> int:
        """Return the index of the value that an array is, or shows from its beginning."""
        block = array.block
        if array.storage_offset:
            raise _UnknownLaunchError
        if isinstance(block, PlaceholderBlock):
            value = self._values.get(block)
            if value is None:
                spec = block.spec
                index = self._begin - len(self._temporaries)
                value = Value(index, None, spec.shape, spec.strides, spec.dtype, given=False, kept=False)
                self._temporaries.append(value)
                self._values[block] = value
            return value.index
        if not isinstance(block, Value):
            raise _UnknownLaunchError
        return block.index


def to_spec(value: Any) -> Any:
    """Return an argument as the expressions of a row get it: arrays by their descriptions, late numbers as they are."""
    if isinstance(value, Value):
        return value if value.number is not None else TensorMeta(value.shape, value.strides, value.dtype)
    return [to_spec(item) for item in value] if type(value) is tuple else value
