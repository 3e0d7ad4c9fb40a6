"""A recorded graph of operator calls, as data: printed, written as Python, and run again."""

from __future__ import annotations

import copy
import keyword
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from dispatch_core.arrays.access import to_data
from dispatch_core.arrays.owners import TYPE_MASKS, is_tensor
from dispatch_core.devices import Device
from dispatch_core.errors import ArgumentError, KernelResultError
from dispatch_core.operators.overloads import OpOverload
from dispatch_core.operators.registries import Registry
from dispatch_core.operators.registries import registry as process_registry

from .nodes import Node, Value

_LITERALS: Final = frozenset({type(None), bool, int, float, complex, str, bytes, Device})


@dataclass(frozen=True, slots=True)
class Constant:
    """An object that has no spelling, by its place among the graph's constants."""

    index: int
    value: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, value: object, constants: list[Any]) -> Any:
        """Return ``value`` itself if it can be spelled, else its constant, which is added to ``constants`` if it is new.

        >>> Constant.of(2.5, []), Constant.of(print, [])
        (2.5, Constant(index=0))
        """
        if type(value) in _LITERALS or _is_spelled_enum(value):
            return value
        for index, known in enumerate(constants):
            if known is value:
                return cls(index, value)
        constants.append(value)
        return cls(len(constants) - 1, value)

    def __str__(self) -> str:
        return f"constants[{self.index}]"


def _is_spelled_enum(value: object) -> bool:
    return isinstance(value, Enum) and "." not in type(value).__qualname__ and value.name in type(value).__members__


@dataclass(frozen=True, slots=True, eq=False)
class Wrap:
    """A raw array that becomes a frontend's tensor or, where ``frontend`` is None, a tensor's array."""

    source: Value
    frontend: Constant | None
    target: Value

    #: The memory is only shared, and there is no call.
    written = ()
    line = ""

    @property
    def name(self) -> str:
        """Return ``wrap``, or ``unwrap``."""
        return "unwrap" if self.frontend is None else "wrap"

    @property
    def outputs(self) -> tuple[Value, ...]:
        """Return the new value."""
        return (self.target,)

    @property
    def views(self) -> tuple[Value, ...]:
        """Return the value that is wrapped."""
        return (self.source,)

    def inputs(self) -> list[Value]:
        """Return the value that is wrapped."""
        return [self.source]

    def run(self, values: list[Any]) -> None:
        """Store the new value in the list of values."""
        source = values[self.source.index]
        values[self.target.index] = to_data(source) if self.frontend is None else self.frontend.value.wrap(source)


# Not frozen, as nodes are not.
@dataclass(slots=True, eq=False)
class GraphNode(Node):
    """A call as its caller made it: with values instead of tensors alone, and lists as they are. It runs as such a call."""

    #: What the operator returns: a value, a list of values for a list of tensors, a tuple of these, or None.
    results: object = None
    #: Its place among the graph's steps.
    number: int = 0

    def run(self, values: list[Any]) -> None:
        """Call the operator on the list of values, and store its results there.

        Raises ``KernelResultError`` for another number of tensors than there was when the graph was recorded.
        """
        by_position, by_keyword = self.split()
        named = {name: _filled(value, values) for name, value in by_keyword.items()}
        self._store(self.results, values, self.op(*_filled(by_position, values), **named))

    def runner(self) -> Callable[[list[Any]], None]:
        """Return `run`."""
        return self.run

    def _store(self, results: Any, values: list[Any], returned: Any) -> None:
        if isinstance(results, Value):
            values[results.index] = returned
        elif results is not None:
            if not isinstance(returned, list | tuple) or len(returned) != len(results):
                got = len(returned) if isinstance(returned, list | tuple) else 1
                raise KernelResultError(
                    f"replay: step {self.number}, {show_step(self)}, gave {_pluralize(got, 'result')} where"
                    f" {len(results)} were recorded",
                    hint="record the graph again with inputs like these",
                )
            for result, item in zip(results, returned, strict=True):
                self._store(result, values, item)


GraphStep = GraphNode | Wrap


def _filled(value: object, values: list[Any]) -> Any:
    """Return an argument with tensors instead of values."""
    if isinstance(value, Value):
        return values[value.index]
    if isinstance(value, (list, tuple)):
        return type(value)([_filled(item, values) for item in value])
    if isinstance(value, Constant):
        # Its memory may become a result's, which a later step may write to.
        return copy.deepcopy(value.value) if type(value.value) in TYPE_MASKS else value.value
    return value


def show_step(step: GraphStep) -> str:
    """Return a step on one line, with its arguments as the caller gives them."""
    if isinstance(step, Wrap):
        given = [str(step.source)] if step.frontend is None else [str(step.source), str(step.frontend)]
        return f"{step.target} = {step.name}({', '.join(given)})"
    by_position, by_keyword = step.split()
    given = [*map(_show, by_position), *(f"{name}={_show(value)}" for name, value in by_keyword.items())]
    return f"{_results(step, str)}{step.name}({', '.join(given)})"


def _results(step: GraphNode, spell: Callable[[Value], str]) -> str:
    """Spell what a call makes as the left side of an assignment; "" where that is nothing."""
    return f"{_targets(step.results, spell)} = " if any(each is not None for each in step.outputs) else ""


