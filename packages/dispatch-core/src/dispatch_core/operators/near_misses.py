"""Kernels for operators without a definition, in the namespace of an operator library: most of them are misspelt.

To register for a name without a schema makes an operator, as in torch, and so a kernel for ``expp`` is never called and
never missed. In the namespace of an operator library, where all operators are known, it is said at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import transactions
from ..discovery import loader
from ..errors import UnknownOperatorWarning

if TYPE_CHECKING:
    from .entry import OperatorEntry
    from .registration import Registration
    from .registries import Registry

_SHOWN = 5


def is_unknown(entry: OperatorEntry) -> bool:
    """Return whether no schema was defined for an operator in the namespace of a loaded operator library."""
    return entry.schema is None and has_library(entry)


def has_library(entry: OperatorEntry) -> bool:
    """Return whether an operator's namespace is that of an installed operator library, which is loaded."""
    return loader().has_operators(entry.operator_name.namespace or "")


def warn_of_unknown(entry: OperatorEntry, registration: Registration) -> None:
    """Warn of a kernel for an operator that nothing defines, if there are operators of much the same name."""
    if is_unknown(entry) and (names := near(entry)):
        transactions.warn(
            f"a kernel for {entry.name} is registered under {registration.key.label} at {registration.origin}, and no"
            f" operator has that name; did you mean {' or '.join(names)}?",
            UnknownOperatorWarning,
            registration.origin,
        )


def near(entry: OperatorEntry) -> list[str]:
    """Return the full names of defined operators that an operator's name may have been meant for, the nearest first."""
    from difflib import get_close_matches  # only a wrong name needs it

    registry, name = entry.registry, entry.operator_name
    overloads = _list_defined(registry, name.packet)
    if overloads:
        close = get_close_matches(name.overload, overloads, n=3)
        return [overloads[each] for each in close] or [*overloads.values()][:_SHOWN]
    prefix = f"{name.namespace}::"
    packets = [packet.removeprefix(prefix) for packet in registry.packet_names() if packet.startswith(prefix)]
    found = []
    for each in get_close_matches(name.name, packets, n=3, cutoff=0.75):
        overloads = _list_defined(registry, prefix + each)
        found += [overloads.get(name.overload) or next(iter(overloads.values()))] if overloads else []
    return found


def _list_defined(registry: Registry, packet: str) -> dict[str, str]:
    """Return the overloads of a packet that have a schema, and their full names."""
    overloads = registry.find_overloads(packet)
    return {overload: entry.name for overload, entry in overloads.items() if entry.schema is not None}
