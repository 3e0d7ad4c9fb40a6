"""The group of all processes: how a program makes it, and what it asks of it (source: ``torch.distributed``).

A group of one process needs nothing, whatever its backend is called. The processes of a larger one exchange data by the
``collectives`` of a device's interface, which a program asks for by a name that these have (``hccl``), or by the device's.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import timedelta
from time import monotonic, sleep
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import dispatch_core as dc
from dispatch_aten.collectives import CollectiveError, FileStore, TCPStore
from dispatch_core.runtime import current_accelerator, find_interface, list_accelerators, provides

from .errors import NoProcessGroupError, NotInGroupError
from .group_class import ProcessGroup

__all__ = [
    "count_groups",
    "default_group",
    "default_pg_timeout",
    "destroy_process_group",
    "find_device",
    "find_group",
    "find_names",
    "find_problem",
    "find_ranks",
    "get_backend",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "is_group",
    "new_group",
]

default_pg_timeout: Final = timedelta(minutes=30)
#: How many seconds the process that keeps the store waits for the others at the end, and how often it looks.
_PATIENCE: Final = 30.0
_PAUSE: Final = 0.02
_PORTS: Final = range(1, 2**16)
_NAME: Final = "init_process_group"
#: The distribution whose devices are not asked for collectives, as that would import a library for each.
_WITHOUT_COLLECTIVES: Final = "dispatch-backend-array-api"

#: What `new_group` returns to a process that is not in the group.
_NOT_MEMBER: Final = -100
#: The group of all processes, and the others behind it.
_groups: Final[list[ProcessGroup]] = []
_store_is_ours = False


def is_group() -> bool:
    """Return whether there is a group of all processes."""
    return bool(_groups)


def count_groups() -> int:
    """Return the number of groups."""
    return len(_groups)


def default_group(name: str) -> ProcessGroup:
    """Return the group of all processes. Raises ``NoProcessGroupError`` for the function ``name`` where there is none."""
    if not _groups:
        if all(os.environ.get(each) for each in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")):
            raise NoProcessGroupError(name, "this process has no group yet", "init_process_group() makes it")
        raise NoProcessGroupError(name)
    return _groups[0]


def find_group(name: str, group: Any) -> ProcessGroup:
    """Return a group, by default that of all processes."""
    found = default_group(name)
    if group is None:
        return found
    if group == _NOT_MEMBER:
        raise NotInGroupError(name)
    if not isinstance(group, ProcessGroup) or group not in _groups:
        raise NoProcessGroupError(name, f"{group!r} is no group of this process", "new_group() makes groups")
    return group


def find_ranks(group: ProcessGroup) -> tuple[int, ...]:
    """Return the numbers that the ranks of a group have among all processes."""
    return group.ranks


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | float | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Make the group of all processes; all of them call this, and wait for each other.

    The rank and the number of processes come from the arguments, from ``init_method``
    (``tcp://host:port?rank=0&world_size=2``, or ``file:///path``, a file that all processes of one machine see) or from
    ``RANK``, ``WORLD_SIZE``, ``MASTER_ADDR`` and ``MASTER_PORT`` (``env://``).
    """
    global _store_is_ours
    if _groups:
        raise NoProcessGroupError(_NAME, "trying to initialize the default process group twice!", "once is enough")
    name = _backend_name(backend)
    limit = timeout if timeout is not None else default_pg_timeout
    seconds = limit.total_seconds() if isinstance(limit, timedelta) else float(limit)
    if init_method in (None, "env://") and store is None and world_size != 1:
        rank, world_size, store = _read_launcher(name, rank, world_size, seconds)
        _store_is_ours = store is not None
    if init_method is not None and init_method.startswith("file:") and store is None:
        rank, world_size, store = _open_file(init_method, rank, world_size)
        _store_is_ours = True
    host, port, rank, world_size = _read_method(name, init_method, rank, world_size, store)
    if not 0 <= rank < world_size:
        raise NoProcessGroupError(
            _NAME,
            f"there is no rank {rank} of {world_size}",
            "RANK, or rank=, counts from 0; WORLD_SIZE is their number",
        )
    if world_size > 1:
        _check_engine(name)
        if store is None:
            store = TCPStore(host, port, world_size, is_master=rank == 0, timeout=seconds)
            _store_is_ours = True
    else:
        store = None
    try:
        if hasattr(store, "enter"):
            store.enter(rank)
        full_name = _group_name(group_name or "default", rank, store)
        made = ProcessGroup(rank, world_size, store, full_name, name, seconds)
        made.meet(_NAME)
    except BaseException:
        if _store_is_ours:
            store.close()
        _store_is_ours = False
        raise
    _groups.append(made)


