"""Explaining a call: the overload, the keys, those that are passed over, the winner and the origin of its registration.

Overloads are matched by `schema.check`, keys walked by `resolution`, and a refusal is the error that the call raises.
No kernel runs and none is made; only the first effects of the call itself may come about: that the operator library
is loaded, the backend of an array, of a device or of a key, and that a frontend registers its Autograd kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dispatch_core import OperatorEntry, OpOverload, OpOverloadPacket, Registry, device_key
from dispatch_core.devices import Device
from dispatch_core.errors import DispatchError, DispatchKeyError
from dispatch_core.inspection import (
    COMPUTED_FOR,
    COPIES,
    FRONTENDS,
    MARKERS,
    MIXED,
    Candidate,
    Registration,
    Resolution,
    Slot,
    TypedCalls,
    arguments_mask,
    closed_error,
    codegen,
    computes_late,
    context,
    entries_of,
    explain_passing_over,
    find_index,
    find_masked_off,
    frontend_of,
    included_mask,
    is_tensor,
    kernel_name,
    list_candidates,
    mask_of,
    no_kernel_error,
    refuse_mixed,
    resolve,
    takes_one_unknown,
    unchecked_mask,
    unwritable_error,
    walk_keys,
)
from dispatch_core.keys import ARRAYS, DispatchKey, DispatchKeySet, KeysetLike, as_mask, keys_of
from dispatch_core.schema import bind, invalid_combination, mismatch
from dispatch_core.tracebacks import api_boundary

from .model import ArgumentKeys, CandidateOutcome, Explanation, KeyOutcome, Overload, describe_slot, show_keys

Values = tuple[Any, ...]


@api_boundary
def explain(
    op: str | OpOverload | OpOverloadPacket,
    /,
    *args: Any,
    keyset: KeysetLike | None = None,
    registry: Registry | None = None,
    **kwargs: Any,
) -> Explanation:
    """Explain which kernel a call of ``op`` with these arguments would run, and why. Nothing is run.

    ``op`` is a name, an overload or a packet. With ``keyset``, it explains ``dispatch_with_keyset(op, keyset, ...)``; the
    arguments may be left out then, and an operator's first overload is meant unless one is named. ``registry`` is where a
    name is looked up. A call that would be refused is explained too, with its ``error``.
    Raises ``OperatorNotFoundError`` for an unknown name, ``DispatchKeyError`` for an unknown key.

    >>> r = Registry()
    >>> _ = r.register_kernel("demo::f", "CPU", len)
    >>> _ = r.register_fallthrough("demo::f", "AutogradCPU")
    >>> explanation = explain("demo::f", keyset=["AutogradCPU", "CPU"], registry=r)
    >>> [(step.key, step.outcome, step.kernel) for step in explanation.steps]
    [('AutogradCPU', 'passed over', ''), ('CPU', 'runs', 'builtins.len')]
    """
    entries = entries_of(op, registry)
    state = context.current() or (0, 0)
    about: dict[str, Any] = {
        "included": DispatchKeySet(state[0]),
        "excluded": DispatchKeySet(state[1] & _all_keys()),
    }
    named = keyset is not None and not args and not kwargs
    entry, about["overloads"] = (entries[0], _first(entries)) if named else _choose(entries, args, kwargs)
    if entry is None:
        # Each overload misses something, as the call's own error says.
        packet = entries[0].operator_name.packet
        schemas = [each.schema for each in entries if each.schema is not None]
        error = invalid_combination(packet, schemas, args, kwargs, is_tensor)
        return Explanation(operator=packet, schema="", error=error, **about)
    if named and len(entries) > 1:
        about["notes"] = (f"no overload is named: the first of {len(entries)} is meant",)
    if entry.closed:
        return Explanation(operator=entry.name, schema="", error=closed_error(entry), **about)
    values: Values | None = None
    own = 0
    if not named:
        try:
            values, own = _bind(entry, args, kwargs)
        except DispatchError as error:
            return _explain_refusal(entry, error, about)
        about["arguments"] = tuple(_argument_keys(entry, values, kwargs))
    if keyset is not None:
        included_mask()
        return _explain(entry, context.apply_to_mask(as_mask(keyset)) | own & MARKERS, 0, values, kwargs, about)
    own = entry.registry.translate_mask(own)
    mask = (own | included_mask() | state[0] | DispatchKey.BackendSelect) & ~state[1]
    # As the masked table does.
    as_given = context.current() is None or (own & ARRAYS).bit_count() > 1
    return _explain(entry, mask, own if as_given else 0, values, kwargs, about)


def _all_keys() -> int:
    """Return every key's bit: an exclusion may hold the bits of keys that are yet to come."""
    return sum(DispatchKey)


