"""Recording: the kernels under the Pipeline key.

A recorded call is one on its way to a device whose backend has a kernel, and whose shape rule (the kernel under Meta) can
infer the results without values. Its shape rule runs at once, so a wrong call fails at its own line. Everything else runs
at once, after the steps that it needs: operators that return something else than tensors, operators without a shape rule,
results whose shape depends on values. A composite without a kernel of the backend runs at once too, and its calls are
recorded. Views of arrays that are there, and arrays of the host's data, are made at once: they compute nothing.

Note [Writes to arrays that cannot be written to]
    Where a backend's arrays cannot be written to, the functional overload computes the new value, and the tensor is bound to
    it. In a pipeline that overload is recorded like any call, and the tensor is bound to the pending value: steps recorded
    before keep the one that they were recorded with, and no step writes.

Note [Composites of traceable arrays]
    A composite without a kernel of the backend runs at once as a rule, and its calls are recorded. Where arrays are
    traceable it is recorded as one step, which costs a fraction: the program will be compiled, and its calls are made then,
    once. Not so a composite with numbers, which would be compiled again for each of their values, one that draws random
    numbers, and one without a shape rule.

Note [Copies of lent memory]
    The user may write to lent memory between a call and its step. A call that reads it and gives fresh results is recorded
    on a copy of the memory, from the first element to the last, which is made at the call: each call has its own, and the
    arguments in one memory share one. Views lie in the memory itself, and calls that write to something, or would copy
    more than 64 KiB, run at once.

`Recorder` serves every operator and defines the meaning. Most operators have a generated recorder (`recorder_source`),
which is compiled into their calls (Note [The specialized mask is compiled in] in `codegen`) and leaves unusual calls to
the plain one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from dispatch_core._record import replace
from dispatch_core.arrays import access, owners
from dispatch_core.arrays.frontend import FRONTENDS, Frontend
from dispatch_core.arrays.indices import SEVERAL
from dispatch_core.arrays.lent_memory import LENT, is_lent
from dispatch_core.arrays.protocols import Views
from dispatch_core.bookkeeping.levels import Level
from dispatch_core.calls import codegen
from dispatch_core.calls.boundary import Boundary
from dispatch_core.calls.engine import KernelCall
from dispatch_core.calls.signature import CallSignature
from dispatch_core.calls.traits import traits_of
from dispatch_core.devices import Device
from dispatch_core.errors import NoKernelError
from dispatch_core.keys import context
from dispatch_core.keys.table import MARKERS, DispatchKey, keys_of
from dispatch_core.layers.stages import watch
from dispatch_core.operators.resolution import Resolution, resolve
from dispatch_core.operators.runners import make_functional_runner
from dispatch_core.operators.typed_calls import TypedCalls

from .array_specs import intern_spec, row_major_spec
from .blocks import current, finish
from .callers import caller_location
from .errors import OVERWRITES
from .indexed_recording import make_indexed_recorder
from .materialization import draw_recorded, materialize_argument, to_step_argument
from .pending import Pending, PendingMemory, describe, pending_type, storage_key
from .recorder_source import is_specializable, make_inlined_recorder
from .stats import HOST_READ
from .steps import EXCHANGES, step_type

if TYPE_CHECKING:
    from dispatch_core.operators.entry import OperatorEntry

    from ..run.session import Session

Runner = Callable[..., Any]
PIPELINE = DispatchKey.Pipeline.value


def make_recorder(op: Any, keyset: Any) -> Runner:
    """Make the kernel of one operator under Pipeline, for one effective keyset.

    Calls of a kernel with the trait ``runs_at_once`` are not recorded, nor those of which the rule has ``doubts``.
    """
    if keyset.mask & SEVERAL[0] and op._entry.signature is not None:
        return make_indexed_recorder(op, keyset, _make_recorder)
    return _make_recorder(op, keyset, None)


def _make_recorder(op: Any, keyset: Any, place: int | None, why: str = "") -> Runner:
    """Make the recorder of calls for one device of a type, whose index is ``place``; None for a type with one in use.

    ``why`` is a reason for which its calls run at once.
    """
    entry, signature = op._entry, op._entry.signature
    below = (keyset.mask | keyset.marker) & ~PIPELINE
    key = next((key for key in keys_of(below) if key.owns_arrays), None)
    winner = resolve(entry, below, 0)

    def pass_on(*values: object, **keywords: object) -> Any:
        state = context.current()
        mask = below if state is None else below & ~state[1]
        return entry.explicit_table[mask](*values, **keywords)

    def arrive(values: tuple[Any, ...]) -> tuple[Any, ...]:
        if "nondeterministic_seeded" in entry.tags:
            draw_recorded()
        return tuple(map(materialize_argument, values))

    def run_materialized(*values: object, **keywords: object) -> Any:
        return pass_on(*arrive(values), **dict(zip(keywords, arrive(tuple(keywords.values())), strict=True)))

    if isinstance(winner, TypedCalls):
        return _make_typed(winner, pass_on, run_materialized)
    if signature is None:
        return run_materialized
    if key is None or key is DispatchKey.Meta or not isinstance(winner, Resolution):
        return pass_on
    functional = winner.functional() if _is_for(winner, key) else None
    is_composed = functional is None and not _is_kernel(winner, key)
    is_captured = is_composed and (_is_exchange(winner, key) or _is_captured_whole(winner, key))
    if is_composed and not is_captured and not _is_recorded_whole(winner, key):
        return pass_on
    if signature.is_factory and any(parameter.type == "Any" for parameter in signature.parameters):
        return _host_data(entry.name, pass_on)
    frontend = FRONTENDS.get(keyset.marker)
    made = pending_type(key, place)
    boundary = _PendingBoundary(key, frontend, (owners.ARRAY_TYPES[made], *owners.KEY_TYPES.get(key, ())))
    if signature.writes and not boundary.mutable:
        # See Note [Writes to arrays that cannot be written to].
        if functional is not None and frontend is not None:
            return _let_meet(entry, make_functional_runner(entry, functional, boundary, below & ~MARKERS | PIPELINE))
        return run_materialized
    # An alternative may leave the call to the backend's kernel.
    kernels = winner.slot.kernel, entry.slot(key).kernel
    never_recorded = why or next(filter(None, (traits_of(each).runs_at_once for each in kernels)), "")
    plain = Recorder(
        entry, signature, key, below & ~MARKERS, made, has_frontend=frontend is not None, never_recorded=never_recorded
    )
    marking = boundary if frontend is None else replace(boundary, frontend=_mark_views(frontend))
    record = entry.registry.engine.make_backend_runner(KernelCall(entry, marking, plain))
    if frontend is None and "inplace_view" not in entry.tags:
        record = _return_arguments(signature, record)
    unread = _unread(entry)

    def run(*values: object) -> Any:
        session = finish()
        if session is None:
            return run_materialized(*values)
        if session.recording is None:
            return record(*values)
        return record(*session.recording.meet(values, unread))

    if is_captured:
        return _for_captures(run, pass_on)
    if signature.device_index is not None and not signature.is_factory:
        here, index = run, signature.device_index

        def run(*values: object) -> Any:
            # A copy to another device is composed of calls that are recorded there.
            device = values[index]
            return pass_on(*values) if device is not None and plain.is_elsewhere(device) else here(*values)

    if "window" in entry.tags:
        # Where it begins changes from call to call, as that of a batch does, and would be another program each time.
        otherwise = run

        def run(*values: object) -> Any:
            session, data = finish(), access.to_data(values[0])
            if session is None or session.defers_all or (isinstance(data, Pending) and data.value is None):
                return otherwise(*values)
            session.stats.views += 1
            return run_materialized(*values)

        return run
    is_plain = plain.never_recorded or plain.doubts is not None
    if is_plain or not is_specializable(signature) or entry.registry.engine is not codegen:
        return run
    return make_inlined_recorder(plain, boundary, pass_on, run)


def _make_typed(calls: TypedCalls, pass_on: Runner, run_materialized: Runner) -> Runner:
    """Return the kernel of calls that a kernel for a set of types may serve: it runs them at once."""
    name = calls.entry.name

    def run(*values: object, **keywords: object) -> Any:
        session, arrays = finish(), calls.arrays_in(values, keywords)
        if calls.choose(arrays) is None:
            return pass_on(*values, **keywords)  # A composite, or a refusal.
        if session is not None:
            session.check_eager(name, _BY_TYPES)
            session.run_before(arrays, arrays)
            session.stats.count_eager(name, _BY_TYPES)
        return run_materialized(*values, **keywords)

    return run


_BY_TYPES: Final = "a kernel for a set of types"


class _MarkedViews(Views):
    """Views of values that are pending: they have the key that says so, whatever their bases have."""

    def __init__(self, views: Views) -> None:
        self._views = views

    def view(self, base: object, data: object, op: Any, args: tuple[Any, ...]) -> Any:
        return _mark(self._views.view(base, data, op, args))

    def views(self, base: object, parts: list[Any], op: Any, args: tuple[Any, ...]) -> list[Any]:
        return list(map(_mark, self._views.views(base, parts, op, args)))


def _mark_views(frontend: Frontend[Any]) -> Frontend[Any]:
    """Return a frontend that marks its views of pending values."""
    return frontend if frontend.views is None else replace(frontend, views=_MarkedViews(frontend.views))


def _mark(tensor: Any) -> Any:
    if isinstance(tensor._dispatch_data, Pending):
        tensor._dispatch_mask |= PIPELINE
    return tensor


def _return_arguments(signature: CallSignature, runner: Runner) -> Runner:
    """Return to callers the arguments that they wrote to, where the recorder takes the arrays of computed values."""
    written = [(index, result.source) for index, result in enumerate(signature.results) if result.kind == "self"]
    if not written or any(signature.parameters[source].keyword_only for _, source in written):
        return runner

    def run(*values: object) -> Any:
        results = list(signature.unpack(runner(*values)))
        for index, source in written:
            results[index] = values[source]
        return signature.pack(results)

    return run


def _unread(entry: Any) -> frozenset[int]:
    """Return the places of the arguments whose values do not matter to a call."""
    outputs = {index for index, each in enumerate(entry.schema.arguments) if each.is_write and each.kwarg_only}
    return frozenset(outputs | {0} if entry.name in OVERWRITES else outputs)


def _let_meet(entry: object, runner: Runner) -> Runner:
    """Tell a captured call of the tensors that ``runner`` is given, of which it takes the arrays itself."""
    unread = _unread(entry)

    def run(*values: object) -> Any:
        session = current()
        if session is not None:
            session.meet(values, unread)  # numbers stay live for the operators that it calls
        return runner(*values)

    return run


def _host_data(name: str, pass_on: Runner) -> Runner:
    """Return the kernel of operators that take the host's data: its owner may change it, or the array share its memory."""

    def run(*values: object) -> Any:
        session = current()
        if session is None:
            return pass_on(*values)
        session.stats.views += 1
        return session.put(name, pass_on, values)

    return run


