"""Plans for what a pipeline has recorded: everything is prepared first, then executed in order, then waited for once.

Note [Three stages]
    When the first of a plan's steps runs, the plan gets the memory of all results and, where they are not there yet, does
    the first phase of every operator that is a row of the table; the largest need decides how large the workspace is that
    all of them share. Then each step does its second phase, on one stream, and the last one waits for that stream. An
    operator in between that is no row runs its own kernel in its place.

Note [Executors are repeated]
    An executor is made repeatable, and serves the next run of the plan: it is told where the arrays lie then, where that
    is not where they lay before. Results that nobody keeps lie in one block of memory, an arena, in which what is no longer
    needed makes room; as a rule the next run gets the same block, and nothing has to be told. A first phase is done again
    for a number that has changed, for a view that begins elsewhere, and for what the toolkit cannot repeat.

Note [Steps fail by themselves]
    Each step covers one node, so that an error belongs to its operator, and what comes after it can still run. A failure
    of a first phase is kept until its own step's turn. Each run has a `_State` of its own, at the end of the list of values;
    one that does not come to its end is not used again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from dispatch_aten.shapes import TensorMeta
from dispatch_core import PlannedStep, Program
from dispatch_core.pipelines.program import Node, Value

from .acl import library
from .aclnn import calls
from .aclnn.calls import Number, Recipe
from .aclnn.descriptors import Descriptors
from .aclnn.source import code_of
from .aclnn.table import OPERATORS
from .arrays import AclArray, extent
from .kernels import KERNELS
from .runtime import allocator
from .runtime.stream import current

__all__ = ["plan"]

#: Where arrays begin in an arena; the toolkit asks for 32 bytes.
_ALIGNMENT: Final = 512
_new: Final = object.__new__
_Run: TypeAlias = Callable[[list[Any]], None]


def plan(program: Program) -> Iterable[PlannedStep]:
    """Give a step for each node that is a row of the table."""
    if not program.fuse:
        return []
    tasks = [task for index, node in enumerate(program.nodes) if (task := _task(index, node)) is not None]
    return _Schedule(program, tasks).steps() if tasks else []


class _Task:
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


def _task(index: int, node: Node) -> _Task | None:
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
    scope = [_seen(value) for value in (*node.arguments, *outputs)]
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
    return _Task(index, node, Recipe(code.function, found), tensors, numbers)


def _seen(value: Any) -> Any:
    """Give what a row's expressions see of an argument: descriptions of tensors, and what is given later as it is."""
    if isinstance(value, Value):
        return value if value.number is not None else TensorMeta(value.shape, value.strides, value.dtype)
    return [_seen(item) for item in value] if type(value) is tuple else value


