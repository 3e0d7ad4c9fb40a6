"""Operators' registrations and computed tables as plain data."""

from __future__ import annotations

from typing import Any

from dispatch_core import OperatorEntry
from dispatch_core.inspection import KEY_DEVICES, kernel_name, kernel_place
from dispatch_core.keys import DispatchKey, DispatchKeySet

from .model import describe_slot, plain


def list_registrations(entry: OperatorEntry) -> list[dict[str, Any]]:
    """Return everything that is registered for an operator itself, highest key first, as plain data."""
    keys = {key for key in DispatchKey if entry.specialized_kernels(key)} | {*entry.direct_keys()}
    rows = []
    for key in sorted(keys, key=lambda key: -key.rank):
        general = entry.registrations(key)
        active = {*general[:1], *(entry.specialized_kernels(key, general[0]) if general else ())}
        for found in (*general, *entry.specialized_kernels(key)):
            rows.append(
                {
                    "key": key.name,
                    "kernel": "fallthrough" if found.is_fallthrough else kernel_name(found.fn),
                    "place": "" if found.is_fallthrough else kernel_place(found.fn),
                    "when": None if found.when is None else f"{found.when[0]}={found.when[1]!r}",
                    "level": str(found.level),
                    "replaced": found not in active,
                    "origin": plain(found.origin),
                }
            )
    return rows


def list_slots(entry: OperatorEntry, keys: DispatchKeySet, *, whole: bool = False) -> list[dict[str, Any]]:
    """Return an operator's computed table as plain data, highest key first; a missing kernel is the empty string.

    Rows are the keys with a registration or a fallback, those of backends that are registered, and ``keys``; with ``whole``,
    every key.
    """
    rows = []
    for key, slot in sorted(entry.computed_table().items(), key=lambda item: -item[0].rank):
        direct = entry.newest(key) is not None or entry.fallback(key) is not None
        backend = key.kind in ("device", "autograd") and key.backend in KEY_DEVICES and slot.registration is not None
        if whole or direct or backend or key in keys:
            step = describe_slot(key.name, "runs", slot)
            kernel = (
                "fallthrough" if slot.registration is not None and slot.registration.is_fallthrough else step.kernel
            )
            rows.append(
                {
                    "key": key.name,
                    "rule": slot.rule,
                    "kernel": kernel,
                    "registered_under": step.registered_under,
                    "origin": plain(slot.origin),
                }
            )
    return rows
