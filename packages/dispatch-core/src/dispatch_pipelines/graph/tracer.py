"""The Tracer layer: a fallback under the Tracer key that records every call as a step of a graph, and passes it on.

Tensors are followed by identity, and so is the array in each. A tensor that no recorded call has made is an input. A
tensor around the array of a known one is the same value; where only one of the two belongs to a frontend (a factory
returns a raw array, which the frontend wraps), the change is a step of its own.
A result that the schema calls the written argument is that argument's value; every other result is a new one.
A tensor that a composite made inside, and that backward brings back, is an input too, unless composites are taken apart.
A value that is not a tensor (a number that ``item`` returned, a generator, an array given where the schema says Any) is a
constant.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import zip_longest
from types import TracebackType
from typing import Any, Final, Self

from dispatch_core._record import replace
from dispatch_core.arrays.access import dtype, shape, to_data
from dispatch_core.arrays.frontend import FRONTENDS, Frontend, frontend_of
from dispatch_core.arrays.owners import TYPE_MASKS
from dispatch_core.arrays.protocols import FunctionalBlock
from dispatch_core.calls.signature import CallSignature
from dispatch_core.errors import ArgumentError, DispatchError
from dispatch_core.forks import Order, forkable
from dispatch_core.interrupts import Guard, by_subscript, whole
from dispatch_core.keys import context
from dispatch_core.keys.context import exclude_keys
from dispatch_core.keys.keyset import DispatchKeySet
from dispatch_core.keys.table import DispatchKey
from dispatch_core.operators.overloads import OpOverload
from dispatch_core.operators.registries import Registry, the_registry
from dispatch_core.operators.resolution import Resolution, resolve
from dispatch_core.operators.runners import find_masked_off

from ..record.steps import Step as RecordedStep
from ..record.steps import step_type
from .model import Constant, Graph, GraphNode, GraphStep, Wrap
from .nodes import Value, values_in
from .picture import Drawable, Picture


@dataclass(slots=True)
class _Seen:
    """A tensor among a call's arguments, with the array that it had before the call.

    It is ``promised`` where the schema says that there is a tensor: there, one that is not known is an input.
    """

    tensor: object
    data: object
    promised: bool = True


class _Recorder:
    """Make a graph of the calls of one registry, while a block runs."""

    def __init__(self, owner: Registry, *, decompose: bool) -> None:
        self.registry = owner
        self.decompose = decompose
        self.open = True
        self.steps: list[GraphStep] = []
        self.constants: list[Any] = []
        self.values: list[Value] = []
        #: Index of an input → its array.
        self.given: dict[int, Any] = {}
        self._kinds: dict[OpOverload, type[RecordedStep]] = {}
        # Reentrant, so that an interrupt at a bad moment does not let a thread wait for itself.
        self._lock = forkable(Order.MEMORY)
        #: id of a tensor or an array → its value and its frontend; the object of an id is kept alive beside it.
        self._known: dict[int, tuple[Value, Frontend[Any] | None, Any]] = {}

    def record(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], result: object) -> None:
        """Add a call that has returned ``result``; ``args`` and ``kwargs`` hold `_Seen` for tensors."""
        held = (*args, *kwargs.values())
        with self._lock:
            given = tuple(self._to_argument(value) for value in args)
            named = {name: self._to_argument(value) for name, value in kwargs.items()}
            start, signature = len(self.values), op._entry.signature
            results = self._results(signature, held, result)
            kind = self._kinds.get(op)
            if kind is None:
                kind = self._kinds[op] = step_type(op._entry, 0, (), device=DispatchKey.Tracer)
            call = GraphNode(kind, (*given, *named.values()), tuple(named), tuple(self.values[start:]), ())
            call.results, call.number = results, len(self.steps)
            if signature is not None and signature.writes:
                written = values_in([call.argument(each) for each in signature.parameters if each.writes])
                call.written = tuple(dict.fromkeys(written))
            self.steps.append(call)
            for seen in _seen_in(held):
                # A write may have given a tensor another array.
                if to_data(seen.tensor) is not seen.data:
                    self._know(seen.tensor, self._value(seen))

    def value_of(self, tensor: object) -> Value | None:
        """Return the value that a tensor stands for, or None."""
        with self._lock:
            seen = _Seen(tensor, to_data(tensor))
            return self._value(seen) if self._is_known(seen) else None

    def _is_known(self, seen: _Seen) -> bool:
        return id(seen.tensor) in self._known or id(seen.data) in self._known

    def _to_argument(self, value: object) -> object:
        """Return an argument as the graph keeps it."""
        if isinstance(value, _Seen):
            if value.promised or self._is_known(value):
                return self._value(value)
            value = value.tensor
            if type(value) in TYPE_MASKS:
                # Its memory may become a result's, which a later step may write to.
                value = copy.deepcopy(value)
        elif isinstance(value, list):
            return [self._to_argument(item) for item in value]
        elif isinstance(value, tuple):
            return tuple(self._to_argument(item) for item in value)
        return Constant.of(value, self.constants)

    def _value(self, seen: _Seen) -> Value:
        """Return the value of a tensor, making it an input or a changed wrapper where it was not seen before."""
        owner = frontend_of(seen.tensor)
        known = self._known.get(id(seen.tensor)) or self._known.get(id(seen.data))
        if known is None:
            value = self._new(seen.data, given=True)
            self.given[value.index] = seen.data
        elif known[1] is owner:
            value = known[0]
        else:
            value = self._new(seen.data, known[0].place)
            around = None if owner is None else Constant.of(owner, self.constants)
            self.steps.append(Wrap(known[0], around, value))
        self._know(seen.tensor, value, seen.data)
        return value

    def _know(self, tensor: object, value: Value, data: object = None) -> None:
        owner = frontend_of(tensor)
        data = to_data(tensor) if data is None else data
        self._known[id(data)] = (value, owner, data)
        self._known[id(tensor)] = (value, owner, tensor)

    def _new(self, data: object, place: int | None = None, *, given: bool = False) -> Value:
        """Return a new value, which looks like ``data``; ``place`` is the value in whose memory it lies."""
        index = len(self.values)
        place = index if place is None else place
        try:
            sizes, kind, is_tensor = tuple(shape(data)), dtype(data), True
        except Exception:  # noqa: BLE001  # not a tensor, or a reader of a vendor's failed: a picture is worth no error
            sizes, kind, is_tensor = (), type(data).__qualname__, False
        made = Value(index, None, sizes, (), kind, place, given, True, None, False, is_tensor)
        self.values.append(made)
        return made

    def _results(self, signature: CallSignature | None, given: tuple[Any, ...], result: object) -> object:
        """Return a result with everything in it replaced by a value."""
        if signature is None or signature.schema.is_varret:
            return None if result is None else self._result(result, given, nested=True, written=True)
        found = []
        for promised, item in zip(signature.results, signature.unpack(result), strict=True):
            base = given[promised.source] if promised.kind == "view" else None
            memory = self._value(base).place if isinstance(base, _Seen) else None
            written = promised.kind == "self"
            found.append(self._result(item, given, nested=promised.is_list, written=written, memory=memory))
        return signature.pack(found)

    def _result(
        self, result: object, given: tuple[Any, ...], *, nested: bool, written: bool, memory: int | None = None
    ) -> object:
        if nested and isinstance(result, list | tuple):
            return [self._result(item, given, nested=nested, written=written, memory=memory) for item in result]
        if written:
            for seen in _seen_in(given):
                if seen.tensor is result:
                    return self._value(seen)
        value = self._new(to_data(result), memory)
        if _is_followed(result):
            self._know(result, value)
        return value


def _is_followed(value: object) -> bool:
    return isinstance(getattr(value, "_dispatch_mask", None), int) or type(value) in TYPE_MASKS


def _seen_in(values: Any) -> Iterator[_Seen]:
    for value in values:
        if isinstance(value, _Seen):
            yield value
        elif isinstance(value, list | tuple):
            yield from _seen_in(value)


_recorders: Final[ContextVar[tuple[_Recorder, ...]]] = ContextVar("dispatch_core.trace", default=())
_set_recorders: Final = by_subscript(_recorders.set)


class trace(Guard, Drawable):  # noqa: N801  # a context manager is spelled like a function
    """Record the operators that this thread or task calls while the block runs, to print and to run again.

    ``str`` shows the graph, ``code`` is a Python function that does the same, ``replay`` runs it on other tensors. A
    composite is one operator of the graph: the calls in it are not recorded. Blocks nest, and the outer one records
    everything. A call by explicit keyset is recorded as the operator alone. With ``decompose``, the calls of a composite are
    recorded in its place; that is needed where the block runs backward through composites. With ``functional``, frontends
    that can compute values instead of writes: the graph then has no operator that writes, but for one ``copy_`` at the
    end for each tensor from outside the block that was written to. Such a trace is the last block to be entered, and the
    first to be left.

    >>> from dispatch_core import Library, Registry
    >>> r = Registry()
    >>> library = Library("demo", "DEF", registry=r)
    >>> name = library.define("add(int x, *, int y=1) -> int")
    >>> _ = library.impl("add", lambda x, *, y: x + y)
    >>> with trace(registry=r) as t:
    ...     _ = r.dispatch("demo::add", 2)
    >>> print(t)
    graph():
        %0 = demo::add(2, y=1)
        return %0
    >>> t.replay()
    3
    """

    def __init__(self, *, decompose: bool = False, functional: bool = False, registry: Registry | None = None) -> None:
        self._tokens = None
        self._has_run = False
        self._blocks = _make_blocks() if functional else []
        self._recorder = _Recorder(the_registry(registry), decompose=decompose)
        self._graph: Graph | None = None
        self._outputs: object = None
        self._has_outputs = False
        self._returned: tuple[Any, ...] = ()

    def __enter__(self) -> Self:
        recorder = self._recorder
        if self._has_run or not recorder.open:
            raise DispatchError("trace: the block has run already", hint="make another trace()")
        recorder.registry.ensure_fallback(DispatchKey.Tracer, _record, with_keyset=True)
        recorders = (*_recorders.get(), recorder)
        state = context.with_included(DispatchKey.Tracer.value)
        self._has_run = True
        try:
            self._tokens = (_set_recorders[recorders], context.set_state[state], None)
            for block in self._blocks:
                block.begin()
            return self
        except BaseException:
            self._leave(None)
            raise

    @whole
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._end_blocks()
            token, state, _ = self._tokens  # type: ignore[misc]  # a trace that is left was entered
            context.reset_state(state)
            _recorders.reset(token)
            self._tokens = None
        except BaseException:
            self._finish()
            raise
        # A task that was started in the block may outlive it, with the block's context.
        self._graph = self._make_graph()
        self._recorder.open = False
        self._recorder._known.clear()
        self._recorder.given.clear()
        for block in self._blocks:
            block.settle()

    def _leave(self, outer: Any) -> None:
        for block in reversed(self._blocks):
            block.end()
        super()._leave(outer)

    def _end_blocks(self) -> None:
        """End the functional blocks; their last writes are recorded, and are not results."""
        blocks = self._blocks
        if not blocks:
            return
        for block in reversed(blocks):
            block.end()
        if not self._has_outputs:
            self._outputs, self._has_outputs = _last_results(self._recorder), True
        for block in blocks:
            block.finish()
        if self._returned:
            left = list(self._returned)
            for block in blocks:
                left = [block.leave(tensor) for tensor in left]
            self._outputs = self._find_values(left)

    def returns(self, *tensors: object) -> None:
        """Set the outputs of the graph, inside the block: one tensor, or several as a tuple; else it is the last result.

        Raises ``ArgumentError`` for a tensor that the graph does not know.
        """
        if not self._recorder.open:
            raise DispatchError("trace.returns: the block has ended", hint="call it inside the with block")
        if self._blocks:  # they have values that the graph knows at the end
            self._returned = tensors
        else:
            self._outputs = self._find_values(tensors)
        self._has_outputs = True

    def given_arrays(self) -> dict[int, Any]:
        """Return the arrays of the inputs so far by the index of their values, inside the block.

        >>> with trace() as t:
        ...     t.given_arrays()
        {}
        """
        return dict(self._recorder.given)

    def _find_values(self, tensors: Iterable[Any]) -> object:
        found = []
        for number, tensor in enumerate(tensors):
            value = self._recorder.value_of(tensor)
            if value is None:
                raise ArgumentError(
                    f"trace.returns: argument {number} is no value of the graph: {type(tensor).__qualname__}",
                    hint="give tensors that recorded operators took or returned",
                )
            found.append(value)
        return found[0] if len(found) == 1 else tuple(found)

    @property
    def graph(self) -> Graph:
        """Return the graph recorded so far, or as it was when the block ended."""
        return self._graph or self._make_graph()

    @property
    def code(self) -> str:
        """Return the graph as the source of a Python function, ``run``."""
        return self.graph.code

    def replay(self, /, *inputs: object) -> Any:
        """Run the graph on other tensors, in the order in which the block first used its inputs.

        Every operator is dispatched as in an ordinary call. Raises ``ArgumentError`` for another number of inputs, where one
        is not a tensor, and where an operator gives another number of results than it did.
        """
        if self._graph is None:
            raise DispatchError("trace.replay: the block is still recording", hint="replay after the with block")
        return self._graph.replay(*inputs)

    __call__ = replay

    def picture(self) -> Picture:
        """Return the graph as it is looked at, with shapes, dtypes, views and writes.

        A notebook shows it by itself; `svg`, `dot`, `mermaid`, `html` and `save` draw it.
        """
        return Picture(self.graph)

    def _make_graph(self) -> Graph:
        recorder = self._recorder
        outputs = self._outputs if self._has_outputs else _last_results(recorder)
        return Graph(
            recorder.registry, tuple(recorder.steps), tuple(recorder.values), tuple(recorder.constants), outputs
        )

    def __str__(self) -> str:
        return str(self.graph)

    def __repr__(self) -> str:
        from dispatch_core.display import show_number_of

        steps, inputs = len(self._recorder.steps), sum(each.given for each in self._recorder.values)
        return f"<trace: {show_number_of('step', steps)}, {show_number_of('input', inputs)}>"


def _last_results(recorder: _Recorder) -> object:
    return next((step.results for step in reversed(recorder.steps) if isinstance(step, GraphNode)), None)


def _make_blocks() -> list[FunctionalBlock]:
    """Return the blocks of the frontends that compute values instead of writes."""
    asked = [each.layers.functional_block() for each in list(FRONTENDS.values()) if each.layers is not None]
    found = [each for each in asked if each is not None]
    if not found:
        raise DispatchError(
            "trace(functional=True): no frontend computes values instead of writes",
            hint="import the frontend first; Layers.functional_block is its part",
        )
    return found


def _record(keyset: DispatchKeySet, op: OpOverload, /, *args: object, **kwargs: object) -> object:
    """Pass a call on below the Tracer key and, once it has returned, record it."""
    below = keyset - DispatchKey.Tracer
    owner = op._entry.registry
    recorders = [recorder for recorder in _recorders.get() if recorder.registry is owner and recorder.open]
    if not recorders:
        return op.redispatch(below, *args, **kwargs)
    positional, named = _hold(op._entry.signature, args, kwargs)
    wanted = [recorder for recorder in recorders if not recorder.decompose]
    composite = None if len(wanted) == len(recorders) else _composite(op, below, args, kwargs)
    if composite is not None:
        # Traces that record the composite whole do not see the calls that it makes.
        left = tuple(recorder for recorder in _recorders.get() if recorder not in wanted)
        token = _set_recorders[left]
        try:
            result = composite()
        finally:
            _recorders.reset(token)
        recorders = wanted
    else:
        # Calls of the kernel itself are not recorded.
        with exclude_keys(DispatchKey.Tracer):
            result = op.redispatch(below, *args, **kwargs)
    for recorder in recorders:
        recorder.record(op, positional, named, result)
    return result


def _composite(
    op: OpOverload, below: DispatchKeySet, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[], Any] | None:
    """Return a function that runs the call's composite with its calls recorded; None for another kernel."""
    entry = op._entry
    signature = entry.signature
    found = resolve(entry, below.mask | below.marker, 0)
    if signature is None or signature.schema.is_vararg or not isinstance(found, Resolution) or not found.is_composite():
        return None
    values = (*args, *kwargs.values())
    # As in Note [A composite below masked keys] of `runners`, but for this layer's own key.
    dropped = find_masked_off(entry, found.mask, values, {}) & ~DispatchKey.Tracer
    run = replace(found, explicit=False).runner()

    def call() -> object:
        with exclude_keys(dropped):
            return run(*values)

    return call


def _hold(
    signature: CallSignature | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return a call's arguments with `_Seen` instead of tensors."""
    parameters = () if signature is None else signature.parameters
    # Where the schema is silent, everything that is a tensor is meant as one.
    in_order = parameters[: len(args)]
    if signature is not None and signature.schema.is_vararg:
        in_order = tuple(parameter for parameter in in_order if not parameter.keyword_only)
    given = zip_longest(args, in_order)
    positional = tuple([_hold_value(value, parameter is None or parameter.tensors != "") for value, parameter in given])
    if not kwargs:
        return positional, kwargs
    promised = {parameter.name: parameter.tensors != "" for parameter in parameters}
    return positional, {name: _hold_value(value, promised.get(name, True)) for name, value in kwargs.items()}


def _hold_value(value: object, promised: bool) -> object:
    if isinstance(value, list):
        return [_hold_value(item, promised) for item in value]
    if isinstance(value, tuple):
        return tuple(_hold_value(item, promised) for item in value)
    return _Seen(value, to_data(value), promised) if _is_followed(value) else value
