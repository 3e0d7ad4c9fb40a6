"""The tasks of a program as a graph has them, see Note [Numbers of graphs] in `numbers`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import TensorMeta, broadcast_shapes, contiguous
from dispatch_core import Program
from dispatch_core.calls import define, make_function
from dispatch_core.planning import Node, Value

from ..aclnn.calls import CallTemplate, NotTakenError, ScalarParameter
from ..aclnn.table import PARAMETERS
from ..aclnn.tensor_forms import FORMS, FormCall
from ..kernels import KERNELS, PRIMS
from ..ops.dropout import MaskBlock
from .numbers import FLOATS, Draws, LateNumber, single
from .schedule import is_view
from .tasks import NodeTasks, Task, read_node

_NAMES: Final = {"FLOAT": ScalarType.Float, "single": single}
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_NUMBER: Final = re.compile(r"-?[\d.]+")


class _NoFormError(Exception):
    """A call has no form with tensors; the text says why."""


class _FormTensor:
    """A tensor of a call: the index of its value, and its description."""

    __slots__ = ("index", "spec")

    def __init__(self, index: int, spec: TensorMeta) -> None:
        self.index, self.spec = index, spec

    @property
    def dtype(self) -> ScalarType:
        """The scalar type, by which calls are refused."""
        return self.spec.dtype


def describe(node: Node) -> str:
    """Return a node's operator with the caller's line."""
    return f"{node.name} ({node.line})" if node.line else node.name


def find_obstacle(program: Program, planned: Sequence[NodeTasks]) -> str:
    """Return the call by which a program has no graph, whatever its numbers are, and why; ``""`` where it may have one."""
    for node in list_others(program, planned).values():
        name = node.name.removeprefix("aten::")
        if None in node.outputs or node.kernel is None or node.kernel not in (KERNELS.get(name), PRIMS.get(name[7:])):
            return f"{describe(node)} runs its own kernel"
    return ""


def list_others(program: Program, planned: Sequence[NodeTasks]) -> dict[int, Node]:
    """Return the nodes that are neither planned nor views, by their places; their kernels run where there is no graph."""
    known = {each.index for each in planned}
    nodes = enumerate(program.nodes)
    return {index: node for index, node in nodes if index not in known and not is_view(node)}


class GraphTasks:
    """All nodes of a program with their tasks in a graph, views among them; ``obstacle`` says why there are none.

    The numbers of ``live`` are in tensors; all others are what they are in ``values``.
    """

    def __init__(self, program: Program, values: Sequence[Any], live: frozenset[int]) -> None:
        self.live = live
        self.obstacle = ""
        self.numbers: list[LateNumber] = []
        self.draws: list[Draws] = []
        self.nodes: list[NodeTasks] = []
        #: Masks of dropout among the values, whose truth values are never made.
        self._masks: dict[int, MaskBlock] = {}
        self._last = -1
        self._types = {value.index: value.number for value in program.values if value.number is not None}
        for index, node in enumerate(program.nodes):
            self._add(index, replace(node, arguments=_settle(node.arguments, values, live)))
            if self.obstacle:
                return
        self._check_masks(program)

    def _add(self, index: int, node: Node) -> None:
        read = read_node(index, node, self._last - 1, self._masks)
        if read is None:
            if is_view(node):
                self.nodes.append(NodeTasks(index, node, ()))
            else:
                self.obstacle = f"{describe(node)} runs its own kernel"
            return
        self._last -= len(read.temporaries)
        temporaries = list(read.temporaries)
        tasks: list[Task] = []
        try:
            for task in read.tasks:
                tasks += self._to_tensors(task, temporaries) if task.numbers or task.draw is not None else [task]
        except (_NoFormError, NotTakenError) as error:
            self.obstacle = f"{describe(node)} {error}"
            return
        self.nodes.append(NodeTasks(index, node, tasks, temporaries))

    def _to_tensors(self, task: Task, temporaries: list[Value]) -> list[Task]:
        """Return the tasks in place of one with numbers that change."""
        function = task.template.function
        tensors = iter(task.tensors)
        given: dict[str, Any] = {}
        live: dict[str, int] = {}
        for name, (kind, value) in zip(PARAMETERS[function], task.template.arguments, strict=True):
            given[name] = value
            if isinstance(value, ScalarParameter):
                live[name] = value.index
            elif kind.endswith("aclTensor*") and value is not None:
                given[name] = _FormTensor(next(tensors), value[0])
            elif kind.endswith("List*"):
                raise _NoFormError("takes a number that may change")
        form = FORMS.get((function, frozenset(live)))
        if form is None:
            if task.draw is not None:
                raise _NoFormError(f"draws by {function}, which takes no seed in a tensor")
            raise _NoFormError(f"takes a number that may change, by {function}")
        dtype = ScalarType.Long
        if task.draw is not None:
            draws = self._find_draws(task.draw.generator)
            given |= {"seed": _of(draws.seed), "offset": _of(draws.offset), "drawn": draws.add(task.draw)}
        else:
            dtype = self._check_dtypes(given)
            maker = next((call for call in form.calls if "new" in call.arguments), None)
            if maker is not None:
                tensors_of = [each for each in given.values() if isinstance(each, _FormTensor)]
                used = [each for each in map(given.get, maker.arguments) if isinstance(each, _FormTensor)]
                shape = broadcast_shapes(*[each.spec.shape for each in used or tensors_of[:1]])
                given["new"] = self._make_temporary(contiguous(shape, tensors_of[0].dtype), temporaries)
        late = {name: task.numbers[index] for name, index in live.items() if index >= 0}
        return [
            self._to_call(call, given, late, dtype)
            for call in form.calls
            if not call.condition or call.condition in late or given[call.condition]
        ]

    def _check_dtypes(self, given: dict[str, Any]) -> ScalarType:
        """Return the dtype that a call computes in: that of all its tensors, but for truth values."""
        # Adam's step is a number by itself.
        tensors = [each for name, each in given.items() if isinstance(each, _FormTensor) and name != "step"]
        dtypes = {each.dtype for each in tensors} - {ScalarType.Bool}
        if len(dtypes) != 1 or not dtypes <= FLOATS:
            names = ", ".join(sorted(each.short for each in dtypes)) or "truth values"
            raise _NoFormError(f"takes a number that may change with tensors of {names}")
        return dtypes.pop()

    def _to_call(self, call: FormCall, given: dict[str, Any], late: dict[str, int], dtype: ScalarType) -> Task:
        values: list[Any] = []
        for text in call.arguments:
            if text in late or not (text in given or text in _NAMES or _NUMBER.fullmatch(text)):
                values.append(_of(self._find_number(text, given, late, dtype)))
            elif _NUMBER.fullmatch(text):
                values.append(float(text) if "." in text else int(text))
            else:
                values.append(given[text] if text in given else _NAMES[text])
        tensors = [each.index for each in values if isinstance(each, _FormTensor)]
        template = CallTemplate(
            call.function, [each.spec if isinstance(each, _FormTensor) else each for each in values]
        )
        return Task(template, tensors, ())

    def _find_number(self, text: str, given: dict[str, Any], late: dict[str, int], dtype: ScalarType) -> LateNumber:
        """Return the tensor of a number, or of an expression of numbers."""
        if any(self._types[index] not in (float, int) for index in late.values()):
            raise _NoFormError("takes a complex number that may change")
        if text in late:
            return self._keep_number(dtype, late[text], _reader(late[text]))
        names = [name for name in dict.fromkeys(_WORD.findall(text)) if name in given or name in late]
        compute = make_function(define(f"number({', '.join(names)})", [f"return {text}"]), text, dict(_NAMES))
        places = [(late.get(name), given[name]) for name in names]

        def read(values: list[Any]) -> Any:
            return compute(*[known if index is None else values[index] for index, known in places])

        return self._keep_number(dtype, None, read)

    def _keep_number(self, dtype: ScalarType, value: int | None, read: Callable[[list[Any]], Any]) -> LateNumber:
        """Return the tensor of a number, which calls of one dtype share."""
        key = (dtype, value)
        for number in self.numbers if value is not None else ():
            if (number.dtype, getattr(number.read, "value", None)) == key:
                return number
        self._last -= 1
        self.numbers.append(LateNumber(self._last, dtype, read))
        return self.numbers[-1]

    def _find_draws(self, generator: Any) -> Draws:
        for each in self.draws:
            if each.generator is generator:
                return each
        seed, offset = (self._keep_number(ScalarType.Long, None, lambda values: 0) for _ in range(2))
        self.draws.append(Draws(generator, seed, offset))
        return self.draws[-1]

    def _make_temporary(self, spec: TensorMeta, temporaries: list[Value]) -> _FormTensor:
        self._last -= 1
        temporaries.append(Value(self._last, None, spec.shape, spec.strides, spec.dtype, given=False, kept=False))
        return _FormTensor(self._last, spec)

    def _check_masks(self, program: Program) -> None:
        """Say where a mask of dropout is read by anything but the gradient."""
        for index in self._masks:
            maker = next(
                each for each in program.nodes if any(v is not None and v.index == index for v in each.outputs)
            )
            readers = [each for each in self.nodes if any(value.index == index for value in each.node.inputs())]
            uses_bits = all(each.tasks and all(index not in task.tensors for task in each.tasks) for each in readers)
            if program.values[index].kept or not uses_bits:
                self.obstacle = f"{describe(maker)} makes a mask that is read"
                return


def _settle(argument: Any, values: Sequence[Any], live: Collection[int]) -> Any:
    """Return an argument of a node, or a tuple of these, with the numbers that do not change in place of their values."""
    if type(argument) is tuple:
        return tuple([_settle(each, values, live) for each in argument])
    if isinstance(argument, Value) and argument.number is not None and argument.index not in live:
        return values[argument.index]
    return argument


def _of(number: LateNumber) -> _FormTensor:
    return _FormTensor(number.index, number.spec)


class _reader:  # noqa: N801  # a function that tells its value
    """Read the value of one index."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __call__(self, values: list[Any]) -> Any:
        return values[self.value]