def _overload(entry: OperatorEntry, reason: str = "") -> Overload:
    return Overload(
        entry.operator_name.overload or "default", "" if entry.schema is None else str(entry.schema), reason
    )


def _first(entries: list[OperatorEntry]) -> tuple[Overload, ...]:
    return tuple(_overload(entry, "not named" if index else "") for index, entry in enumerate(entries))


def _choose(
    entries: list[OperatorEntry], args: Values, kwargs: Mapping[str, Any]
) -> tuple[OperatorEntry | None, tuple[Overload, ...]]:
    """Return the overload that the call runs, by the rules of `OpOverloadPacket.resolve`, and why no other one."""
    if len(entries) == 1:
        return entries[0], (_overload(entries[0]),)
    misfits = {
        entry.name: mismatch(entry.schema, args, dict(kwargs), is_tensor)
        for entry in entries
        if entry.schema is not None
    }
    chosen = next((entry for entry in entries if entry.name in misfits and misfits[entry.name] is None), None)
    if chosen is None:
        chosen = next((entry for entry in reversed(entries) if entry.schema is None), None)
    rows = []
    for entry in entries:
        reason = misfits.get(entry.name, "has no schema, and others are asked first")
        reason = (
            "fits too, but comes later" if reason is None else reason.removeprefix("():").removeprefix("()").strip()
        )
        rows.append(_overload(entry, "" if entry is chosen else reason))
    return chosen, tuple(rows)


def _bind(entry: OperatorEntry, args: Values, kwargs: dict[str, Any]) -> tuple[Values, int]:
    """Return the arguments in schema order and their mask; raises the errors of the call."""
    signature = entry.signature
    if signature is None:
        return args, unchecked_mask(args, kwargs)
    values = bind(signature.schema, args, kwargs, is_tensor)
    return values, arguments_mask(signature, values)


def _argument_keys(entry: OperatorEntry, values: Values, kwargs: Mapping[str, Any]) -> Iterable[ArgumentKeys]:
    signature = entry.signature
    named: list[tuple[str, Any]]
    if signature is None:
        named = [*((str(index), value) for index, value in enumerate(values)), *kwargs.items()]
    else:
        pairs = zip(signature.parameters, values, strict=False)
        named = [(parameter.name, value) for parameter, value in pairs if parameter.tensors]
    for name, value in named:
        if isinstance(value, list | tuple):
            items = [(f"{name}[{index}]", item) for index, item in enumerate(value)]
        else:
            items = [(name, value)]
        for place, item in items:
            if item is not None and is_tensor(item):
                owner = frontend_of(item)
                spelled = f"{type(item).__module__}.{type(item).__qualname__}"
                yield ArgumentKeys(place, spelled, DispatchKeySet(mask_of(item)), "" if owner is None else owner.name)


def _explain_refusal(entry: OperatorEntry, error: DispatchError, about: dict[str, Any]) -> Explanation:
    """Explain a call that is refused before its keys count."""
    # Its frames would keep the arguments alive for as long as the explanation.
    return Explanation(**{**_heading(entry), **about, "error": error.with_traceback(None)})


def _heading(entry: OperatorEntry) -> dict[str, Any]:
    schema = "" if entry.schema is None else str(entry.schema)
    return {"operator": entry.name, "schema": schema, "source": source_of(entry)}


def source_of(entry: OperatorEntry) -> str:
    """Return the source of the functions that are generated for calls and redispatches of an operator."""
    if entry.registry.engine is not codegen:
        return f"# {entry.name} is interpreted: see dispatch_core.calls.reference.make_caller and make_redispatcher\n"
    return codegen.show_source(entry)