def _is_for(winner: Resolution, key: DispatchKey) -> bool:
    """Return whether the winner stands under a device's key, or an alternative's."""
    return winner.key is not None and (winner.key.target or winner.key) is key


def _is_kernel(winner: Resolution, key: DispatchKey) -> bool:
    """Return whether a kernel of the backend, or an alternative, has won, and no composite."""
    return _is_for(winner, key) and not winner.is_composite()


def _for_captures(record: Runner, pass_on: Runner) -> Runner:
    """Return the kernel of a composite that captured functions alone record."""

    def run(*values: object, **keywords: object) -> Any:
        session = current()
        recording = None if session is None or keywords else session.recording
        return (pass_on if recording is None or not recording.is_open else record)(*values, **keywords)

    return run


def _is_exchange(winner: Resolution, key: DispatchKey) -> bool:
    """Return whether a composite exchanges data with other processes, and writes to arrays of the device, if to any."""
    return EXCHANGES in winner.entry.tags and all(each.mutable for each in owners.KEY_TYPES.get(key, ()))


def _is_captured_whole(winner: Resolution, key: DispatchKey) -> bool:
    """Return whether captures record a composite as one step: a view, which a replay makes of an array at another offset."""
    results = [] if winner.entry.signature is None else winner.entry.signature.results
    if [(each.kind, each.is_list) for each in results] != [("view", False)] or "may_copy" in winner.entry.tags:
        return False
    return _is_step(winner, key) and any(each.strides is not None for each in owners.KEY_TYPES.get(key, ()))


