"""Programs as planners see them: values, the nodes between them, and the steps that planners make of nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dispatch_core import devkit

from ..record.steps import line_of

if TYPE_CHECKING:
    from types import CodeType

    from dispatch_core.calls.signature import CallParameter, CallSignature
    from dispatch_core.keys import context
    from dispatch_core.keys.table import DispatchKey

    from ..record.steps import Step


class PlanOptions(NamedTuple):
    """The user's options of plans."""

    #: Whether nodes may run together.
    fuse: bool = True
    #: Whether compiled programs look for wrong indices and values.
    check_indices: bool = True


DEFAULTS: Final = PlanOptions()


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """An entry of the list that planned steps read and write: an array, or a number among the arguments of a call."""

    #: Its index in the list.
    index: int
    #: The Python type of a number, float or complex, or int (see Note [Ints that are values]); None for arrays.
    number: type | None = None
    shape: tuple[int, ...] = ()
    #: In elements.
    strides: tuple[int, ...] = ()
    dtype: Any = None
    #: Values with the same place share memory, those with another do not.
    place: int = -1
    #: Whether it is there before the program runs.
    given: bool = True
    #: Whether it can be read once the program has run. Other values need not be stored.
    kept: bool = True
    #: Where nothing needs the array once the program has run, because the tensor that holds it gets another one: the index
    #: of that value. See Note [Donation] in `donation`.
    successor: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One recorded call: its operator, its arguments and its results."""

    #: The class of the recorded step, which has the operator's entry, the kernel's keys, the device and the stream.
    kind: type[Step]
    #: The registered function that will run on the device, a specialized kernel where one serves the arguments; a plugin's
    #: function in its place must mean the same. None where the value of a number decides, which differs between runs.
    kernel: Any
    #: In schema order, with values instead of arrays and numbers; other ints, bools and strings stand there as they
    #: are, and lists are tuples.
    arguments: tuple[Any, ...]
    #: Its results, in the schema's order; None for an optional result that is not there.
    outputs: tuple[Value | None, ...]
    #: The values that it writes to. None of a device whose arrays cannot be written to: see Note [Writes to arrays that
    #: cannot be written to] in `recording`.
    written: tuple[Value, ...]
    #: For programs that are replayed: returns the error for an exception of its kernel, which names the call and its line.
    fault: Callable[[BaseException], Exception] | None = None
    #: The caller's code and the instruction in it, and the context's masks at the call.
    code: CodeType | None = None
    instruction: int = 0
    state: context.State | None = None

    @property
    def name(self) -> str:
        """The operator's name with namespace and overload."""
        return self.kind.entry.name

    @property
    def tags(self) -> frozenset[str]:
        """The operator's tags."""
        return self.kind.entry.tags

    @property
    def signature(self) -> CallSignature:
        """The operator's signature."""
        signature = self.kind.entry.signature
        assert signature is not None
        return signature

    @property
    def parameters(self) -> tuple[CallParameter, ...]:
        """The operator's parameters, in the order of the arguments."""
        return self.signature.parameters

    @property
    def line(self) -> str:
        """File and line of the caller, or ""."""
        return "" if self.code is None else line_of(self.code, self.instruction)

    @property
    def device(self) -> DispatchKey:
        """The key of the device that it runs on."""
        return self.kind.device

    @property
    def stream(self) -> Any:
        """The stream of the device that it is queued on; None for the only one."""
        return self.kind.stream

    @property
    def shown(self) -> str:
        """The call with the dtypes and shapes of its arrays."""
        arrays = [f"{each.dtype}{list(each.shape)}" for each in self.inputs() if each.number is None]
        return f"{self.name}({', '.join(arrays)})"

    def call(self, *arguments: Any) -> Any:
        """Run the kernel as the pipeline would, whichever of its kernels serves the arguments, below every layer.

        It takes all arguments in schema order, with arrays and numbers instead of values, and returns the results as
        the schema says.
        """
        return self.kind.entry.explicit_table[self.kind.mask](*arguments)

    def run(self, values: list[Any]) -> None:
        """Run the node's kernel on the list of values, and store its results there."""
        self.runner()(values)

    def runner(self) -> Callable[[list[Any]], None]:
        """Return the function that does what `run` does, for many runs."""
        table, mask, arguments = self.kind.entry.explicit_table, self.kind.mask, self.arguments
        places = [(place, each.index) for place, each in enumerate(arguments) if isinstance(each, Value)]
        lists = [(place, each) for place, each in enumerate(arguments) if type(each) is tuple]
        only, first = self._only_output(), len(places)
        if only is not None and places and not lists and places[-1][0] == first - 1:
            # The usual case: values first, other arguments after them, and one result.
            index, take, rest = places[0][1], itemgetter(*[index for _, index in places]), arguments[first:]

            def run_one(values: list[Any]) -> None:
                values[only] = table[mask](values[index], *rest)

            def run_several(values: list[Any]) -> None:
                values[only] = table[mask](*take(values), *rest)

            return run_one if first == 1 else run_several
        store = self.store()

        def run_any(values: list[Any]) -> None:
            given = [*arguments]
            for place, index in places:
                given[place] = values[index]
            for place, each in lists:
                given[place] = filled(each, values)
            store(values, table[mask](*given))

        return run_any

    def store(self) -> Callable[[list[Any], Any], None]:
        """Return the function that stores the kernel's result in the list of values."""
        results, unpack = self.signature.results, self.signature.unpack
        slots = [None if output is None else output.index for output in self.outputs]

        def store(values: list[Any], found: Any) -> None:
            places = iter(slots)
            for result, value in zip(results, unpack(found), strict=True):
                if result.kind == "self":
                    continue
                for each in value if result.is_list else (value,):
                    slot = next(places)
                    if slot is not None:
                        values[slot] = each

        return store

    def _only_output(self) -> int | None:
        """Return the index of the value that the kernel returns; None where it returns something else than one array."""
        results, outputs = self.signature.results, self.outputs
        if len(results) != 1 or results[0].kind == "self" or results[0].is_list or outputs[0] is None:
            return None
        return outputs[0].index

    def inputs(self) -> list[Value]:
        """Return the values among the arguments, numbers included."""
        found: list[Value] = []
        collect_values(self.arguments, found)
        return found

    def split(self) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments as kernels take them: by position, and by keyword."""
        pairs = list(zip(self.parameters, self.arguments, strict=True))
        by_position = [value for parameter, value in pairs if not parameter.keyword_only]
        return by_position, {parameter.name: value for parameter, value in pairs if parameter.keyword_only}


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """The calls that are to run on one device: nodes in the order in which they were recorded.

    A planner returns a `PlannedStep` for each group of nodes that it wants to run in its own way; every other node
    runs its kernel.
    """

    nodes: tuple[Node, ...]
    values: tuple[Value, ...]
    #: Whether the user wants nodes to be run together, and wrong indices and values to be looked for.
    fuse: bool
    check_indices: bool = True

    def __str__(self) -> str:
        return "\n".join(
            [f"program({', '.join(f'%{each.index}' for each in self.values if each.given)}):", *self._lines()]
        )

    def _lines(self) -> list[str]:
        lines = [(f"{_show_results(node)}{node.name}({', '.join(_show_arguments(node))})", node) for node in self.nodes]
        width = min(max((len(text) for text, _ in lines), default=0), 60)
        return [f"    {text:<{width}}  # {_describe_results(node)}".rstrip(" #") for text, node in lines]

    @devkit.for_notebooks
    def _repr_html_(self) -> str | None:
        from dispatch_core.display import Column, DataTable, show_count

        columns = [Column("", show_count, is_number=True), Column("operator", is_code=True)]
        columns += [Column(title, is_code=True) for title in ("arguments", "results")]
        rows = [
            (number, node.name, ", ".join(_show_arguments(node)), _describe_results(node))
            for number, node in enumerate(self.nodes)
        ]
        return devkit.to_fragment("program", [repr(self)[10:-1]], [DataTable(columns, rows).html()])

    def __repr__(self) -> str:
        return f"<Program: {len(self.nodes)} nodes, {len(self.values)} values>"


def _show_arguments(node: Node) -> list[str]:
    """Return the arguments that are not the schema's defaults, values by their index."""
    found = []
    for parameter, value in zip(node.parameters, node.arguments, strict=True):
        if isinstance(value, Value) or type(value) is not type(parameter.default) or value != parameter.default:
            text = _show_value(value)
            found.append(f"{parameter.name}={text}" if parameter.keyword_only else text)
    return found


