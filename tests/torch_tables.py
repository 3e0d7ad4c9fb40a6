"""Replay random registration programs of torch's dispatcher in a registry of ours, and compare tables and calls.

A record is what torch answered for one operator ``f(int x) -> int``: the registrations (key and kind), the winner of every
slot of its table, and calls with an include and an exclude set. A winner is ``#i`` (registration i), ``ft#i`` (it is a
fallthrough), ``builtin`` or ``ft:builtin`` (a fallback that torch itself brings), ``ambiguous`` or ``missing``.

Two differences from torch are meant, and are part of what is compared:

* torch keeps one bit per backend and one per functionality, so excluding CPU there hides the dense key of every device.
  Exclusions are expanded to single keys first, and only sets with one backend and one Autograd key are comparable.
* A key with nothing in its slot is an error in torch; here functionality keys, and PrivateUse keys that no backend claims,
  are passed over.
"""

from __future__ import annotations

import itertools
import warnings
from functools import cache

import dispatch_core as dc

PROFILE = "torch-2.13"
_PREFIXES = ("Quantized", "SparseCsr", "Sparse", "NestedTensor", "Autograd", "Autocast")
_BACKENDS = ("CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta").split()
_IMPLICIT = "CompositeImplicitAutograd"
_serial = itertools.count()


@cache
def parts(key):
    """Return a key's functionality and backend: ("Sparse", "CPU"), ("", "CPU") or ("Tracer", "")."""
    for prefix in ("", *_PREFIXES):
        if key.startswith(prefix) and key[len(prefix) :] in _BACKENDS:
            # torch's autocast keys are functionalities of their own.
            return (key, "") if prefix == "Autocast" else (prefix, key[len(prefix) :])
    return key, ""


def is_comparable(call):
    """Return whether shared bits play no part in a call: one backend, and one Autograd key at most."""
    backends = {parts(key)[1] for key in call["include"]} - {""}
    autograds = [key for key in call["include"] if key.startswith("Autograd")]
    return len(backends) <= 1 and len(autograds) <= 1


def expand(keys):
    """Return the single keys that torch excludes together: a functionality of every backend."""
    found = set()
    for key in keys:
        functionality, backend = parts(key)
        found |= {functionality + other for other in _BACKENDS} if backend else {key}
    return found


def make_registry(header, *, interpreted=False):
    """Return a registry with the fallbacks that torch brings."""
    registry = dc.Registry(profile=PROFILE, interpreted=interpreted)
    autograd = dc.DispatchKey.AutogradOther.rank_in(PROFILE)

    def below_autograd(keyset, op, *args):
        below = [key for key in keyset if key.rank_in(PROFILE) < autograd]
        return op.redispatch(dc.DispatchKeySet(below), *args)

    def not_here(op, *args):
        raise AssertionError(f"a fallback of torch's own was reached by {op}")

    for key, kind in header["builtin_fallbacks"].items():
        if kind == "fallthrough":
            registry.register_fallback(key, dc.fallthrough_kernel)
        elif key.startswith("Autograd"):
            registry.register_fallback(key, below_autograd, with_keyset=True)
        else:
            registry.register_fallback(key, not_here)
    return registry


def replay(registry, program):
    """Register a record's program; return the operator's entry and the registrations."""
    name = f"replay::f{next(_serial)}"
    registry.register_schema(name, f"f{name[9:]}(int x) -> int")
    registrations = []
    for index, (key, kind) in enumerate(program):
        kernel = dc.fallthrough_kernel if kind.endswith("fallthrough") else lambda *args, index=index: index
        if kind.startswith("fallback"):
            registrations.append(registry.register_fallback(key, kernel))
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dc.OverwriteWarning)
            registrations.append(registry.register_kernel(name, key, kernel))
    return registry.get(name), registrations


def take_back(registry, entry, registrations):
    """Undo a program, so that the next one can use the same registry."""
    for found in reversed(registrations):
        registry.remove_fallback(found) if found.boxed else registry.remove_kernel(entry, found)
        if registry.fallbacks.get(found.key) is found:
            registry.remove_fallback(found)
    registry.remove_schema(entry, entry.schema)


def winner(registrations, slot):
    """Spell a slot's winner as the records do."""
    if slot.rule == "ambiguous autogradother":
        return "ambiguous"
    if slot.registration is None:
        return "missing"
    place = next((f"#{i}" for i, own in enumerate(registrations) if own is slot.registration), "")
    if slot.registration.is_fallthrough:
        return f"ft{place}" if place else "ft:builtin"
    return place or "builtin"


def call(registry, entry, include, exclude):
    """Make a call and spell its outcome as the records do."""
    try:
        with dc.include_keys(include), dc.exclude_keys(expand(exclude)):
            return f"#{registry.dispatch_with_keyset(entry.name, dc.DispatchKeySet(), 0)}"
    except dc.NoKernelError as error:
        place = str(error).partition("no kernel for ")[2].partition(",")[0]
        if "ambiguous" in str(error):
            return "ambiguous"
        return f"missing:{place}" if place and "key" not in place else "missing:Undefined"


@cache
def ranks_and_owners(runtime_keys, members):
    """Return each key's rank, and the keys that own arrays: members of the composite alias, but for Autograd keys."""
    order = {key: rank for rank, key in enumerate(runtime_keys)}
    return order, {key for key in members if key in order and not key.startswith("Autograd")}


def model(header, table, include, exclude):
    """Answer a call from a recorded table: (torch's own answer, ours where a missing functionality is passed over)."""
    order, owners = ranks_and_owners(tuple(header["runtime_keys"]), tuple(header["alias_members"][_IMPLICIT]))
    keys = sorted(set(include) - expand(exclude), key=order.__getitem__, reverse=True)
    keys = [key for key in keys if not table[key].startswith("ft")]

    def answer(keys, *, strict):
        for key in keys:
            found = table[key]
            if found == "missing" and not strict and (key not in owners or "PrivateUse" in key):
                continue
            if found == "missing":
                return f"missing:{key}"
            if found == "builtin" and key.startswith("Autograd"):
                return answer([key for key in keys if order[key] < order["AutogradOther"]], strict=strict)
            return found
        found = table["Undefined"]
        if found.startswith("ft"):
            # torch calls the marker there and fails an assertion.
            return "called-fallthrough" if strict else "missing:Undefined"
        return "missing:Undefined" if found == "missing" else found

    return answer(keys, strict=True), answer(keys, strict=False)


def differences(header, record, registry):
    """Return where our tables and calls differ from a record, and how many calls were compared."""
    entry, registrations = replay(registry, record["registrations"])
    found, compared = [], 0
    for key, wanted in record["table"].items():
        slot = entry.slot(None if key == "Undefined" else dc.DispatchKey[key])
        got, rule = winner(registrations, slot), record["provenance"][key]
        if got != wanted or (slot.rule != rule and not rule.startswith(slot.rule)):
            found.append((key, (wanted, rule), (got, slot.rule)))
    for made in record["calls"]:
        if not is_comparable(made):
            continue
        theirs, ours = model(header, record["table"], made["include"], made["exclude"])
        # The model is held against torch's recorded answer first, so that it cannot excuse a difference.
        if theirs != made["result"]:
            found.append(("model", made, theirs))
        got = call(registry, entry, made["include"], made["exclude"])
        if got != ours:
            found.append((made, ours, got))
        compared += 1
    take_back(registry, entry, registrations)
    return found, compared
