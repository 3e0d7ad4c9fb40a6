"""The nodes of programs, and the values between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from dispatch_core.arrays.types import Dtype
from dispatch_core.escapes import to_printable
from dispatch_core.tracebacks import line_of

if TYPE_CHECKING:
    from types import CodeType

    from dispatch_core.calls.signature import CallParameter, CallSignature
    from dispatch_core.keys import context
    from dispatch_core.keys.table import DispatchKey
    from dispatch_core.operators.overloads import OpOverload

    from ..record.steps import Step


# Neither is frozen, which would take longer than the rest of tracing a call.
@dataclass(slots=True, eq=False)
class Value:
    """An array of a program, or a number among the arguments of a call: an entry of the list that planned steps use."""

    #: Its index in the list, and among the program's values.
    index: int
    #: The Python type of a number, float or complex, or int (see Note [Ints that are values]); None for arrays.
    number: type | None = None
    shape: tuple[int, ...] = ()
    #: In elements.
    strides: tuple[int, ...] = ()
    dtype: Dtype = None
    #: Values with the same place share memory, those with another do not. In graphs it is the first of these values.
    place: int = -1
    #: Whether it is there before the program runs.
    given: bool = True
    #: Whether it can be read once the program has run. Other values need not be stored.
    kept: bool = True
    #: Where nothing needs the array once the program has run, because the tensor that holds it gets another one: the index
    #: of that value. See Note [Donation] in `donation`.
    successor: int | None = None
    #: Whether it is the result of a call that has failed.
    has_failed: bool = False
    #: Whether it is a tensor; else it is something that a traced call has returned, and its dtype is its type's name.
    is_tensor: bool = True
    #: The number itself in a program that is replayed, where each replay gets the same; None for those that change.
    constant: Any = None
    #: How a number that changes is computed in such a program: an expression of live numbers; see `PlannedStep`.
    source: object = None

    @property
    def type(self) -> str:
        """Return shape and dtype as one text."""
        return to_printable(f"{self.shape} {self.dtype}" if self.is_tensor else str(self.dtype))

    def __str__(self) -> str:
        return f"%{self.index}"


@dataclass(slots=True, eq=False)
class Node:
    """One recorded call: its operator, its arguments and its results."""

    #: The class of the recorded step, which has the operator's entry, the kernel's keys, the device and the stream.
    kind: type[Step]
    #: In the order of the schema, with values instead of tensors and numbers; lists are tuples.
    arguments: tuple[Any, ...]
    #: The names of the last arguments, which are given by keyword.
    keywords: tuple[str, ...]
    #: Its results, in the schema's order; None for an optional result that is not there.
    outputs: tuple[Value | None, ...]
    #: The values that it writes to. None of a device whose arrays cannot be written to: see Note [Writes to arrays that
    #: cannot be written to] in `recording`.
    written: tuple[Value, ...]
    #: The registered function that will run on the device, a specialized kernel where one serves the arguments; a plugin's
    #: function in its place must mean the same. None where the value of a number decides, which differs between runs.
    kernel: Any = None
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
    def op(self) -> OpOverload:
        """The operator."""
        return self.kind.entry.op

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
    def index(self) -> int | None:
        """The index of the device among those of its type; None while one alone is in use."""
        return self.kind.index

    @property
    def shown(self) -> str:
        """The call with the dtypes and shapes of its arrays."""
        arrays = [f"{each.dtype}{list(each.shape)}" for each in self.inputs() if each.number is None]
        return f"{self.name}({', '.join(arrays)})"

    def call(self, *arguments: object) -> Any:
        """Run the kernel as the pipeline would, whichever of its kernels serves the arguments, below every layer.

        It takes all arguments in schema order, with arrays and numbers instead of values, and returns the results as
        the schema says.
        """
        return self.kind.entry.explicit_table[self.kind.mask](*arguments)

    @classmethod
    def alone(cls, kind: type[Step], inputs: int, results: int) -> Callable[[list[Any]], None]:
        """Return `runner` of a program's only node, whose values are all arguments and, after these, the results.

        The last one is kept with the kind, of which only steps with lists of tensors have other numbers of results.
        """
        known, run = kind.alone
        if run is None or known != results:
            values = tuple(map(Value, range(inputs + results)))
            run = cls(kind, values[:inputs], (), values[inputs:], ()).runner()
            kind.alone = results, run
        return run

    def run(self, values: list[Any]) -> None:
        """Run the node's kernel on the list of values, and store its results there."""
        self.runner()(values)

    def runner(self) -> Callable[[list[Any]], None]:
        """Return the function that does what `run` does, for many runs."""
        table, mask, arguments = self.kind.entry.explicit_table, self.kind.mask, self.arguments
        places = [(place, each.index) for place, each in enumerate(arguments) if isinstance(each, Value)]
        lists = [(place, _list_maker(each)) for place, each in enumerate(arguments) if type(each) is tuple]
        only, first, store = self._only_output(), len(places), self.storer()
        if places and not lists and places[-1][0] == first - 1 and (only is not None or first > 1):
            # The usual case: values first, and other arguments after them.
            index, take, rest = places[0][1], itemgetter(*[index for _, index in places]), arguments[first:]

            def run_stored(values: list[Any]) -> None:
                store(values, table[mask](*take(values), *rest))

            if only is None:
                return run_stored

            def run_one(values: list[Any]) -> None:
                values[only] = table[mask](values[index], *rest)

            def run_several(values: list[Any]) -> None:
                values[only] = table[mask](*take(values), *rest)

            return run_one if first == 1 else run_several

        def run_any(values: list[Any]) -> None:
            given = [*arguments]
            for place, index in places:
                given[place] = values[index]
            for place, make in lists:
                given[place] = make(values)
            store(values, table[mask](*given))

        return run_any

    def store(self, values: list[Any], returned: object) -> None:
        """Store what the kernel has returned in the list of values."""
        self.storer()(values, returned)

    def storer(self) -> Callable[[list[Any], Any], None]:
        """Return the function that does what `store` does, for many runs."""
        results, unpack = self.signature.results, self.signature.unpack
        slots = [None if output is None else output.index for output in self.outputs]

        def store_each(values: list[Any], found: object) -> None:
            for slot, each in zip(slots, unpack(found), strict=True):
                if slot is not None:
                    values[slot] = each

        def store(values: list[Any], found: object) -> None:
            places = iter(slots)
            for result, value in zip(results, unpack(found), strict=True):
                if result.kind == "self":
                    continue
                for each in value if result.is_list else (value,):
                    slot = next(places)
                    if slot is not None:
                        values[slot] = each

        return store if any(each.kind == "self" or each.is_list for each in results) else store_each

    def _only_output(self) -> int | None:
        """Return the index of the value that the kernel returns; None where it returns something else than one array."""
        results, outputs = self.signature.results, self.outputs
        if len(results) != 1 or results[0].kind == "self" or results[0].is_list or outputs[0] is None:
            return None
        return outputs[0].index

    def inputs(self) -> list[Value]:
        """Return the values among the arguments, numbers included."""
        return list(values_in(self.arguments))

    @property
    def views(self) -> tuple[Value, ...]:
        """The values among the arguments that the results are views of."""
        signature = self.kind.entry.signature
        if signature is None:
            return ()
        bases = [signature.parameters[each.source] for each in signature.results if each.kind == "view"]
        return tuple(dict.fromkeys(values_in([self.argument(each) for each in bases])))

    def argument(self, parameter: CallParameter) -> Any:
        """Return an argument; None where the call leaves it out."""
        by_position, by_keyword = self.split()
        if parameter.name in by_keyword:
            return by_keyword[parameter.name]
        index = self.parameters.index(parameter)
        return by_position[index] if index < len(by_position) else None

    def split(self) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments as kernels take them: by position, and by keyword."""
        count = len(self.arguments) - len(self.keywords)
        return [*self.arguments[:count]], dict(zip(self.keywords, self.arguments[count:], strict=True))


def _list_maker(items: tuple[Any, ...]) -> Callable[[list[Any]], list[Any]]:
    """Return the function that does what `filled` does for a list, for many runs."""
    indices = [each.index for each in items if isinstance(each, Value)]
    if 1 < len(indices) == len(items):
        take = itemgetter(*indices)
        return lambda values: list(take(values))
    return lambda values: [filled(each, values) for each in items]


def filled(value: object, values: list[Any]) -> Any:
    """Return an argument of a node with the entries of ``values`` instead of their descriptions."""
    if isinstance(value, Value):
        return values[value.index]
    return [filled(item, values) for item in value] if type(value) is tuple else value


def values_in(items: object) -> Iterator[Value]:
    """Yield the values among arguments or results, however deep in lists."""
    if isinstance(items, Value):
        yield items
    elif isinstance(items, list | tuple):
        for item in items:
            yield from values_in(item)