def _is_recorded_whole(winner: Resolution, key: DispatchKey) -> bool:
    """Return whether calls of a composite are recorded as one step; see Note [Composites of traceable arrays]."""
    entry, signature = winner.entry, winner.entry.signature
    if not any(each.traceable for each in owners.KEY_TYPES.get(key, ())) or "nondeterministic_seeded" in entry.tags:
        return False
    if signature is None or any(each.type in _NUMBERS for each in signature.parameters):
        return False
    if any(each.kind == "view" and each.is_list for each in signature.results):
        return False  # Where each part begins, only its own view tells.
    return _is_step(winner, key)


def _is_step(winner: Resolution, key: DispatchKey) -> bool:
    """Return whether a composite can be a step: it is a function of its arguments, whose result a shape rule describes."""
    entry, signature = winner.entry, winner.entry.signature
    if winner.key is not key or signature is None or signature.writes or signature.is_factory:
        return False
    if winner.slot.registration is None or winner.slot.registration.level is Level.PROGRAM:
        return False  # It is written for the tensors of its callers.
    if DispatchKey.Meta not in owners.KEY_TYPES:
        return False
    rule = resolve(entry, DispatchKey.Meta.value, 0)
    return isinstance(rule, Resolution) and rule.slot.registration is not None and not rule.is_composite()


