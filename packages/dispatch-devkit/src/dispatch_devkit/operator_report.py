"""The report of the command ``explain`` on an operator, made in a process of its own.

To explain a call, everything that the call would load is loaded: the operator library of its namespace, the backends of
the requested keys, and nothing else; without keys that is cpu, where a call without a device goes. All of it happens
in a child process. A plugin that ends that process, or does not come to an end, is left out, and the child begins
again; the output of plugins never gets between the lines of the report.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from dispatch_core import backends as installed_backends
from dispatch_core.errors import BackendError, BackendNotFoundError, DispatchError
from dispatch_core.escapes import to_printable
from dispatch_core.inspection import (
    BACKEND_PREFIXES,
    BACKENDS,
    BLOCK,
    entries_of,
    included_mask,
    is_own,
    loader,
    parse_names,
)
from dispatch_core.keys import DispatchKey, DispatchKeySet
from dispatch_core.tools import import_modules

from .children import end_child, run_in_child, teller
from .explanation import explain, list_registrations, list_slots, source_of


class _FailedError(DispatchError):
    """The child's failure, in its own words."""


def report(request: Mapping[str, Any], timeout: float) -> tuple[dict[str, Any], str]:
    """Return the report for a request, as plain data, and the output of plugins meanwhile.

    ``request`` has the operator's ``name``, the names of ``keys`` and ``devices``, the ``modules`` to import first and this
    process's ``safe_path``, and whether the ``source`` and the ``whole`` table are wanted.
    Raises ``DispatchError`` for unknown names.
    """
    left_out: dict[str, str] = {}
    printed = ""
    while True:
        ended = run_in_child(__name__, {**request, "left_out": left_out}, timeout)
        printed += ended.output
        facts = ended.facts
        if "error" in facts:
            # A key may be unknown because the plugin that brings it is.
            sys.stderr.write(printed + "".join(map(left_out_note, facts.get("skipped", []))))
            raise _FailedError(facts["error"])
        if not ended.fault:
            return facts["report"], printed
        # An error after other distributions' plugins were loaded may be their doing, too.
        others = [device for device in facts.get("loaded", []) if not is_own(BACKENDS, device)]
        guilty = [facts["device"]] if facts.get("device") else others
        if not guilty:
            sys.stderr.write(printed)
            raise BackendError(f"{request['name']} cannot be explained: {ended.fault}")
        left_out |= dict.fromkeys(guilty, ended.fault)


def left_out_note(backend: Mapping[str, str]) -> str:
    """Return the line that says why a backend was left out."""
    return f"note: device {to_printable(backend['device'])} is left out: {to_printable(backend['reason'])}\n"


def run(job: dict[str, Any]) -> None:
    """Make the report for a request: the child's part of `report`."""
    tell = teller(job)
    # Plugins that were left out must not be loaded by the look-up of a key either.
    os.environ[BLOCK] = ",".join([*parse_names(os.environ.get(BLOCK, "")), *job["left_out"]])
    try:
        for module in job["modules"]:
            tell(step=f"while {module} was being imported")
            import_modules([module], safe_path=job["safe_path"])
        backends = _load(job, tell)
        tell(step="while the operator was being looked at", device="")
        keys = DispatchKeySet(job["keys"])
        rows = describe_operators(job["name"], keys, whole=job["whole"], source=job["source"])
    except DispatchError as error:
        tell(error=str(error), done=True)
    else:
        tell(report={"operators": rows, **backends}, done=True)
    end_child()


def describe_operators(name: str, keys: DispatchKeySet, *, whole: bool, source: bool) -> list[dict[str, Any]]:
    """Return the registrations of each overload that a name stands for, and the kernel that wins for each key.

    Raises ``OperatorNotFoundError`` where there is none.
    """
    rows = []
    included_mask()
    for entry in entries_of(name):
        row: dict[str, Any] = {
            "operator": entry.name,
            "schema": "" if entry.schema is None else str(entry.schema),
            "tags": sorted(entry.tags),
            "registrations": list_registrations(entry),
            "table": list_slots(entry, keys, whole=whole),
        }
        if keys:
            explanation = explain(entry.op, keyset=keys)
            row |= {"explanation": explanation.to_dict(), "text": str(explanation)}
        rows.append(row | ({"source": source_of(entry)} if source else {}))
    return rows


def _load(job: Mapping[str, Any], tell: Any) -> dict[str, Any]:
    """Load the backends that a call would load; return those that could not be, and the others that are installed."""
    skipped: list[dict[str, str]] = []
    loaded: list[str] = []
    installed = installed_backends()
    wanted = dict.fromkeys([*job["devices"], *_devices_of(job["keys"], installed)]) or ["cpu"]
    for device in wanted:
        reason = job["left_out"].get(device, "")
        if not reason:
            tell(step=f"while device {device} was being loaded", device=device, loaded=loaded)
            try:
                loader().ensure_backend(device)
                loaded.append(device)
            except BackendNotFoundError:
                # A device of a key's name need not be installed, one that the user names must.
                if device in job["devices"]:
                    raise
                reason = f"No installed distribution provides the device {device!r}"
            except DispatchError as error:
                reason = str(error).partition("\n")[0]
        if reason:
            skipped.append({"device": device, "reason": reason})
    tell(loaded=loaded, skipped=skipped)
    return {"skipped": skipped, "not_loaded": [device for device in installed if device not in wanted]}


def _devices_of(keys: Iterable[str], devices: Iterable[str]) -> list[str]:
    """Return the devices that keys belong to, by their names: before a plugin is loaded nothing else is known of it."""
    names = {_backend_of(key).casefold() for key in keys}
    return [device for device in devices if device.casefold() in names]


def _backend_of(key: str) -> str:
    if key in DispatchKey:
        return DispatchKey[key].backend
    prefix = next((each for each in BACKEND_PREFIXES if key.startswith(each)), "")
    return key.removeprefix(prefix)
