"""Faults of a loaded plugin: kernels for unknown operators, kernels that no call fits, missing kernels.

It looks at every kernel of a plugin, which a program that only wants to run has no time for; the doctor asks for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from dispatch_core import KernelFactory, OperatorEntry, Registry
from dispatch_core.inspection import KEY_TYPES, Registration, find_functional, has_library, is_unknown, near, normalize
from dispatch_core.keys import DispatchKey

#: A backend without a device or kernels: its missing operators are those without a decomposition.
_UNSERVED = "DoctorsNobody"


def faults_of(registry: Registry, distribution: str) -> Iterator[str]:
    """Yield the faults of the kernels that a distribution has registered, a sentence each."""
    for entry, registration in _registered_by(registry, distribution):
        place = f"{entry.name} under {registration.key.label} ({registration.origin.short})"
        if is_unknown(entry):
            names = near(entry)
            meant = f"; did you mean {' or '.join(names)}?" if names else ""
            yield f"{place}: no operator has that name{meant}"
        elif fault := misfit(entry, registration):
            yield f"{place}: {fault}"


def _registered_by(registry: Registry, distribution: str) -> Iterator[tuple[OperatorEntry, Registration]]:
    wanted = normalize(distribution)
    for entry in registry:
        for key in {*DispatchKey, *entry.direct_keys()}:
            for found in (*entry.registrations(key), *entry.specialized_kernels(key)):
                if normalize(found.origin.distribution) == wanted:
                    yield entry, found


def misfit(entry: OperatorEntry, registration: Registration) -> str:
    """Return why a kernel cannot be called with its operator's arguments; ``""`` where it can, or its signature is unknown.

    >>> from dispatch_core import Library, Registry
    >>> r = Registry()
    >>> library = Library("demo", "DEF", registry=r)
    >>> _ = library.define("scale(Tensor self, *, float by) -> Tensor")
    >>> _ = library.impl("scale", lambda self: self, "CPU")
    >>> entry = r.get("demo::scale")
    >>> misfit(entry, entry.newest(DispatchKey.CPU))
    "the kernel is called as (self, *, by): got an unexpected keyword argument 'by'"
    """
    schema, fn = entry.schema, registration.fn
    if schema is None or registration.is_fallthrough or isinstance(fn, KernelFactory):
        return ""
    when = None if registration.when is None else registration.when[0]
    positional = ["keyset"] * registration.with_keyset
    positional += [each.name for each in schema.positional if each.name != when]
    keywords = [each.name for each in schema.keyword_only if each.name != when]
    for follow in (False, True):
        try:
            signature = inspect.signature(fn, follow_wrapped=follow)
        except (TypeError, ValueError):  # Functions in C may have no signature.
            return ""
        try:
            signature.bind(*positional, **dict.fromkeys(keywords))
        except TypeError as error:
            called = ", ".join([*positional, *(["*", *keywords] if keywords else [])])
            return f"the kernel is called as ({called}): {error}"
    return ""


def missing_kernels(registry: Registry, key: DispatchKey, distribution: str) -> tuple[int, list[str]]:
    """Return how many operators nothing composes, and which of them a backend has no kernel for.

    They are those of the operator libraries for whose operators the backend has registered at least one kernel. A composite
    that serves some types of arrays only says so by its trait ``serves``, a function of whether they can be written to
    and whether they have strides.
    """
    types = KEY_TYPES.get(key, ())
    mutable = all(each.mutable for each in types)
    strided = not types or any(each.strides is not None for each in types)
    own = {entry.operator_name.namespace for entry, found in _registered_by(registry, distribution) if found.key is key}
    unserved = DispatchKey.register_backend(_UNSERVED)
    needed, missing = 0, []
    for entry in registry:
        name = entry.operator_name
        if entry.schema is None or name.namespace not in own or not has_library(entry):
            continue
        composite = entry.slot(unserved).registration
        if composite is None:
            is_needed = mutable or find_functional(entry) is None
        else:
            serves = composite.traits.serves
            is_needed = serves is not None and not serves(mutable, strided)
        if is_needed:
            needed += 1
            if entry.newest(key) is None:
                missing.append(entry.name)
    return needed, sorted(missing)