#: The types of arguments whose values a compiled program is given.
_NUMBERS: Final = frozenset({"Scalar", "Scalar?", "float", "float?", "Scalar[]", "float[]", "float[]?"})


class _PendingBoundary(Boundary):
    """The boundary above which tensors hold pending values."""

    @property
    def mask(self) -> int:
        return super().mask | PIPELINE


class Recorder:
    """The kernel proper: takes arrays and pending values, returns pending values."""

    __slots__ = (
        "cache_key",
        "copies_lent",
        "doubts",
        "entry",
        "has_frontend",
        "has_strides",
        "home",
        "made",
        "mask",
        "meta",
        "never_recorded",
        "signature",
        "step",
    )

    def __init__(
        self,
        entry: Any,
        signature: CallSignature,
        key: DispatchKey,
        mask: int,
        made: type[Pending],
        *,
        has_frontend: bool,
        never_recorded: str = "",
    ) -> None:
        self.entry, self.signature, self.mask, self.made = entry, signature, mask, made
        self.has_frontend = has_frontend
        #: The device that the kernel computes for.
        self.home = owners.KEY_DEVICES.get(key.backend)
        self.has_strides = any(each.strides is not None for each in owners.KEY_TYPES.get(key, ()))
        int_values = _find_int_values(signature, key)
        self.step = step_type(entry, mask, signature.writes, int_values, device=key, index=made.index)
        self.never_recorded = never_recorded or _reason_never_recorded(entry, signature)
        if not all(each.is_described for each in owners.KEY_TYPES.get(key, ())):
            self.never_recorded = self.never_recorded or "arrays without shape and dtype"
        self.meta: Any = None
        if not self.never_recorded:
            # Without the meta device a fake has no arrays to look at.
            try:
                if DispatchKey.Meta in owners.KEY_TYPES:
                    self.meta = entry.explicit_table.find(DispatchKey.Meta.value)
            except NoKernelError:
                pass
            if self.meta is None:
                self.never_recorded = "no shape rule"
        found = resolve(entry, DispatchKey.Meta.value, 0)
        rule = found.slot.kernel if isinstance(found, Resolution) else None
        traits = traits_of(rule)
        #: See `KernelTraits`, and Note [Answers of shape rules] in `recorder_source`.
        self.doubts, self.cache_key = traits.doubts, traits.cache_key
        #: Whether calls are recorded on copies of lent memory; a rule with doubts asks where its argument lies in memory.
        fresh = all(result.kind == "fresh" for result in signature.results)
        self.copies_lent = fresh and not signature.writes and self.doubts is None
        if self.cache_key is None and hasattr(rule, "remembers"):
            warnings.warn(
                f"{entry.name}: answers of a kernel with the attribute remembers are not kept; it is cache_key now",
                DeprecationWarning,
                stacklevel=2,
            )

    def is_elsewhere(self, device: Device) -> bool:
        """Return whether an argument ``device`` names another device than the recorder's."""
        return device.type != self.home or (self.made.index is not None and device.index not in (None, self.made.index))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Record a call, or run it at once where it cannot wait."""
        session = current()
        assert session is not None
        signature = self.signature
        values = args
        if kwargs:
            values = (*args, *(kwargs[each.name] for each in signature.parameters[len(args) :]))
        if self.never_recorded:
            return self._run_eagerly(session, values, self.never_recorded)
        values = signature.map_tensors(
            lambda value: to_step_argument(value, session) if isinstance(value, Pending) else value, values
        )
        views = [result.source for result in signature.results[:1] if result.kind == "view"]
        if views and not session.defers_all and not isinstance(values[views[0]], Pending):
            session.stats.views += 1
            return self.entry.explicit_table[self.mask](*values)
        lent = bool(LENT) and not session.ignores_lent and self._touches_lent(values)
        if lent and not self.copies_lent:
            return self._run_eagerly(session, values, "lent")
        if signature.writes and not session.defers_all:
            why = self.reason_not_deferrable(values)
            if why:
                return self._run_eagerly(session, values, why)
        try:
            rule = session.stats.time_rule(self.meta) if session.options["trace"] else self.meta
            given = self._describe(values)
            session.ask(rule, given)
            described = intern_spec(watch("meta", self.entry.name, rule)(*given))
        except NotImplementedError as error:
            why = str(error).partition("\n")[0]
        else:
            why = "" if self.doubts is None else self.doubts(*given)
            taken = self._copy_lent(session, values) if lent and not why else values
            found = None if why or taken is None else self._record(session, taken, described)
            if found is not None:
                return found[0]
            why = why or ("lent" if taken is None else "the result takes the place of an argument's array")
        return self._run_eagerly(session, values, why)

    def _describe(self, values: tuple[Any, ...]) -> list[Any]:
        """Return the arguments of the shape rule: array specs instead of arrays and pending values."""
        found = list(self.signature.map_tensors(describe, values))
        if self.signature.device_index is not None:
            found[self.signature.device_index] = None
        return found

    def _record(self, session: Session, values: tuple[Any, ...], described: Any) -> tuple[Any] | None:
        signature = self.signature
        outputs: list[Pending | None] = []
        results = []
        for result, meta in zip(signature.results, signature.unpack(described), strict=True):
            if result.kind == "self":
                results.append(values[result.source])
                if not _same(describe(values[result.source]), meta):
                    return None
                continue
            memory = _memory_of(session, values[result.source]) if result.kind == "view" else None
            if result.is_list:
                made: Any = [self._pending(session, each, memory) for each in meta]
                outputs += made
            else:
                made = None if meta is None else self._pending(session, meta, memory)
                outputs.append(made)
            results.append(made)
        session.add(self.step.of(values, tuple(outputs), *caller_location()))
        return (signature.pack(results),)

    def reason_not_deferrable(self, values: tuple[Any, ...]) -> str:
        """Return why a write cannot be deferred, or ""."""
        read: list[Any] = []
        written: list[Any] = []
        for each, value in zip(self.signature.parameters, values, strict=True):
            if each.tensors and value is not None:
                found = written if each.writes else read
                found += [item for item in value if item is not None] if "list" in each.tensors else (value,)
        if not self.has_frontend and not all(isinstance(value, Pending) for value in written):
            return "others can see the memory that it writes to"
        targets = set(map(id, written))
        if "pointwise" not in self.entry.tags and not targets.isdisjoint(map(id, read)):
            # Kernels refuse it, but for those that read each element where they write it.
            return "it reads from the tensor that it writes to"
        others = [each for each in read if not (_has_no_views(each) or id(each) in targets)]
        if others:
            # Whether they overlap, which kernels refuse, no shape rule knows.
            places = set(map(storage_key, written))
            if any(storage_key(each) in places for each in others):
                return "it reads from the memory that it writes to"
        return ""

    def _touches_lent(self, values: tuple[Any, ...]) -> bool:
        """Return whether the user may write to memory that a call touches; see Note [Lent memory] in `lent_memory`."""
        return any(is_lent(storage_key(each)) for _, each in self.signature.tensors(values) if not _has_no_views(each))

    def _copy_lent(self, session: Session, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return the arguments with copies of those in lent memory; None where the call must run at once."""
        arrays = [each for _, each in self.signature.tensors(values)]
        copies = session.copy_all_lent(self.made, arrays)
        if copies is None:
            return None
        by_id = dict(zip(map(id, arrays), copies, strict=True))
        return self.signature.map_tensors(lambda each: by_id[id(each)], values)

    def _pending(self, session: Session, meta: object, memory: PendingMemory | None) -> Pending:
        if not self.has_strides:
            # Arrays whose type knows no strides are row-major, whatever a shape rule would make of the elements' order.
            meta = row_major_spec(meta)
        return self.made.of(meta, memory, session)

    def _run_eagerly(self, session: Session, values: tuple[Any, ...], why: str) -> Any:
        return session.run_eagerly(self.step.of(values, (), None, 0), why)