@dataclass(frozen=True, slots=True)
class Graph:
    """Operator calls in the order in which they were made, with inputs and outputs.

    ``constants`` are the arguments that have no spelling: generators, frontends, arrays instead of non-tensors.
    """

    registry: Registry
    steps: tuple[GraphStep, ...]
    values: tuple[Value, ...]
    constants: tuple[Any, ...]
    outputs: Any

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The values that are there before."""
        return tuple(each for each in self.values if each.given)

    def __str__(self) -> str:
        lines = [f"graph({', '.join(map(str, self.inputs))}):", *(f"    {show_step(step)}" for step in self.steps)]
        return "\n".join([*lines, f"    return {_targets(self.outputs, str)}".rstrip()])

    @property
    def code(self) -> str:
        """Return the source of a Python function ``run`` that does the same as ``replay``.

        A private registry's operators are its keyword ``ops``; the graph's constants, if it has any, ``constants``.
        """
        own = self.registry is process_registry
        keywords = [*([] if own else ["ops"]), *(["constants"] if self.constants else [])]
        parameters = [_variable(value) for value in self.inputs]
        parameters += ["*", *keywords] if keywords else []
        writer = _Writer()
        body = [f"    {writer.step(step)}" for step in self.steps]
        body.append(f"    return {_targets(self.outputs, _variable)}".rstrip())
        return "\n".join([*writer.imports(own=own), f"def run({', '.join(parameters)}):", *body]) + "\n"

    def replay(self, *inputs: object) -> Any:
        """Run the calls on ``inputs`` and return the outputs.

        Raises ``ArgumentError`` for another number of inputs or an input that is not a tensor, ``KernelResultError`` where
        an operator gives another number of tensors than it did when the graph was recorded.
        """
        if len(inputs) != len(self.inputs):
            named = f" ({', '.join(map(str, self.inputs))})" if self.inputs else ""
            raise ArgumentError(
                f"replay: the graph takes {_pluralize(len(self.inputs), 'input')}{named}, but got {len(inputs)}",
                hint="inputs come in the order in which the block first used them; where backward brought back tensors that"
                " a composite made inside, record with trace(decompose=True)",
            )
        values: list[Any] = [None] * len(self.values)
        for value, given in zip(self.inputs, inputs, strict=True):
            if not is_tensor(given):
                raise ArgumentError(f"replay: input {value} must be a tensor, not {type(given).__qualname__}")
            values[value.index] = given
        for step in self.steps:
            step.run(values)
        return _filled(self.outputs, values)


def _pluralize(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _targets(results: Any, spell: Callable[[Value], str]) -> str:
    """Spell results as the left side of an assignment, or the value of a return."""
    if results is None:
        return ""
    if isinstance(results, Value):
        return spell(results)
    inner = ", ".join(_targets(result, spell) for result in results)
    if isinstance(results, list):
        return f"[{inner}]"
    return f"({inner},)" if len(results) == 1 else inner or "()"


def _show(value: object) -> str:
    """Spell an argument for a reader."""
    match value:
        case Value() | Constant():
            return str(value)
        case Device():
            return repr(str(value))
        case list():
            return f"[{', '.join(map(_show, value))}]"
        case tuple():
            return f"({', '.join(map(_show, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def _variable(value: Value) -> str:
    return f"v{value.index}"


class _Writer:
    """Write steps as Python statements, and remember their imports."""

    def __init__(self) -> None:
        self._modules: set[str] = set()
        self._names: set[str] = set()

    def imports(self, *, own: bool) -> list[str]:
        """Return the lines above the function."""
        names = self._names | ({"ops"} if own else set())
        lines = [f"import {module}" for module in sorted(self._modules)]
        lines += [f"from dispatch_core import {', '.join(sorted(names))}"] if names else []
        return [*lines, "", ""] if lines else []

    def step(self, step: GraphStep) -> str:
        """Return one step as a statement."""
        if isinstance(step, Wrap):
            source = _variable(step.source)
            made = f"{source}._dispatch_data" if step.frontend is None else f"{step.frontend}.wrap({source})"
            return f"{_variable(step.target)} = {made}"
        by_position, by_keyword = step.split()
        given = [self._spell(value) for value in by_position]
        odd = {name: value for name, value in by_keyword.items() if keyword.iskeyword(name)}
        given += [f"{name}={self._spell(value)}" for name, value in by_keyword.items() if name not in odd]
        if odd:
            given.append(f"**{{{', '.join(f'{name!r}: {self._spell(value)}' for name, value in odd.items())}}}")
        return f"{_results(step, _variable)}{_operator(step.op)}({', '.join(given)})"

    def _spell(self, value: object) -> str:
        """Spell an argument so that Python reads the same value."""
        match value:
            case Value():
                return _variable(value)
            case Constant() if type(value.value) in TYPE_MASKS:
                self._modules.add("copy")
                return f"copy.deepcopy({value})"
            case Device():
                self._names.add("Device")
                index_text = "" if value.index is None else f", {value.index}"
                return f"Device({value.type!r}{index_text})"
            case Enum():
                kind = type(value)
                self._modules.add(kind.__module__)
                return f"{kind.__module__}.{kind.__qualname__}.{value.name}"
            case float() if value - value != 0:  # infinite or not a number
                return f"float('{value}')"
            case complex():
                return f"complex({self._spell(value.real)}, {self._spell(value.imag)})"
            case list():
                return f"[{', '.join(map(self._spell, value))}]"
            case tuple():
                return f"({', '.join(map(self._spell, value))}{',' if len(value) == 1 else ''})"
        return str(value) if isinstance(value, Constant) else repr(value)


def _operator(op: OpOverload) -> str:
    """Spell an overload as an attribute of ``ops``, or as near to it as Python's words allow."""
    name, overload = op._entry.operator_name, op.overload_name
    plain = not any(keyword.iskeyword(part) or part.startswith("__") for part in (op.namespace, name.name))
    packet = f"ops.{op.namespace}.{name.name}" if plain else f"ops.packet({name.packet!r})"
    return f"getattr({packet}, {overload!r})" if keyword.iskeyword(overload) else f"{packet}.{overload}"
