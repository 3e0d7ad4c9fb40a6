"""Which operators a backend has kernels for (`dc.coverage`), to be read as text, in a notebook, or as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from dispatch_core import DispatchKey, OperatorEntry, Registry, device_key
from dispatch_core.display import Column, DataTable, show_count, show_share
from dispatch_core.errors import ArgumentError
from dispatch_core.inspection import load_operators, the_registry

from .fragments import to_details, to_fragment

#: "kernel" is one of the backend's own, "host" the cpu's on copies of the arrays, "composed" a composition of other
#: operators, "none" that the device cannot serve it.
Service = Literal["kernel", "host", "composed", "none"]
_SERVICES: Final[tuple[Service, ...]] = ("kernel", "host", "composed", "none")


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """One operator, with its overload: how each device serves it."""

    operator: str
    services: tuple[Service, ...]


class Coverage:
    """How devices serve the operators of a namespace: counts when printed, each operator in `rows`."""

    def __init__(self, namespace: str, devices: tuple[str, ...], rows: Iterable[CoverageRow]) -> None:
        self.namespace, self.devices = namespace, devices
        self.rows = tuple(rows)

    def count(self, device: str) -> dict[Service, int]:
        """Return how many operators a device serves in each way. Raises ``ArgumentError`` for a device not asked about."""
        found = Counter(row.services[self._place(device)] for row in self.rows)
        return {service: found[service] for service in _SERVICES}

    def operators(self, device: str, service: Service = "none") -> list[str]:
        """Return the names of the operators that a device serves in one way; by default those that it cannot serve.

        Raises ``ArgumentError`` for a device that was not asked about, or another way.
        """
        if service not in _SERVICES:
            raise ArgumentError(
                f"coverage: no way of serving is {service!r}", hint=f"it is one of {', '.join(_SERVICES)}"
            )
        place = self._place(device)
        return [row.operator for row in self.rows if row.services[place] == service]

    def _place(self, device: str) -> int:
        if device not in self.devices:
            raise ArgumentError(
                f"coverage: {device!r} is not among the devices", hint=f"they are {', '.join(self.devices)}"
            )
        return self.devices.index(device)

    def _table(self) -> DataTable:
        columns = [Column("device", is_code=True)]
        columns += [
            Column(title, show_count, is_number=True) for title in ("kernels", "on the host", "composed", "not served")
        ]
        columns.append(Column("served", show_share, is_number=True, has_bar=True))
        total = len(self.rows) or 1
        counts = {device: self.count(device) for device in self.devices}
        return DataTable(
            columns, [(device, *found.values(), 1 - found["none"] / total) for device, found in counts.items()]
        )

    def __str__(self) -> str:
        return f"{self._table()}\n{show_count(len(self.rows))} operators of {self.namespace}"

    def __repr__(self) -> str:
        return f"<coverage of {len(self.rows)} operators of {self.namespace}: {', '.join(self.devices)}>"

    def _repr_html_(self) -> str:
        parts = [self._table().html()]
        for device in self.devices:
            missing = self.operators(device)
            if missing:
                table = DataTable([Column("operator", is_code=True)], [(name,) for name in missing])
                parts.append(to_details(f"{len(missing):,} not served on {device}", table.html()))
        return to_fragment("coverage", [f"{show_count(len(self.rows))} operators of {self.namespace}"], parts)


def coverage(*devices: str, namespace: str = "aten", registry: Registry | None = None) -> Coverage:
    """Return which operators of a namespace the devices have kernels for, and which are composed of others.

    The devices' backends are loaded, and every operator of the namespace is defined. Each overload counts. Raises
    ``ArgumentError`` without a device, and ``BackendError`` for one that cannot be loaded.
    """
    if not devices or not all(isinstance(device, str) for device in devices):
        raise ArgumentError(
            "coverage() takes the names of devices", hint="dc.backends() lists those that are installed"
        )
    found = the_registry(registry)
    keys = [device_key(device) for device in devices]
    load_operators(namespace)
    rows = []
    for name, entry in sorted(found.entries.items()):
        if name.partition("::")[0] == namespace and entry.schema is not None:
            rows.append(CoverageRow(name, tuple([_find_service(entry, key) for key in keys])))
    return Coverage(namespace, devices, rows)


def _find_service(entry: OperatorEntry, key: DispatchKey) -> Service:
    registration = entry.slot(key).registration
    if registration is None:
        return "none"
    if registration.traits.on_host:
        return "host"
    return "kernel" if entry.newest(key) is not None else "composed"