def _memory_of(session: Session, value: object) -> PendingMemory:
    """Return the memory that views of a value lie in; only a captured call's are of arrays that are there."""
    if isinstance(value, Pending):
        return value.memory
    assert session.recording is not None
    return session.recording.memory_of(value)


def _has_no_views(value: object) -> bool:
    """Return whether no other value can lie in a value's memory."""
    return isinstance(value, Pending) and value.shared is None


def _same(given: Any, found: Any) -> bool:
    """Return whether a written argument keeps its shape and strides."""
    if isinstance(given, (list, tuple)):
        return all(map(_same, given, found))
    return (
        found is None
        or found is given
        or (access.shape(found) == access.shape(given) and access.strides(found) == access.strides(given))
    )


def _find_int_values(signature: CallSignature, key: DispatchKey) -> tuple[int, ...]:
    """Return the indices of the arguments whose ints are values; see Note [Ints that are values] in `program`."""
    if all(each.mutable for each in owners.KEY_TYPES.get(key, ())):
        return ()
    if signature.is_factory and all(each.name != "size" for each in signature.parameters):
        return ()  # The shape of an ``arange`` depends on its numbers.
    return tuple([index for index, each in enumerate(signature.parameters) if each.type == "Scalar" and each.required])


def _reason_never_recorded(entry: OperatorEntry, signature: CallSignature) -> str:
    """Return why calls of an operator are never recorded, or ""."""
    if not signature.results and not signature.writes and EXCHANGES not in entry.tags:
        return "no result"
    if any(result.kind == "other" for result in signature.results):
        return HOST_READ
    if signature.schema.is_vararg or signature.schema.is_varret:
        return "the schema fixes no arguments or results"
    return ""