def _group_name(name: str, rank: int, store: Any) -> str:
    """Return a name for the group's keys that no earlier group in a store has: each rank counts its own."""
    count = 1 if store is None else store.add(f"{name}/groups of {rank}", 1)
    return name if count == 1 else f"{name}.{count}"


def new_group(
    ranks: Any = None,
    timeout: timedelta | float | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> Any:
    """Return a group of some of the processes, all of which call this; ``NON_GROUP_MEMBER`` to one that is not in it."""
    world = default_group("new_group")
    chosen = tuple(range(world.size)) if ranks is None else tuple(sorted({int(each) for each in ranks}))
    if not chosen or not 0 <= chosen[0] <= chosen[-1] < world.size:
        raise NoProcessGroupError(
            "new_group", f"there are no ranks {list(chosen)} of {world.size}", "name some of them"
        )
    name = world._next_key("group")
    if world.rank not in chosen:
        return _NOT_MEMBER
    seconds = world.timeout if timeout is None else timeout
    seconds = seconds.total_seconds() if isinstance(seconds, timedelta) else float(seconds)
    made = ProcessGroup(
        chosen.index(world.rank),
        len(chosen),
        world.store,
        name,
        _backend_name(backend or world.backend),
        seconds,
        chosen,
    )
    _groups.append(made)
    return made


def destroy_process_group(group: Any = None) -> None:
    """Give a group back; without one all of them, and the store."""
    global _store_is_ours
    if group == _NOT_MEMBER:
        return
    found = find_group("destroy_process_group", group)
    world = default_group("destroy_process_group")
    if found is not world:
        _groups.remove(found)
        found.close()
        return
    closed = list(_groups)
    _groups.clear()
    try:
        for each in reversed(closed):
            each.close()
    finally:
        if world.store is not None and _store_is_ours:
            _leave(world)
        _store_is_ours = False


def _leave(world: ProcessGroup) -> None:
    """Leave the store; the process that keeps it goes last, unless another one is gone or takes long."""
    store, deadline = world.store, monotonic() + min(world.timeout, _PATIENCE)
    try:
        store.stop_listening()  # a process that initializes again waits for the next store
        left = store.add(f"{world.name}/left", 1)
        while world.rank == 0 and left < world.size and not store.lost_ranks() and monotonic() < deadline:
            sleep(_PAUSE)
            left = store.add(f"{world.name}/left", 0)
    except CollectiveError:
        pass  # The process that keeps it is gone already.
    finally:
        store.close()


def get_rank(group: Any = None) -> int:
    """Return the number of this process in a group."""
    return find_group("get_rank", group).rank if group != _NOT_MEMBER else -1


def get_world_size(group: Any = None) -> int:
    """Return the number of processes in a group."""
    return find_group("get_world_size", group).size if group != _NOT_MEMBER else -1


def get_backend(group: Any = None) -> str:
    """Return the name of a group's backend."""
    return find_group("get_backend", group).backend


def get_process_group_ranks(group: Any = None) -> list[int]:
    """Return the numbers that the ranks of a group have among all processes."""
    return list(find_ranks(find_group("get_process_group_ranks", group)))


def get_default_group() -> ProcessGroup:
    """Return the group of all processes."""
    return default_group("group.WORLD")


def _backend_name(backend: str | None) -> str:
    """Return the backend's name; of several (``cpu:gloo,xpu:xccl``) that of a device with collectives, the cpu's last."""
    if backend is None:
        found, device = _list_backends(), current_accelerator()
        if device is not None and device.type in found:
            return found[device.type]
        others = [name for each, name in found.items() if each != "cpu" and each not in list_accelerators()]
        return others[0] if len(others) == 1 else found.get("cpu", "")
    pairs = [each.strip().rpartition(":")[::2] for each in str(backend).split(",")]
    pairs.sort(key=lambda each: each[0].strip() == "cpu")
    chosen = next((each for device, each in pairs if _find_collectives(each, device)), pairs[0][1])
    return chosen.strip().lower()


def _names_of(device: str) -> list[str]:
    """Return the names of a device's collectives, of which the first is used where none was chosen."""
    with suppress(dc.DispatchError):  # a plugin that fails
        found = find_interface(device).collectives
        if found is not None:
            return [str(each).lower() for each in getattr(found, "names", [getattr(found, "backend", device)])]
    return []


def _list_backends(*, load: bool = False) -> dict[str, str]:
    """Return the names of collectives by the devices that have them: loaded ones, accelerators, with ``load`` all."""
    states = {"loaded", "installed"} if load else {"loaded"}
    names = {
        name
        for name, each in dc.backends().items()
        if each.state in states and each.distribution != _WITHOUT_COLLECTIVES
    }
    return {name: found[0] for name in sorted({*names, *list_accelerators(), "cpu"}) if (found := _names_of(name))}


def _find_collectives(backend: str, device: str = "") -> Any:
    """Return the collectives of a name, a device's or those of any; None where there are none."""
    device, backend = device.strip(), backend.strip().lower()
    if not backend:
        return None
    if device:
        devices = [device] if provides(device) and backend in (*_names_of(device), device.lower()) else []
    else:
        loaded = [each for each in _list_backends() if backend in _names_of(each)]
        devices = loaded or ([backend] if provides(backend) and _names_of(backend) else [])
        devices = devices or [each for each in _list_backends(load=True) if backend in _names_of(each)]
    return find_interface(devices[0]).collectives if devices else None


def find_device(backend: str) -> str:
    """Return the type of the device whose collectives have a name, by default the cpu."""
    found = _list_backends()
    return next((each for each in found if backend in (*_names_of(each), each)), "cpu")


def find_names() -> dict[str, list[str]]:
    """Return the names of collectives by the devices that have them."""
    return {device: _names_of(device) for device in _list_backends(load=True)}


def find_problem(backend: str) -> tuple[str, str] | None:
    """Return why processes do not communicate by a backend here, and a hint; None where they do."""
    chosen = _find_collectives(backend)
    if chosen is None:
        return f"no device has {backend!r}", "choose another"
    missing: tuple[str, str] | None = chosen.find_missing(backend) if hasattr(chosen, "find_missing") else None
    return missing


def _check_engine(backend: str) -> None:
    """Raise ``NoProcessGroupError`` unless a device has the collectives of a backend, and they can be used here."""
    chosen, missing = _find_collectives(backend), find_problem(backend)
    if missing is None:
        return
    if chosen is None:
        missing = None
    found = _list_backends(load=True)
    others = ", ".join(f"{name!r} between tensors on {device}" for device, name in found.items() if name != backend)
    if missing is not None:
        reason = f"processes do not communicate here by {backend!r}: {missing[0]}"
        raise NoProcessGroupError(_NAME, reason, f"{missing[1]}; or run the program in one process")
    if backend:
        reason = f"processes do not communicate here by {backend!r}"
    elif others:
        reason = "no backend was named, and the accelerator of this machine has none"
    else:
        reason = "no backend was named, and no device that is installed here has one"
    raise NoProcessGroupError(
        _NAME,
        reason,
        f"run the program in one process; several do by {others}" if others else "run the program in one process",
    )


def _read_launcher(backend: str, rank: int, world_size: int, timeout: float) -> tuple[int, int, Any]:
    """Return the rank, the number of processes and a store, where a launcher of the backend's own has started them.

    The environment's ``RANK`` and the others count first, and so do the caller's numbers.
    """
    chosen = _find_collectives(backend)
    place = chosen.find_place() if hasattr(chosen, "find_place") else None
    if place is None or any(os.environ.get(each) for each in ("RANK", "WORLD_SIZE")) or rank >= 0 or world_size > 0:
        return rank, world_size, None
    _check_engine(backend)
    if os.environ.get("MASTER_ADDR") and os.environ.get("MASTER_PORT"):
        return *place, None
    return *place, chosen.open_store(timeout)


def _open_file(method: str, rank: int, world_size: int) -> tuple[int, int, Any]:
    """Return the rank, the number of processes and a store in a file."""
    parts = urlsplit(method)
    query = parse_qs(parts.query)
    rank = rank if rank >= 0 or "rank" not in query else _number(f"rank in {method!r}", query["rank"][0])
    if world_size <= 0 and "world_size" in query:
        world_size = _number(f"world_size in {method!r}", query["world_size"][0])
    if rank < 0 or world_size < 1 or not parts.path:
        raise NoProcessGroupError(
            _NAME, f"{method!r} needs a path, a rank and a world_size", "give rank= and world_size="
        )
    return rank, world_size, FileStore(parts.path, world_size) if world_size > 1 else None


def _read_method(backend: str, method: str | None, rank: int, world_size: int, store: Any) -> tuple[str, int, int, int]:
    """Return the store's host and port, the rank and the number of processes."""
    is_file = method is not None and method.startswith("file:")
    if (store is not None or (world_size == 1 and (method is None or is_file))) and world_size > 0:
        return "", 0, max(rank, 0) if world_size == 1 else rank, world_size
    method = method or "env://"
    parts = urlsplit(method)
    query = parse_qs(parts.query)
    rank = rank if rank >= 0 or "rank" not in query else _number(f"rank in {method!r}", query["rank"][0])
    if world_size <= 0 and "world_size" in query:
        world_size = _number(f"world_size in {method!r}", query["world_size"][0])
    if parts.scheme == "tcp":
        _, _, text = parts.netloc.rpartition(":")
        if rank < 0 or world_size < 1 or not parts.hostname or text in ("", parts.netloc):
            raise NoProcessGroupError(
                _NAME, f"{method!r} needs a host, a port, a rank and a world_size", "give rank= and world_size="
            )
        return parts.hostname, _number(f"the port in {method!r}", text, _PORTS), rank, world_size
    if parts.scheme != "env":
        raise NoProcessGroupError(
            _NAME, f"there is no way {method!r} to find processes", "use env://, tcp://host:port or file:///path"
        )
    if "RANK" not in os.environ and world_size != 1:
        _check_engine(backend)
    rank = rank if rank >= 0 else _number("RANK", _variable(backend, "RANK"))
    world_size = world_size if world_size > 0 else _number("WORLD_SIZE", _variable(backend, "WORLD_SIZE"))
    if world_size == 1:
        return "", 0, rank, world_size
    port = _number("MASTER_PORT", _variable(backend, "MASTER_PORT"), _PORTS)
    return _variable(backend, "MASTER_ADDR"), port, rank, world_size


def _number(what: str, text: str, known: range | None = None) -> int:
    """Return a number that a variable or a way tells. Raises ``NoProcessGroupError`` for another text."""
    try:
        found = int(text)
    except ValueError:
        raise NoProcessGroupError(_NAME, f"{what} is {text!r}, which is no number", "write it in digits") from None
    if known is not None and found not in known:
        raise NoProcessGroupError(_NAME, f"{what} is {text!r}", f"it goes from {known[0]} to {known[-1]}")
    return found


def _variable(backend: str, name: str) -> str:
    found = os.environ.get(name, "")
    if not found:
        raise NoProcessGroupError(
            _NAME,
            f"environment variable {name} expected, but not set, by which the processes of {backend!r} find each other",
            "start each process with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, or give rank= and world_size=",
        )
    return found
