"""A recorded graph of operator calls, as data: printed, written as Python, and run again."""

from __future__ import annotations

import copy
import keyword
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from dispatch_core.arrays.access import to_data
from dispatch_core.arrays.owners import TYPE_MASKS, is_tensor
from dispatch_core.calls.signature import CallParameter
from dispatch_core.devices import Device
from dispatch_core.errors import ArgumentError, KernelResultError
from dispatch_core.escapes import to_printable
from dispatch_core.operators.overloads import OpOverload
from dispatch_core.operators.registries import Registry
from dispatch_core.operators.registries import registry as process_registry

_LITERALS: Final = frozenset({type(None), bool, int, float, complex, str, bytes, Device})


class ValueRef(int):
    """A value of a graph by its number: its place among the graph's `ValueInfo`."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"%{int(self)}"

    def __repr__(self) -> str:
        return f"ValueRef({int(self)})"

    def __format__(self, form: str) -> str:
        return format(str(self), form)


@dataclass(frozen=True, slots=True)
class ValueInfo:
    """The description of a value: of an input, or of a step's result."""

    number: int
    #: None for a value that is not a tensor; its dtype is its type's name.
    shape: tuple[int, ...] | None
    dtype: str
    #: The number of the first value in the same memory; its own where it shares none.
    memory: int
    is_input: bool = False
    #: Whether objects outside the graph refer to it. Inputs always count as held.
    is_held: bool = False
    has_failed: bool = False

    @property
    def type(self) -> str:
        """Return shape and dtype as one text."""
        return self.dtype if self.shape is None else f"{self.shape} {self.dtype}"

    def __str__(self) -> str:
        return f"%{self.number}"


@dataclass(frozen=True, slots=True)
class Constant:
    """An object that has no spelling, by its place among the graph's constants."""

    index: int

    @classmethod
    def of(cls, value: Any, constants: list[Any]) -> Any:
        """Return ``value`` itself if it can be spelled, else its constant, which is added to ``constants`` if it is new.

        >>> Constant.of(2.5, []), Constant.of(print, [])
        (2.5, Constant(index=0))
        """
        if type(value) in _LITERALS or _is_spelled_enum(value):
            return value
        for index, known in enumerate(constants):
            if known is value:
                return cls(index)
        constants.append(value)
        return cls(len(constants) - 1)

    def __str__(self) -> str:
        return f"constants[{self.index}]"


def _is_spelled_enum(value: object) -> bool:
    return isinstance(value, Enum) and "." not in type(value).__qualname__ and value.name in type(value).__members__


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """What is known of a step besides its work, where its program is looked at."""

    #: Whether its effects are not observable, so that a flush drops it.
    is_dropped: bool = False
    #: Whether memory that it makes or writes to is seen outside the graph.
    is_output: bool = False
    #: File and line of the call, without the folder.
    where: str = ""
    #: The index of the fused group that it runs in, or None.
    group: int | None = None

    @property
    def text(self) -> str:
        """Return the step on one line, as a terminal can show it."""
        return to_printable(str(self))


@dataclass(frozen=True, slots=True)
class Call(_Drawn):
    """One call of an operator. Tensors among the arguments and everything in the results are values of the graph.

    ``results`` is a value, a list of values for a list of tensors, a tuple of these for several results, or None.
    """

    op: OpOverload
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    results: Any

    @property
    def name(self) -> str:
        """Return the operator's name."""
        return self.op.name

    @property
    def inputs(self) -> tuple[ValueRef, ...]:
        """Return the values among the arguments, each once."""
        return tuple(dict.fromkeys(values_in((*self.args, *self.kwargs.values()))))

    @property
    def makes(self) -> tuple[ValueRef, ...]:
        """Return the values among the results that are none of the arguments."""
        given = self.inputs
        return tuple(dict.fromkeys(value for value in values_in(self.results) if value not in given))

    @property
    def writes(self) -> tuple[ValueRef, ...]:
        """Return the arguments that the operator writes to."""
        signature = self.op._entry.signature
        parameters = () if signature is None else signature.parameters
        return tuple(dict.fromkeys(values_in([self._argument(each) for each in parameters if each.writes])))

    @property
    def views(self) -> tuple[ValueRef, ...]:
        """Return the arguments that the results are views of."""
        signature = self.op._entry.signature
        if signature is None:
            return ()
        bases = [signature.parameters[each.source] for each in signature.results if each.kind == "view"]
        return tuple(dict.fromkeys(values_in(tuple(self._argument(each) for each in bases))))

    def _argument(self, parameter: CallParameter) -> Any:
        """Return an argument; None where the call leaves it out."""
        if parameter.name in self.kwargs:
            return self.kwargs[parameter.name]
        signature = self.op._entry.signature
        assert signature is not None
        index = signature.parameters.index(parameter)
        return self.args[index] if index < len(self.args) else None

    def __str__(self) -> str:
        left = f"{_targets(self.results, str)} = " if self.makes else ""
        given = [*map(_show, self.args), *(f"{name}={_show(value)}" for name, value in self.kwargs.items())]
        return f"{left}{self.op.name}({', '.join(given)})"


