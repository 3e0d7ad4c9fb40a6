"""Names of backends, and what tensors of a device are exchanged by (source: ``torch.distributed``)."""

from __future__ import annotations

import os
from enum import Enum
from typing import Any, ClassVar, Final, Self

from .process_groups import find_group, find_names, find_problem

__all__ = [
    "AllToAllOptions",
    "AllgatherOptions",
    "AllreduceCoalescedOptions",
    "AllreduceOptions",
    "Backend",
    "BackendConfig",
    "BarrierOptions",
    "BroadcastOptions",
    "DebugLevel",
    "GatherOptions",
    "ReduceOptions",
    "ReduceScatterOptions",
    "ScatterOptions",
    "get_backend_config",
    "get_debug_level",
    "get_default_backend_for_device",
    "is_backend_available",
    "set_debug_level",
    "set_debug_level_from_env",
    "supports_complex",
]


class _Defaults:
    """An attribute of a class: the first backend of each device."""

    def __get__(self, instance: object, owner: type) -> dict[str, str]:
        return {device: names[0] for device, names in find_names().items() if names}


class Backend(str):
    """The name of a backend, in lower case.

    >>> Backend("GLOO"), Backend.MPI
    ('gloo', 'mpi')
    """

    __slots__ = ()
    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list: ClassVar[list[str]] = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    #: The types of devices that are there → the backend that each goes by; libraries read it.
    default_device_backend_map: ClassVar[Any] = _Defaults()

    def __new__(cls, name: str) -> Self:
        """Return the name in lower case; raises ``ValueError`` for anything but a text."""
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name.lower())

    @classmethod
    def register_backend(cls, name: str, *_: Any, **__: Any) -> None:
        """Refuse a backend: a device brings its own collectives. Raises ``NotImplementedError``."""
        raise NotImplementedError(
            f"Backend.register_backend: {name!r} is not taken as a backend of torch's kind\n"
            "Hint: the interface of a device has `collectives`, which groups find by their names"
        )


class BackendConfig:
    """The backends of devices: ``cpu:gloo,npu:hccl``.

    >>> BackendConfig(Backend("cpu:gloo,npu:hccl")).get_device_backend_map()
    {'cpu': 'gloo', 'npu': 'hccl'}
    """

    def __init__(self, backend: str | None) -> None:
        found: dict[str, Backend] = {}
        text = str(backend or "").lower()
        for part in text.split(",") if ":" in text else []:
            pair = part.strip().split(":")
            if len(pair) != 2 or not all(pair):
                raise ValueError(f"Invalid device:backend pairing: {part}. It is as cpu:gloo")
            if pair[0] in found:
                raise ValueError(f"Duplicate device type {pair[0]} in backend string: {backend}.")
            found[pair[0]] = Backend(pair[1])
        if not found:
            names = find_names()
            chosen = {device for device, each in names.items() if not text or text in (*each, device)}
            found = {device: Backend(text or names[device][0]) for device in sorted(chosen)} or {"cpu": Backend(text)}
        self.device_backend_map = found

    def get_device_backend_map(self) -> dict[str, Backend]:
        """Return the backends by the types of devices."""
        return self.device_backend_map

    def __repr__(self) -> str:
        return ",".join(f"{device}:{each}" for device, each in self.device_backend_map.items())


def get_backend_config(group: Any = None) -> str:
    """Return the backends of a group by the types of devices, as text."""
    return repr(BackendConfig(find_group("get_backend_config", group).backend))


def get_default_backend_for_device(device: Any) -> str:
    """Return the name of the backend that a device's tensors go by. Raises ``ValueError`` for one without any."""
    kind = str(getattr(device, "type", device)).partition(":")[0]
    found = find_names().get(kind)
    if not found:
        raise ValueError(f"Default backend not registered for device : {device}")
    return found[0]


def is_backend_available(backend: str) -> bool:
    """Return whether processes can exchange data by a backend here."""
    parts = [each.rpartition(":")[2].strip().lower() for each in str(backend).split(",")]
    return all(find_problem(each) is None for each in parts)


def supports_complex(reduceOp: str) -> bool:  # torch's name
    """Return whether a reduction takes complex numbers."""
    return reduceOp in ("sum", "avg")


class DebugLevel(Enum):
    """How much is told, which programs set: nothing more is told here."""

    OFF, INFO, DETAIL = range(3)


_level: Final = [DebugLevel.OFF]


def get_debug_level() -> DebugLevel:
    """Return how much shall be told."""
    return _level[0]


def set_debug_level(level: DebugLevel) -> None:
    """Set how much shall be told."""
    _level[0] = DebugLevel(level)


def set_debug_level_from_env() -> None:
    """Set how much shall be told from ``TORCH_DISTRIBUTED_DEBUG``. Raises ``RuntimeError`` for an unknown word."""
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    _level[0] = DebugLevel[name]


class _CollectiveOptions:
    """Arguments of a method of `ProcessGroup`."""

    def __init__(self) -> None:
        self.reduceOp, self.rootRank, self.rootTensor = "sum", 0, 0
        self.timeout: Any = None
        self.asyncOp = True


def _options(name: str) -> type[_CollectiveOptions]:
    made = type(
        name, (_CollectiveOptions,), {"__doc__": f"{_CollectiveOptions.__doc__} (source: ``torch.distributed.{name}``)"}
    )
    made.__module__ = "torchlike.distributed"
    return made


AllgatherOptions = _options("AllgatherOptions")
AllreduceCoalescedOptions = _options("AllreduceCoalescedOptions")
AllreduceOptions = _options("AllreduceOptions")
AllToAllOptions = _options("AllToAllOptions")
BarrierOptions = _options("BarrierOptions")
BroadcastOptions = _options("BroadcastOptions")
GatherOptions = _options("GatherOptions")
ReduceOptions = _options("ReduceOptions")
ReduceScatterOptions = _options("ReduceScatterOptions")
ScatterOptions = _options("ScatterOptions")