def _show_value(value: Any) -> str:
    if isinstance(value, Value):
        return f"%{value.index}"
    return f"[{', '.join(map(_show_value, value))}]" if isinstance(value, tuple) else repr(value)


def _show_results(node: Node) -> str:
    made = ", ".join(f"%{each.index}" for each in node.outputs if each is not None)
    return f"{made} = " if made else ""


def _describe_results(node: Node) -> str:
    """Return index, shape and dtype of the results, whether they are kept, and the values that are written to."""
    notes = [
        f"%{each.index} {each.shape} {each.dtype}{', kept' if each.kept else ''}"
        for each in node.outputs
        if each is not None
    ]
    return "; ".join([*notes, *(f"writes %{each.index}" for each in node.written)])


@dataclass(frozen=True, slots=True, eq=False)
class PlannedStep:
    """Nodes that run together, where the last of them stands.

    ``run(values)`` reads the nodes' inputs from the list of all values, by their indices, and stores their results; a
    value that is not kept and that no other node reads may be left out. If it raises, it has written to nothing: the
    nodes are then run one by one, so that the error belongs to one of them.

    It may use the memory of given values that have a successor, and that no node reads after it. ``donated`` has the
    indices of these; ``run`` sets their entries to None once their arrays are used up, whether or not it raises then.
    ``copy`` copies such an array, where something else refers to it.
    """

    #: Indices into the program's nodes, ascending.
    nodes: tuple[int, ...]
    run: Callable[[list[Any]], None]
    #: Bytes of results that are never stored.
    saved: int = 0
    donated: tuple[int, ...] = ()
    copy: Callable[[Any], Any] | None = None


def filled(value: Any, values: list[Any]) -> Any:
    """Return an argument of a node with the entries of ``values`` instead of their descriptions."""
    if isinstance(value, Value):
        return values[value.index]
    return [filled(item, values) for item in value] if type(value) is tuple else value


def collect_values(value: Any, into: list[Value]) -> None:
    """Add the values in an argument of a node to a list."""
    if isinstance(value, Value):
        into.append(value)
    elif isinstance(value, tuple):
        for item in value:
            collect_values(item, into)