@dataclass(frozen=True, slots=True)
class Wrap(_Drawn):
    """A raw array that becomes a frontend's tensor or, where ``frontend`` is None, a tensor's array."""

    source: ValueRef
    frontend: Constant | None
    target: ValueRef

    @property
    def name(self) -> str:
        """Return ``wrap``, or ``unwrap``."""
        return "unwrap" if self.frontend is None else "wrap"

    def __str__(self) -> str:
        given = [self.source] if self.frontend is None else [self.source, self.frontend]
        return f"{self.target} = {self.name}({', '.join(map(str, given))})"

    @property
    def inputs(self) -> tuple[ValueRef, ...]:
        """Return the value that is wrapped."""
        return (self.source,)

    @property
    def makes(self) -> tuple[ValueRef, ...]:
        """Return the new value."""
        return (self.target,)

    @property
    def writes(self) -> tuple[ValueRef, ...]:
        """Return nothing: the memory is only shared."""
        return ()

    views = inputs


GraphStep = Call | Wrap


@dataclass(frozen=True, slots=True)
class Graph:
    """Operator calls in the order in which they were made, with inputs and outputs.

    ``constants`` are the arguments that have no spelling: generators, frontends, arrays instead of non-tensors.
    """

    registry: Registry
    inputs: tuple[ValueRef, ...]
    steps: tuple[GraphStep, ...]
    constants: tuple[Any, ...]
    outputs: Any
    #: By number; a graph without them cannot be drawn.
    values: tuple[ValueInfo, ...] = ()

    def __str__(self) -> str:
        lines = [f"graph({', '.join(map(str, self.inputs))}):", *(f"    {step}" for step in self.steps)]
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
        writer = _Writer(self.constants)
        body = [f"    {writer.step(step)}" for step in self.steps]
        body.append(f"    return {_targets(self.outputs, _variable)}".rstrip())
        return "\n".join([*writer.imports(own=own), f"def run({', '.join(parameters)}):", *body]) + "\n"

    def replay(self, *inputs: Any) -> Any:
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
        for value, given in zip(self.inputs, inputs, strict=True):
            if not is_tensor(given):
                raise ArgumentError(f"replay: input {value} must be a tensor, not {type(given).__qualname__}")
        held = dict(zip(self.inputs, inputs, strict=True))
        for number, step in enumerate(self.steps):
            if isinstance(step, Wrap):
                source = held[step.source]
                frontend = None if step.frontend is None else self.constants[step.frontend.index]
                held[step.target] = to_data(source) if frontend is None else frontend.wrap(source)
                continue
            args = [self._filled(value, held) for value in step.args]
            kwargs = {name: self._filled(value, held) for name, value in step.kwargs.items()}
            self._keep(step.results, step.op(*args, **kwargs), held, number)
        return self._filled(self.outputs, held)

    def _filled(self, value: Any, held: Mapping[ValueRef, Any]) -> Any:
        """Return an argument with tensors instead of values."""
        match value:
            case ValueRef():
                return held[value]
            case Constant(index):
                constant = self.constants[index]
                # Its memory may become a result's, which a later step may write to.
                return copy.deepcopy(constant) if type(constant) in TYPE_MASKS else constant
            case list():
                return [self._filled(item, held) for item in value]
            case tuple():
                return tuple(self._filled(item, held) for item in value)
        return value

    def _keep(self, results: Any, returned: Any, held: dict[ValueRef, Any], number: int) -> None:
        if isinstance(results, ValueRef):
            held[results] = returned
        elif results is not None:
            if not isinstance(returned, list | tuple) or len(returned) != len(results):
                step = self.steps[number]
                got = len(returned) if isinstance(returned, list | tuple) else 1
                raise KernelResultError(
                    f"replay: step {number}, {step}, gave {_pluralize(got, 'result')} where {len(results)} were recorded",
                    hint="record the graph again with inputs like these",
                )
            for result, item in zip(results, returned, strict=True):
                self._keep(result, item, held, number)


def _pluralize(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def values_in(items: Any) -> Iterator[ValueRef]:
    """Yield the values among arguments or results, however deep in lists."""
    if isinstance(items, ValueRef):
        yield items
    elif isinstance(items, list | tuple):
        for item in items:
            yield from values_in(item)


def _targets(results: Any, spell: Callable[[ValueRef], str]) -> str:
    """Spell results as the left side of an assignment, or the value of a return."""
    if results is None:
        return ""
    if isinstance(results, ValueRef):
        return spell(results)
    inner = ", ".join(_targets(result, spell) for result in results)
    if isinstance(results, list):
        return f"[{inner}]"
    return f"({inner},)" if len(results) == 1 else inner or "()"


def _show(value: Any) -> str:
    """Spell an argument for a reader."""
    match value:
        case ValueRef() | Constant():
            return str(value)
        case Device():
            return repr(str(value))
        case list():
            return f"[{', '.join(map(_show, value))}]"
        case tuple():
            return f"({', '.join(map(_show, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def _variable(value: ValueRef) -> str:
    return f"v{int(value)}"


class _Writer:
    """Write steps as Python statements, and remember their imports."""

    def __init__(self, constants: tuple[Any, ...]) -> None:
        self._constants = constants
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
        given = [self._spell(value) for value in step.args]
        odd = {name: value for name, value in step.kwargs.items() if keyword.iskeyword(name)}
        given += [f"{name}={self._spell(value)}" for name, value in step.kwargs.items() if name not in odd]
        if odd:
            given.append(f"**{{{', '.join(f'{name!r}: {self._spell(value)}' for name, value in odd.items())}}}")
        left = f"{_targets(step.results, _variable)} = " if step.makes else ""
        return f"{left}{_operator(step.op)}({', '.join(given)})"

    def _spell(self, value: Any) -> str:
        """Spell an argument so that Python reads the same value."""
        match value:
            case ValueRef():
                return _variable(value)
            case Constant(index) if type(self._constants[index]) in TYPE_MASKS:
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
