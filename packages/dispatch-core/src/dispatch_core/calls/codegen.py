"""Calls and kernels as generated Python functions, specialised to one operator's schema.

Note [Raw arrays change the code]
    Most operators are called either on a frontend's tensors or on raw arrays. A callable starts with the code for tensors
    alone; the first raw array makes it take over the code that also looks at the arguments' types.

Note [The specialized mask is compiled in]
    A call is specialized for the first mask that it meets, and once more for the first whose kernel belongs to a device with
    data, if that is another.
    The callable asks no table for that mask, and does the work of a device kernel's runner itself. Everything that such
    code knows of the kernel is a constant of the code object, not a global: a registration that changes it takes the whole
    code away at once, and a call under way in another thread ends as it began.
    The same goes for a few masks under states of the context's masks, where a runner has lines for them (`Inlined`): an
    open pipeline's recorder, a mode; and for kernels in the states in which modes run their handlers.

`source` writes the text; `reference` has the same functions in plain code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..arrays.frontend import FRONTENDS, Frontend
from ..arrays.owners import TYPE_MASKS, is_tensor
from ..devices import Device
from ..keys import context
from ..keys.keyset import DispatchKeySet, as_mask
from ..keys.table import MARKERS
from ..schema.check import argument_error, bind
from ..schema.words import declaration
from ..tracebacks import trim_traceback
from . import reference
from .adapters import NOTHING, SignatureAdapter, adapt_signature, has_stop, make_refusal
from .bodies import Body, takes_in_order
from .boundary import frontend_of_type, make_wrapper
from .emit import indent, make_function, prefix_constant, rename_constants, rename_parameters
from .engine import KernelCall
from .first_calls import make_first_calls as plain_first_calls
from .lazy_function import FirstCalls, Found, LazyFunction
from .native import find_front
from .overriding import make_attempt, make_error_test
from .result_lines import all_values
from .signature import CallSignature, ResultCheck
from .source import (
    SpecializedMask,
    SpecializedState,
    call_source,
    fast_redispatch_source,
    history_lines,
    kernel_arguments,
    makes_tensors,
    redispatch_source,
    runner_source,
    values,
)
from .traits import Runner, RunnerTraits

if TYPE_CHECKING:
    from ..operators.entry import OperatorEntry
    from ..operators.runners import DeviceChoice
    from .native.plans import CallPlan


def make_first_calls(entry: OperatorEntry, adapter: SignatureAdapter | None = None) -> FirstCalls:
    """Return the function by which plain code serves the first calls; see Note [First calls run in plain code].

    For other calls of an overload it looks the runner up, so that its mask is known when the code is made.
    """
    find = plain_first_calls(entry, adapter)
    if adapter is not None:
        return find

    def find_or_warm_up(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Found | None:
        found = find(args, kwargs)
        return _warm_up(entry, args, kwargs) if found is None else found

    return find_or_warm_up


def make_plan(entry: OperatorEntry, adapter: SignatureAdapter | None = None) -> CallPlan | None:
    """Return how a compiled front serves a function's calls; see Note [A compiled front] in `native`."""
    front = find_front()
    if front is None:
        return None
    from .native.plans import CallPlan  # which others do without

    return CallPlan(entry, adapter, front)