def _explain(
    entry: OperatorEntry,
    mask: int,
    arguments: int,
    values: Values | None,
    kwargs: dict[str, Any],
    about: dict[str, Any],
) -> Explanation:
    """Explain the resolution of ``mask``; ``arguments`` is as for `resolve`."""
    about = {**_heading(entry), "keys": DispatchKeySet(mask), **about}
    notes = [*about.pop("notes", ())]
    try:
        found = resolve(entry, mask, arguments)
    except DispatchKeyError:
        raise
    except DispatchError as refusal:
        return _explain_refusal(entry, refusal, about)
    if isinstance(found, TypedCalls):
        if found.is_passed_on or values is None:
            found = found.walked
        else:
            try:
                chosen = found.choose(found.arrays_in(values, kwargs))
            except DispatchError as refusal:
                return _explain_refusal(entry, refusal, about)
            if chosen is not None:
                return Explanation(**about, steps=tuple(_typed_steps(found, chosen)), kernel_keys=about["keys"])
            found = found.otherwise
    if not isinstance(found, Resolution):
        return _explain_mixed(entry, found.hook, values or (), kwargs, about)
    index = None if values is None else find_index(entry, mask, values)
    if index == MIXED and entry.name not in COPIES:
        frontend = FRONTENDS.get(mask & MARKERS)
        return _explain_mixed(
            entry, refuse_mixed if frontend is None else frontend.call_mixed, values or (), kwargs, about
        )
    if index not in (None, MIXED):
        notes.append(
            f"several devices of the type are in use: it runs on that with index {index}, where its arrays lie"
        )
    about |= {"steps": tuple(_steps(found)), "kernel_keys": DispatchKeySet(found.effective)}
    about["candidates"] = tuple(_candidates(found, values))
    over = keys_of(found.mask & ~found.effective)
    if any(key.kind == "autograd" for key in over) and not any(each.autograd for each in list(FRONTENDS.values())):
        notes.append("no frontend with autograd is imported here: one that is brings kernels for Autograd keys")
    error: DispatchError | None = None
    then: Explanation | None = None
    boundary, functional, place = found.boundary(), found.functional(), found.selects_device()
    if functional is not None and boundary is not None:
        notes.append(f"arrays of {boundary.key.name} cannot be written to: the tensor is bound to a new one")
        if boundary.frontend is None and values is not None:
            error = unwritable_error(entry, functional, boundary)
        else:
            then = _explain(functional, found.effective & ~MARKERS, 0, None, {}, {})
    elif place is not None:
        then, error, note = _explain_selected(found, place, values)
        notes.append(note)
    elif found.slot.registration is None:
        error = no_kernel_error(found)
    else:
        notes += _notes(found, found.slot.registration, values, kwargs)
    if then is not None:
        error = then.error
    return Explanation(**about, notes=tuple(notes), error=error, then=then)


def _steps(found: Resolution) -> Iterable[KeyOutcome]:
    """Yield the outcome of each key of the set, and the empty set's slot where all are passed over."""
    for key, slot, passed_over in walk_keys(found.entry, found.mask):
        if passed_over:
            yield KeyOutcome(key.name, "passed over", explain_passing_over(key, slot))
        elif key is found.key:
            yield _found_step(found, key.name, slot)
        else:
            yield describe_slot(key.name, "below", slot)
    if found.key is None:
        yield _found_step(found, "Undefined", found.slot)


def _typed_steps(found: TypedCalls, chosen: Registration) -> Iterable[KeyOutcome]:
    """Yield the outcome of each key of a call that a kernel for a set of types serves."""
    for key, slot, passed_over in walk_keys(found.entry, found.mask):
        reason = explain_passing_over(key, slot) if passed_over else "the call is served by the types of its arrays"
        yield KeyOutcome(key.name, "passed over", reason)
    yield describe_slot(chosen.key.name, "runs", Slot("kernel for a set of types", chosen))


def _found_step(found: Resolution, key: str, slot: Slot) -> KeyOutcome:
    functional = found.functional()
    if functional is not None:
        return KeyOutcome(key, "runs", "the arrays cannot be written to", functional.name)
    if found.selects_device() is not None:
        return KeyOutcome(key, "runs", "the core's own rule for factories", "the choice of a device by argument")
    return describe_slot(key, "missing" if slot.registration is None else "runs", slot)


