"""The registrations that a plugin may make: kernels under its backend's own keys, and anything for its own operators.

Note [Keys that are not a plugin's own]
    A kernel under another backend's key, a composite or an Autograd kernel of an operator that another package defined
    changes the kernels of other devices' arrays. A plugin that registers one fails to load, unless ``DISPATCH_FOREIGN_KEYS``
    names its device: only the user who runs the program can allow it, not the plugin itself. Its registrations are then
    of the level of all plugins, below those of the program.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dispatch_core.discovery import loader
from dispatch_core.errors import RegistrationError
from dispatch_core.keys.table import DispatchKey

from ..surroundings.distributions import OPERATORS, Distribution, normalize
from .settings import FOREIGN_KEYS

if TYPE_CHECKING:
    from dispatch_core.operators.entry import OperatorEntry
    from dispatch_core.operators.lazy_definitions import LazyKernels
    from dispatch_core.operators.registration import Registration
    from dispatch_core.operators.registries import Registry


def refuse_foreign_keys(
    registry: Registry,
    distribution: Distribution,
    name: str,
    key: DispatchKey | None,
    made: Iterable[tuple[OperatorEntry | str | None, Registration | LazyKernels]],
) -> None:
    """Raise ``RegistrationError`` for the first registration of a plugin that is neither under its keys nor its operator's.

    ``distribution`` is the plugin's, without a name where it is the program; ``name`` is the device's or the namespace's,
    ``key`` the backend's, None for an operator library; ``made`` lists the registrations, each with the operator or its
    name, with the namespace for all of its operators, or with None for a fallback.
    See Note [Keys that are not a plugin's own].
    """
    for operator, registration in made:
        if key is not None and registration.key.backend == key.backend:
            continue
        if operator is not None and _is_own(registry, distribution, operator):
            continue
        named = operator if isinstance(operator, str) else "" if operator is None else operator.name
        kind = "a fallback for every operator" if operator is None else f"a kernel of {named}"
        whose = "an operator library has none" if key is None else f"which are {key.label} and those made from it"
        who = distribution if distribution.name else f"the program's backend for device {name!r}"
        raise RegistrationError(
            f"{who} registers {kind} under {registration.key.label}, at {registration.origin}; a backend"
            f" registers under its own keys only, {whose}, and for operators that it defines",
            hint=f"to allow it all the same, set {FOREIGN_KEYS}={name}",
        )


def _is_own(registry: Registry, distribution: Distribution, operator: OperatorEntry | str) -> bool:
    """Return whether an operator is defined by the distribution, or by none."""
    theirs = normalize(distribution.name)
    if isinstance(operator, str) and "::" not in operator:
        origin = registry.definitions.get(operator)
        return origin is not None and normalize(origin.distribution) == theirs
    entry = registry.find_entry(operator) if isinstance(operator, str) else operator
    if entry is None:
        return True
    # Code that runs from its sources belongs to no distribution, and neither does the program.
    if not theirs and loader().catalog.claims(OPERATORS, entry.operator_name.namespace or ""):
        return False
    if entry.origin is not None:
        return normalize(entry.origin.distribution) == theirs
    keys = [key for key in DispatchKey if entry.registrations(key)]
    return all(normalize(found.origin.distribution) == theirs for key in keys for found in entry.registrations(key))