def _warm_up(entry: OperatorEntry, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Found | None:
    """Look up the runner of a call, and return one that is for this call alone; errors of arguments are left to the call."""
    signature = entry.signature
    if signature is None or not signature.is_specializable or context.current() is not None:
        return None
    mask = None
    with suppress(Exception):
        values = bind(signature.schema, args, kwargs, is_tensor)
        mask = reference.arguments_mask(signature, values)
    if mask is None:
        return None
    run = entry.call_table[mask]
    return (run, values, True) if entry.tables.traits_of(run).is_first else None


def make_caller(entry: OperatorEntry) -> Runner:
    """Return the generated function that a user's call runs (see `reference.make_caller`)."""
    signature = entry.signature
    if signature is None or not signature.is_specializable:
        return reference.make_caller(entry)
    interpreted = reference.make_caller(entry)

    def slow_path(*args: object, **kwargs: object) -> object:
        # See Note [Raw arrays change the code].
        if args and not hasattr(args[0], "_dispatch_mask"):
            with entry.registry.lock:
                if signature is entry.signature:
                    entry.op._lazy[0].take(_call(entry, signature, interpreted, raw=True))
        return interpreted(*args, **kwargs)

    return _call(entry, signature, slow_path, raw=False)


def make_adapted_caller(entry: OperatorEntry, adapter: SignatureAdapter) -> Runner:
    """Return the generated function of a frontend (see `reference.make_adapted_caller`)."""
    signature = entry.signature
    if signature is None or not signature.is_specializable:
        return reference.make_adapted_caller(entry, adapter)
    return _call(entry, adapt_signature(signature, adapter), adapter.slow_path, raw=False, adapter=adapter)


def _call(
    entry: OperatorEntry,
    signature: CallSignature,
    slow_path: Runner,
    *,
    raw: bool,
    adapter: SignatureAdapter | None = None,
) -> Runner:
    names = _constants(signature)
    names |= {
        "__table": entry.call_table,
        "__masked": entry.masked_table,
        "__context": context.current,
        "__types": TYPE_MASKS,
        "__slow_path": slow_path,
    }
    if has_stop(signature, adapter):
        names |= {"__nothing": NOTHING, "__refuse": make_refusal(signature, _function_name(signature, adapter))}
    if adapter is not None:
        names |= {f"__extra_{name}": default for name, default in adapter.extra.items()}
        names |= {"__tensor": adapter.tensor_type, "__slow_path_types": adapter.slow_path_types}
        names |= {"__missing": adapter.missing, "__alone": adapter.alone, "__with_out": adapter.with_out}
        names |= {f"__fill_{parameter}": find for parameter, find in adapter.fill.items()}
    if adapter is not None and adapter.override is not None:
        names |= {"__override": make_attempt(signature, adapter), "__not_overridden": NotImplemented}
        names |= {"__is_overridden": make_error_test(adapter), "__plain": adapter.plain_types}
    if adapter is not None and makes_tensors(signature, adapter):
        frontend = frontend_of_type(adapter.tensor_type)
        names["__wrap"] = make_wrapper(adapter.tensor_type)
        specialized, constants = _specialized_factory(entry, signature, frontend)
        source = call_source(signature, specialized=specialized, adapter=adapter)
        return _compile(source, "call", names, signature, constants, adapter)
    specialized, constants = _specialized_mask(entry, signature)
    if specialized is not None and specialized.raw and adapter is None:
        raw = True
    elif specialized is not None and not specialized.raw and specialized.tensor_type is not None:
        names["__tensor"] = specialized.tensor_type
    if specialized is not None and specialized.raw and adapter is not None:
        specialized = None
    masked, others = _specialized_states(entry, signature)
    source = call_source(signature, raw=raw, specialized=specialized, masked=masked, adapter=adapter)
    return _compile(source, "call", names, signature, {**constants, **others}, adapter)


def _specialized_states(
    entry: OperatorEntry, signature: CallSignature
) -> tuple[list[SpecializedState], Mapping[str, Any]]:
    """Return the lines that are compiled in for contexts with masks, and their constants."""
    found: list[SpecializedState] = []
    constants: dict[str, Any] = {}
    for mask, state in entry.specialized_states:
        traits = entry.tables.traits_of(entry.masked_table.get((mask, state)))
        own = traits.inlined or traits.body
        if own is not None:
            number = len(found)
            lines = own.lines(signature)  # which completes the constants
            names = {name: prefix_constant(name, f"within{number}_") for name in own.constants}
            constants |= {names[name]: value for name, value in own.constants.items()}
            constants[f"__state{number}"] = state
            either = own.either if isinstance(own, Inlined) else 0
            found.append(SpecializedState(either, mask, rename_constants(lines, names)))
    return found, constants


def _specialized_mask(
    entry: OperatorEntry, signature: CallSignature
) -> tuple[SpecializedMask | None, Mapping[str, Any]]:
    """Return the lines that are compiled in, and their constants; see Note [The specialized mask is compiled in]."""
    mask = entry.specialized_mask
    runner = None if mask is None else entry.call_table.get(mask)
    if mask is None or runner is None:
        return None, {}
    traits = entry.tables.traits_of(runner)
    body = traits.body
    raw = not mask & MARKERS and signature.has_tensors
    if raw and (body is None or TYPE_MASKS.get(body.constants["__array"]) != mask):
        return None, {}
    if traits.choice is not None:
        return _chosen_device(entry, signature, traits.choice, runner, mask, raw=raw)
    if body is None:
        return SpecializedMask(mask, raw, [f"return __kernel({values(signature)})"], _tensor_type(mask)), {
            "__kernel": runner
        }
    return SpecializedMask(mask, raw, body.lines(signature), _tensor_type(mask)), body.constants


def _chosen_device(
    entry: OperatorEntry, signature: CallSignature, choice: DeviceChoice, select: Runner, mask: int, *, raw: bool
) -> tuple[SpecializedMask, Mapping[str, Any]]:
    """Return the lines of a runner that goes by the ``device`` argument: those for the usual device stand in the caller."""
    lines, constants = [f"return __select({values(signature)})"], {"__select": select, "__home": choice.home}
    body = entry.tables.traits_of(choice.find()).body
    if body is not None:
        device = signature.parameters[choice.index].word
        test = f"if {device} is None{'' if choice.home is None else f' or {device} is __home'}:"
        lines = [test, *indent(body.lines(signature)), *lines]
        constants |= body.constants
    return SpecializedMask(mask, raw, lines, _tensor_type(mask)), constants


def _specialized_factory(
    entry: OperatorEntry, signature: CallSignature, frontend: Frontend[Any]
) -> tuple[SpecializedMask | None, Mapping[str, Any]]:
    """Return the lines by which a frontend's function makes a tensor on the usual device, and their constants."""
    select = None if entry.specialized_mask != 0 else entry.call_table.get(0)
    tables = entry.tables
    choice = tables.traits_of(select).choice
    body = None if choice is None else tables.traits_of(choice.find()).body
    made = None if body is None else body.lines_of_tensors(signature, frontend)
    if choice is None or body is None or made is None:
        return None, {}
    device = signature.parameters[choice.index].word
    lines = [f"if {device} is None{'' if choice.home is None else f' or {device} is __home'}:", *indent(made)]
    constants = {**body.constants, "__home": choice.home, "__new": frontend.new}
    return SpecializedMask(0, False, lines), constants


def _tensor_type(mask: int) -> type | None:
    frontend = FRONTENDS.get(mask & MARKERS)
    return None if frontend is None else frontend.tensor_type


def show_source(entry: OperatorEntry) -> str:
    """Return the source of the functions for calls and redispatches, as it is now."""
    signature = entry.signature
    if signature is None or not signature.is_specializable:
        return f"# {entry.name} is interpreted: see dispatch_core.calls.reference.make_caller and make_redispatcher\n"
    specialized, _ = _specialized_mask(entry, signature)
    masked, _ = _specialized_states(entry, signature)
    call = call_source(
        signature, raw=specialized is not None and specialized.raw, specialized=specialized, masked=masked
    )
    return f"{call}\n\n{redispatch_source(signature)}"


def make_redispatcher(entry: OperatorEntry) -> Runner:
    """Return the generated function for an explicit mask (see `reference.make_redispatcher`)."""
    if entry.signature is None or not entry.signature.is_specializable:
        return reference.make_redispatcher(entry)
    signature = entry.signature
    names = _constants(signature)
    names |= {
        "__table": entry.explicit_table,
        "__context": context.current,
        "__markers": MARKERS,
        "__stays": reference.STAYS,
        "__types": TYPE_MASKS,
        "__interpret": reference.make_redispatcher(entry),
        "__keyset": DispatchKeySet,
        "__as_mask": as_mask,
    }
    return _compile(redispatch_source(signature), "redispatch", names, signature)


def make_fast_redispatch(entry: OperatorEntry, mask: int) -> Runner:
    """Return the generated function that runs the winner for a mask (see `reference.make_fast_redispatch`)."""
    signature = entry.signature
    if signature is None or not signature.is_specializable:
        return reference.make_fast_redispatch(entry, mask)
    names = {"__table": entry.explicit_table, "__context": context.current, "__at": mask}
    return _compile(fast_redispatch_source(signature), "redispatch", names, signature)


def make_caller_runner(
    entry: OperatorEntry, kernel: Runner, prefix: tuple[Any, ...], check: ResultCheck | None = None
) -> Runner:
    """Return a generated runner for a kernel that sees the caller's arguments (see `reference.make_caller_runner`)."""
    signature = entry.signature
    if signature is None or not signature.is_specializable:
        return reference.make_caller_runner(entry, kernel, prefix, check)
    if not prefix and check is None and takes_in_order(kernel, signature):
        return kernel
    arguments = kernel_arguments(signature, len(prefix), unwrap=False)
    names = {f"__before{number}": value for number, value in enumerate(prefix)} | {"__kernel": kernel}
    lines = [f"return __kernel({arguments})"]
    if check is not None:
        names |= {"__check": check.check, "__usual": check.usual}
        first, *others = signature.results
        unusual = "" if others or first.is_list or check.usual is None else "if type(__d) is not __usual: "
        lines = [f"__d = __kernel({arguments})", f"{unusual}__check(__d, ({all_values(signature)}))", "return __d"]
    return _compile(runner_source(signature, lines), "kernel", names, signature)


def make_backend_runner(call: KernelCall) -> Runner:
    """Return a generated runner for a kernel that sees a backend's arrays (see `reference.make_backend_runner`).

    A caller can run the ``body`` of its traits in its place, once the kernel is watched no longer.
    """
    entry, watch, signature = call.entry, call.watch, call.entry.signature
    plain = reference.make_backend_runner(call)
    if signature is None or not signature.is_specializable:
        return plain
    find_body = cache(partial(Body, call, signature))

    def make() -> Runner:
        body = find_body()
        lines = body.lines(signature)  # which completes the constants
        return _compile(runner_source(signature, lines), "kernel", dict(body.constants), signature)

    traits = RunnerTraits(is_watched=True) if watch is not None else RunnerTraits(body=find_body())

    def first_calls(args: tuple[Any, ...], _: dict[str, Any]) -> Found:
        return plain, args, bool(traits.is_watched)

    run = LazyFunction(make, first_calls=first_calls, is_inside=True).function

    def drop_watch() -> None:
        traits.end_watch(find_body())
        entry.specialize_for_runner(run)

    if watch is not None:
        watch.when_ended = drop_watch
    return entry.tables.keep_traits(run, traits)


def make_redirect(entry: OperatorEntry, target: Runner, arguments: Runner, run: Runner) -> Runner:
    """Return a generated runner that calls another operator (see `reference.make_redirect`)."""
    signature = entry.signature
    plain = reference.make_redirect(entry, target, arguments, run)
    if signature is None or not signature.is_specializable:
        return plain
    own = values(signature)
    lines = [
        "try:",
        f"    __r = __arguments({kernel_arguments(signature, 0, unwrap=True, in_order=True)})",
        "except __error:",
        "    __r = __declined",  # the other runner's errors are not raised on account of this one
        f"return __below({own}) if __r is __declined else __target({signature.parameters[0].word}, *__r)",
    ]
    names = {"__arguments": arguments, "__error": Exception, "__below": run, "__target": target}
    names["__declined"] = NotImplemented

    def make() -> Runner:
        return _compile(runner_source(signature, lines), "redirect", names, signature)

    return LazyFunction(make, first_calls=lambda args, _: (plain, args, False), is_inside=True).function


def make_history_choice(
    entry: OperatorEntry,
    recorded: Runner,
    short: Runner,
    has_history: Callable[[Any], bool],
    records: Callable[[], bool] | None,
) -> Runner:
    """Return a generated runner for tensors with and without a history (see `reference.make_history_choice`)."""
    signature = entry.signature
    plain = reference.make_history_choice(entry, recorded, short, has_history, records)
    if signature is None or not signature.is_specializable:
        return plain
    names = {"__recorded": recorded, "__short": short, "__has_history": has_history, "__records": records}
    lines = history_lines(signature, asks=records is not None)

    def make() -> Runner:
        return _compile(runner_source(signature, lines), "choice", names, signature)

    return LazyFunction(make, first_calls=lambda args, _: (plain, args, False), is_inside=True).function


class Inlined:
    """The source lines contributed by another module, for a signature that may be adapted, and their constants.

    ``either`` are the keys that may be or not be among those of the arguments, without which the lines mean the same.
    ``deferral`` is the spec by which the compiled front of calls records a call, ``step`` that by which it hands one to a
    mode, where the lines do nothing else.
    """

    __slots__ = ("constants", "deferral", "either", "lines", "step")

    def __init__(
        self,
        lines: Callable[[CallSignature], Sequence[str]],
        constants: dict[str, Any],
        either: int,
        deferral: dict[str, Any] | None = None,
        step: dict[str, Any] | None = None,
    ) -> None:
        self.lines, self.constants, self.either = lines, constants, either
        self.deferral, self.step = deferral, step


def make_inlined_runner(entry: OperatorEntry, signature: CallSignature, inlined: Inlined) -> Runner:
    """Return a runner made of another module's source lines, which a caller can run in its place."""
    return entry.tables.keep_traits(_compile_lines(signature, inlined), RunnerTraits(inlined=inlined))


def make_late_inlined_runner(entry: OperatorEntry, signature: CallSignature, first: Runner, inlined: Inlined) -> Runner:
    """Return the same, in whose place ``first`` serves the first calls."""
    traits = RunnerTraits()

    def make() -> Runner:
        made = _compile_lines(signature, inlined)
        traits.offer(inlined)
        entry.specialize_for_runner(run)
        return made

    run = LazyFunction(make, first_calls=lambda args, _: (first, args, False), is_inside=True).function
    return entry.tables.keep_traits(run, traits)


def _compile_lines(signature: CallSignature, inlined: Inlined) -> Runner:
    source = runner_source(signature, ["__c = __context()", *inlined.lines(signature)])
    return _compile(source, "recorder", dict(inlined.constants), signature)


def _constants(signature: CallSignature) -> dict[str, Any]:
    """Return the constants of a call: the arguments' defaults and checkers."""
    names: dict[str, Any] = {
        "__none": None,
        "__error": Exception,
        "__trim": trim_traceback,
        "__device_type": Device,
    }
    for index, parameter in enumerate(signature.parameters):
        if not parameter.required:
            names[f"__default{index}"] = parameter.default
        if not parameter.tensors:
            names[f"__check{index}"] = _named_checker(signature, index)
    return names


def _named_checker(signature: CallSignature, index: int) -> Callable[[object], object]:
    """Return the argument's checker, with errors that name operator and argument."""
    check = signature.parameters[index].check

    def check_named(value: object) -> object:
        try:
            return check(value)
        except TypeError as error:
            fault = argument_error(signature.schema, index, value, str(error))
        raise fault

    return check_named


def _compile(
    source: str,
    kind: str,
    names: dict[str, Any],
    signature: CallSignature,
    constants: Mapping[str, Any] = MappingProxyType({}),
    adapter: SignatureAdapter | None = None,
) -> Runner:
    """Make one function; CPython's own argument errors begin with the operator's name and signature."""
    function: Runner = make_function(source, f"{kind} of {signature.name}", names, constants, is_shared=True)
    rename_parameters(function, {p.word: p.name for p in signature.parameters if p.word != p.name})
    function.__name__ = signature.name if adapter is None else adapter.name
    function.__qualname__ = _function_name(signature, adapter)
    return function


def _function_name(signature: CallSignature, adapter: SignatureAdapter | None) -> str:
    """Return the name of a call's function in CPython's own errors."""
    return f"{declaration(signature.schema)}\n{signature.name}" if adapter is None else adapter.name