def _candidates(found: Resolution, values: Values | None) -> Iterable[CandidateOutcome]:
    """Yield the functions that may serve the call, in the order in which they are asked, and those that may not."""
    is_served = False
    for each in list_candidates(found, is_plain=not found.explicit and context.current() is None, hidden=True):
        if each.registration is None:
            continue  # the core's own rule, or nothing: the keys tell
        reason = each.reason or ("a candidate before it serves the call" if is_served else _misfit(each, values))
        is_sure = not (reason or each.registration.may_decline) and (values is not None or not each.is_inlined)
        is_served = is_served or is_sure
        kind = "short way" if each.way is not None else "specialized kernel" if each.is_inlined else "kernel"
        made = each.registration
        yield CandidateOutcome(
            kernel_name(made.fn), kind, made.key.name, str(made.level), _served_calls(made), reason, made.origin
        )


def _served_calls(made: Registration) -> str:
    """Return the calls that a candidate serves, as text."""
    calls = "always" if made.when is None else f"calls with {made.when[0]}={made.when[1]!r}"
    return f"{'plain calls' if made.is_short else calls}{', unless it declines' * made.may_decline}"


def _misfit(candidate: Candidate, values: Values | None) -> str:
    """Return why a kernel for one value of an argument does not serve the call; "" for other kernels, or if it may."""
    registration, entry = candidate.registration, candidate.found.entry
    if registration is None or registration.when is None or values is None or entry.schema is None:
        return ""
    name, value = registration.when
    names = [argument.name for argument in entry.schema.arguments]
    if name not in names:
        return f"the schema has no argument {name!r}"
    given = values[names.index(name)]
    # As generated code asks: equal is not enough, and a tensor answers with a tensor.
    return "" if type(given) is type(value) and given == value else f"{name} is {given!r}"


def _notes(found: Resolution, winner: Registration, values: Values | None, kwargs: dict[str, Any]) -> list[str]:
    """Return further facts about the winner."""
    entry, notes = found.entry, []
    if winner.with_keyset:
        notes.append(f"the kernel gets the keyset {show_keys(DispatchKeySet(found.effective))} first")
    if computes_late(found.mask) and not (found.key is not None and takes_one_unknown(entry, found.key)):
        times = COMPUTED_FOR[entry.name]
        notes.append(f"arrays whose sizes are not known are computed first ({times} were in calls so far)")
    if found.is_composite():
        off = DispatchKeySet(find_masked_off(entry, found.mask, values or (), kwargs) if found.explicit else 0)
        without = f", without the keys that are masked off: {show_keys(off)}" if off else ""
        notes.append(f"a composite: the operators that it calls are dispatched again{without}")
    return notes


def _explain_selected(
    found: Resolution, index: int, values: Values | None
) -> tuple[Explanation | None, DispatchError | None, str]:
    """Return where a factory goes on, or why it does not, and a note on its argument."""
    if values is None:
        return None, None, "the device argument decides where the call goes on"
    wanted = values[index]
    try:
        device = Device("cpu") if wanted is None else Device.parse(wanted)
        key = device_key(device.type)
    except DispatchError as error:
        return None, error.with_traceback(None), f"the device asked for is {wanted}"
    mask = context.apply_exclusions(found.effective & ~DispatchKey.BackendSelect | key.value)
    given = "is None, which means cpu" if wanted is None else f"is {device}"
    note = f"the device argument {given}: its key is {key.name}"
    return _explain(found.entry, mask, 0, values, {}, {}), None, note


def _explain_mixed(
    entry: OperatorEntry, hook: Any, values: Values, kwargs: dict[str, Any], about: dict[str, Any]
) -> Explanation:
    """Explain a call whose tensors lie on several devices: refused, unless their frontend has a hook that decides."""
    signature = entry.signature
    if hook is not refuse_mixed:
        note = f"the tensors lie on several devices: their frontend decides, in {kernel_name(hook)}"
        return Explanation(**about, notes=(note,))
    positional, named = signature.split(values) if signature is not None else (list(values), kwargs)
    try:
        refuse_mixed(entry.op, tuple(positional), named)
    except DispatchError as error:
        return _explain_refusal(entry, error, about)
    raise AssertionError("refuse_mixed raises")