class _Schedule:
    """The tasks of one structure, where their results lie, and the states that runs have left for others."""

    def __init__(self, program: Program, tasks: Sequence[_Task]) -> None:
        self.tasks = tuple(tasks)
        #: Whether every node is a task.
        self.is_whole = len(tasks) == len(program.nodes)
        self.states: list[Any] = calls.stock()
        made_here = [
            value for task in tasks for value in task.node.outputs if value is not None and value.number is None
        ]
        #: Indices of the arrays that are there before the first step.
        self.given = tuple([value.index for value in program.values if value.given and value.number is None])
        inner, self.arena = _arena(program, made_here, {task.index for task in tasks})
        #: Index, description, and first element in the arena: results that nobody keeps.
        self.inner = tuple([(value.index, _seen(value), start // value.dtype.itemsize) for value, start in inner])
        self.held = held = frozenset(value.index for value, _ in inner)
        #: Tasks with numbers that may change.
        self.numbered = tuple([number for number, task in enumerate(tasks) if task.numbers])
        #: Index, description and bytes of the others.
        self.outer = tuple(
            [(value.index, _seen(value), _size(value)) for value in made_here if value.index not in held]
        )

    def steps(self) -> Iterable[PlannedStep]:
        """Give the steps in order."""
        last = len(self.tasks) - 1
        for number, task in enumerate(self.tasks):
            free = [entry for entry in enumerate(task.tensors) if entry[1] not in self.held]
            run = _second_phase(number, free, marks=not self.is_whole)
            if not number:
                run = self._beginning(run)
            yield PlannedStep((task.index,), _ending(run) if number == last else run)

    def _beginning(self, then: _Run) -> _Run:
        def run(values: list[Any]) -> None:
            state = self._take()
            values.append(state)
            state.begin(values)
            then(values)

        return run

    def _take(self) -> _State:
        while self.states:
            state = self.states.pop()
            if state.generation == calls.generation():
                return state
        return _State(self)


def _size(value: Value) -> int:
    size: int = extent(_seen(value)) * value.dtype.itemsize
    return size


def _second_phase(number: int, free: Sequence[tuple[int, int]], *, marks: bool) -> _Run:
    """Make the function that executes a task; ``free`` are place and index of tensors that may lie anywhere.

    With ``marks``, the stream is marked busy for kernels that run in between and may wait for it.
    """

    def run(values: list[Any]) -> None:
        state = values[-1]
        prepared = state.ready[number]
        if prepared is None:
            state.run_otherwise(number, values)
            return
        addresses, offsets = prepared.addresses, prepared.offsets
        for place, index in free:
            array = values[index]
            if array.block.pointer != addresses[place] or array.storage_offset != offsets[place]:
                prepared = state.follow(number, values)
                break
        status = prepared.second(state.workspace, prepared.size, prepared.handle, state.stream)
        if marks:
            state.mark()
        if status or not prepared.repeats:
            # The second phase has destroyed the executor.
            state.forget(number, status)

    return run


def _ending(then: _Run) -> _Run:
    def run(values: list[Any]) -> None:
        then(values)
        values[-1].end()

    return run


def _arena(program: Program, made_here: Sequence[Value], planned: set[int]) -> tuple[list[tuple[Value, int]], int]:
    """Place results that nobody keeps in one piece of memory; give where they begin, and how large it is.

    What an operator reads that runs its own kernel is not among them: that may come after the last step, or make a view.
    """
    places = [value.place for value in program.values if value.number is None]
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    shown = {value.index for value in program.values if value.kept}
    for index, node in enumerate(program.nodes):
        begins |= {value.index: index for value in node.outputs if value is not None}
        ends |= {value.index: index for value in (*node.inputs(), *node.outputs) if value is not None}
        if index not in planned:
            shown |= {value.index for value in node.inputs()}
    free = [value for value in made_here if value.index not in shown and places.count(value.place) == 1]
    placed: list[tuple[Value, int]] = []
    taken: list[tuple[int, int, int]] = []
    size = 0
    for value in sorted(free, key=lambda each: begins[each.index]):
        need = max(-(-_size(value) // _ALIGNMENT), 1) * _ALIGNMENT
        # Who was needed for the last time by an earlier node has left.
        others = sorted((start, stop) for start, stop, end in taken if end >= begins[value.index])
        start = 0
        for low, high in others:
            if start + need <= low:
                break
            start = max(start, high)
        taken.append((start, start + need, ends[value.index]))
        placed.append((value, start))
        size = max(size, start + need)
    return placed, size


class _Prepared:
    """A first phase that has been done, or is about to be: descriptors, executor, and what it was done for."""

    __slots__ = (
        "_arguments",
        "_descriptors",
        "_executor",
        "_first",
        "_name",
        "_raw",
        "_scalars",
        "addresses",
        "handle",
    )
    __slots__ += ("numbers", "offsets", "repeats", "second", "size")

    def __init__(self, recipe: Recipe, offsets: tuple[int, ...], numbers: tuple[Any, ...]) -> None:
        self.offsets, self.numbers = offsets, numbers
        self._name = f"{recipe.function}GetWorkspaceSize"
        self._first, self.second = library.bind(self._name), library.bind(recipe.function)
        self._descriptors = made_of = Descriptors()
        #: Place among the arguments and among the numbers.
        self._scalars: list[tuple[int, int]] = []
        self._arguments: list[Any] = []
        begins = iter(offsets)
        for place, (kind, given) in enumerate(recipe.arguments):
            value = given
            if isinstance(given, Number):
                self._scalars.append((place, given.place))
                value = numbers[given.place]
            elif kind.endswith("aclTensor*"):
                value = given and (given[0], next(begins))
            elif kind.endswith("aclTensorList*"):
                value = [(spec, next(begins)) for spec, _ in given]
            self._arguments.append(made_of.add(kind, value))
        #: Where the descriptors say that the arrays lie, and where the executor knows that they do.
        self._raw = [0] * len(made_of.tensors)
        self.addresses: list[int] = []
        self._executor: ctypes.c_void_p | None = None
        #: The executor's address; 0 where there is none.
        self.handle = 0
        self.size = 0
        self.repeats = False

    def prepare(self, pointers: Sequence[int], numbers: tuple[Any, ...]) -> None:
        """Do the first phase, in place of one that was done before."""
        tensors = self._descriptors.tensors
        for place, pointer in enumerate(pointers):
            if pointer and self._raw[place] != pointer:
                library.call("aclSetRawTensorAddr", tensors[place], pointer)
                self._raw[place] = pointer
        for argument, place in self._scalars:
            if not _same(numbers[place], self.numbers[place]):
                held = self._arguments[argument]
                self._arguments[argument] = self._descriptors.replace_scalar(held, numbers[place])
        self.numbers = numbers
        if self.handle:
            library.call("aclDestroyAclOpExecutor", self.forget())
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        status = self._first(*self._arguments, ctypes.byref(size), ctypes.byref(executor))
        if status:
            library.fail(self._name, status)
        self._descriptors.own("aclDestroyAclOpExecutor", executor)
        self.size, self._executor, self.handle = size.value, executor, executor.value or 0
        self.repeats = not library.bind("aclSetAclOpExecutorRepeatable")(executor)
        if not self.repeats:
            # Not every executor can be repeated; what the toolkit says of that is no later failure's.
            library.recent_message()
        self.addresses = list(pointers)

    def move(self, pointers: Sequence[int]) -> None:
        """Tell a repeatable executor where the arrays lie that have moved."""
        for place, pointer in enumerate(pointers):
            if pointer and self.addresses[place] != pointer:
                library.call("aclSetTensorAddr", self.handle, place, self._descriptors.tensors[place], pointer)
                self.addresses[place] = pointer
                # Whether the descriptor has followed is not said.
                self._raw[place] = 0

    def forget(self) -> ctypes.c_void_p:
        """Give up the executor: somebody else destroys it, or has done so."""
        executor = self._executor
        assert executor is not None
        self._executor, self.handle = None, 0
        self._descriptors.disown(executor)
        return executor


def _same(one: Any, other: Any) -> bool:
    """Tell whether two numbers are the same to ACL; zeros have signs, and not-a-number is never equal to itself."""
    return one is other or (one == other and one.__class__ is other.__class__ and one != 0)


class _State:
    """What one run of a schedule works with; see Note [Three stages]."""

    __slots__ = (
        "_arena",
        "_errors",
        "_inner",
        "_is_complete",
        "_is_plain",
        "_need",
        "_prepared",
        "_schedule",
        "_space",
    )
    __slots__ += ("_stream", "_workspace", "generation", "ready", "stream", "workspace")

    def __init__(self, schedule: _Schedule) -> None:
        self._schedule = schedule
        self._prepared: list[_Prepared | None] = [None] * len(schedule.tasks)
        self._errors: dict[int, Exception] = {}
        #: Whether every first phase is done, for arrays of whatever address, and how large a workspace they need.
        self._is_complete, self._need = False, 0
        #: Index and array of results that nobody keeps, without a block between two runs.
        self._inner: list[tuple[int, Any]] = []
        for index, spec, start in schedule.inner:
            array = _new(AclArray)
            array.spec, array.storage_offset = spec, start
            self._inner.append((index, array))
        self._stream: Any = None
        self._space: Any = None
        self._arena = 0
        self._workspace: Any = None
        self._is_plain = False
        self.generation = calls.generation()
        #: For each task its first phase, None where it has to go another way.
        self.ready = self._prepared
        #: What the second phases are given: addresses.
        self.stream, self.workspace = 0, None

    def begin(self, values: list[Any]) -> None:
        """Make the results, and do the first phases that are missing."""
        schedule = self._schedule
        for index in schedule.given:
            if values[index].__class__ is not AclArray:
                # A cpu tensor that stands for a number is known to kernels only.
                self._is_plain, self.ready = True, [None] * len(schedule.tasks)
                return
        self._stream = current()
        self.stream = self._stream.pointer
        for index, spec, size in schedule.outer:
            array = values[index] = _new(AclArray)
            array.block, array.spec, array.storage_offset = allocator.allocate(size), spec, 0
        if self._inner:
            space = self._space = allocator.allocate(schedule.arena)
            for index, array in self._inner:
                array.block = space
                values[index] = array
            if space.pointer != self._arena:
                self._arena = space.pointer
                if self._is_complete:
                    for number in range(len(schedule.tasks)):
                        self._attempt(self._follow, number, values)
        if self._is_complete:
            for number in schedule.numbered:
                if not self._has_numbers(number, values):
                    self._attempt(self._prepare, number, values)
        else:
            for number, prepared in enumerate(self._prepared):
                if prepared is None or not prepared.handle or not self._has_numbers(number, values):
                    self._attempt(self._prepare, number, values)
                else:
                    self._attempt(self._follow, number, values)
            self._is_complete = not self._errors and all(each is not None and each.repeats for each in self._prepared)
        self._reserve()

    def _attempt(self, action: Callable[[int, list[Any]], object], number: int, values: list[Any]) -> None:
        """Do something for a task; what it raises is kept for the task's own step."""
        if number in self._errors:
            return
        try:
            action(number, values)
        except Exception as error:  # noqa: BLE001  # raised by the step
            self._errors[number] = error
            self._prepared[number] = None

    def _reserve(self) -> None:
        """Have a workspace for the largest need."""
        need = self._need
        if need and (self._workspace is None or self._workspace.size < need):
            self._workspace = allocator.allocate(need)
            self.workspace = self._workspace.pointer

    def _has_numbers(self, number: int, values: list[Any]) -> bool:
        prepared = self._prepared[number]
        assert prepared is not None
        indices = self._schedule.tasks[number].numbers
        return all(_same(values[index], held) for index, held in zip(indices, prepared.numbers, strict=True))

    def _arrays(self, number: int, values: list[Any]) -> list[Any]:
        return [values[index] for index in self._schedule.tasks[number].tensors]

    def _prepare(self, number: int, values: list[Any]) -> _Prepared:
        """Do a first phase for the arrays at hand; one that is not there yet is taken to begin where its memory does."""
        task = self._schedule.tasks[number]
        arrays = self._arrays(number, values)
        offsets = tuple([0 if array is None else array.storage_offset for array in arrays])
        numbers = tuple([values[index] for index in task.numbers])
        prepared = self._prepared[number]
        self._prepared[number] = None
        if prepared is None or prepared.offsets != offsets:
            prepared = _Prepared(task.recipe, offsets, numbers)
        prepared.prepare([0 if array is None else array.block.pointer for array in arrays], numbers)
        self._prepared[number] = prepared
        self._need = max(self._need, prepared.size)
        return prepared

    def _follow(self, number: int, values: list[Any]) -> _Prepared:
        """Have an executor for arrays that lie elsewhere than it was told; those that are not there yet are left alone."""
        prepared = self._prepared[number]
        assert prepared is not None
        arrays = self._arrays(number, values)
        moved = all(a is None or a.storage_offset == offset for a, offset in zip(arrays, prepared.offsets, strict=True))
        if not prepared.repeats or not moved:
            return self._prepare(number, values)
        prepared.move([0 if array is None else array.block.pointer for array in arrays])
        return prepared

    def follow(self, number: int, values: list[Any]) -> _Prepared:
        """Do the same when everything is there."""
        prepared = self._follow(number, values)
        self._reserve()
        return prepared

    def run_otherwise(self, number: int, values: list[Any]) -> None:
        """Raise what a task's first phase has raised, or run the operator's kernel."""
        if number in self._errors:
            raise self._errors[number]
        self._schedule.tasks[number].run_kernel(values)

    def forget(self, number: int, status: int) -> None:
        """Let go of an executor that is gone. Raises ``AclError`` for a status that says so."""
        prepared = self._prepared[number]
        assert prepared is not None
        prepared.forget()
        self._is_complete = False
        if status:
            library.fail(self._schedule.tasks[number].recipe.function, status)

    def mark(self) -> None:
        """Mark the stream busy, see Note [Idle streams] in ``runtime.stream``."""
        self._stream.busy = True

    def end(self) -> None:
        """Wait for the stream, and leave what has been prepared to the next run."""
        if self._is_plain:
            return
        self._stream.busy = True
        self._stream.synchronize()
        if self._errors:
            return
        for _, array in self._inner:
            array.block = None
        self._stream = self._space = self._workspace = self.workspace = None
        self._schedule.states.append(self)
