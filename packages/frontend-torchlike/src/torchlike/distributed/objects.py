"""Objects between processes, by ``pickle``, and a barrier that tells who is late (source: ``torch.distributed``)."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from datetime import timedelta
from time import monotonic, sleep
from typing import Any, Final
from weakref import WeakKeyDictionary

from dispatch_aten.collectives import CollectiveError, ProcessGroup, StoreTimeoutError

from .collectives import all_gather, all_gather_into_tensor, broadcast, find_position, recv, send
from .errors import NoProcessGroupError, for_members
from .process_groups import find_device, find_group

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "monitored_barrier",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]

_PAUSE: Final = 0.005
#: How often each rank of a group had come to its monitored barriers when the last one ended.
_seen: Final[WeakKeyDictionary[ProcessGroup, dict[int, int]]] = WeakKeyDictionary()


def _pack(value: object, device: Any) -> Any:
    from .. import frombuffer, uint8

    return frombuffer(bytearray(pickle.dumps(value)), dtype=uint8).to(device)


def _unpack(tensor: Any) -> Any:
    return pickle.loads(tensor.cpu().numpy().tobytes())  # noqa: S301  # of a process that knows the key of the store


def _device_of(group: ProcessGroup, device: Any) -> Any:
    return find_device(group.backend) if device is None else device


def _gather(group: ProcessGroup, value: object) -> list[Any]:
    """Return the objects of all ranks."""
    from .. import tensor

    device = _device_of(group, None)
    own = _pack(value, device)
    counts = [tensor([0], device=device) for _ in range(group.size)]
    all_gather(counts, tensor([own.numel()], device=device), group)
    sizes = [int(each) for each in counts]
    padded, found = own.new_zeros(max(sizes)), own.new_zeros(max(sizes) * group.size)
    padded[: own.numel()] = own
    all_gather_into_tensor(found, padded, group)
    return [_unpack(each[:size]) for each, size in zip(found.split(max(sizes)), sizes, strict=True)]


@for_members
def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Write the objects of all ranks, which ``pickle`` takes, into a list."""
    found = find_group("all_gather_object", group)
    _check_length("all_gather_object", object_list, found)
    object_list[: found.size] = _gather(found, obj)


@for_members
def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: Any = None,
) -> None:
    """Write the objects of all ranks into a list of one rank's, by default the first."""
    found = find_group("gather_object", group)
    is_root = find_position("gather_object", found, dst, group_dst) == found.rank
    if not is_root and object_gather_list:
        raise ValueError("Argument object_gather_list must NOT be specified on non-destination ranks.")
    if is_root:
        _check_length("gather_object", object_gather_list, found)
    made = _gather(found, obj)
    if is_root and object_gather_list is not None:
        object_gather_list[: found.size] = made


@for_members
def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Give all ranks the objects of one rank's list."""
    from .. import tensor

    found = find_group("broadcast_object_list", group)
    device, root = _device_of(found, device), find_position("broadcast_object_list", found, src, group_src)
    is_root = root == found.rank
    packed = _pack(list(object_list), device) if is_root else None
    count = tensor([0 if packed is None else packed.numel()], device=device)
    broadcast(count, group=found, group_src=root)
    if packed is None:
        packed = count.new_zeros(int(count)).to(_pack(None, device).dtype)
    broadcast(packed, group=found, group_src=root)
    if not is_root:
        object_list[:] = _unpack(packed)


@for_members
def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send the objects of a list, which ``pickle`` takes, to a rank, which receives them."""
    from .. import tensor

    found = find_group("send_object_list", group)
    packed = _pack(list(object_list), _device_of(found, device))
    send(tensor([packed.numel()], device=packed.device), dst, found, group_dst=group_dst)
    send(packed, dst, found, group_dst=group_dst)


@for_members
def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int | None:
    """Receive the objects of a rank's list into this one; return the rank."""
    from .. import tensor, uint8, zeros

    found = find_group("recv_object_list", group)
    count = tensor([0], device=_device_of(found, device))
    rank = recv(count, src, found, group_src=group_src)
    packed = zeros(int(count), dtype=uint8, device=count.device)
    recv(packed, rank, found)
    object_list[:] = _unpack(packed)
    return rank


@for_members
def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: Sequence[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Write one object of a rank's list into the first place of each rank's own."""
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    found = find_group("scatter_object_list", group)
    root = find_position("scatter_object_list", found, src, group_src)
    if root == found.rank:
        _check_length("scatter_object_list", scatter_object_input_list, found)
    listed = list(scatter_object_input_list or ()) if root == found.rank else [None] * found.size
    broadcast_object_list(listed, group=found, group_src=root)
    scatter_object_output_list[0] = listed[found.rank]


def _check_length(name: str, objects: Any, group: ProcessGroup) -> None:
    if objects is None or len(objects) != group.size:
        count = "no" if objects is None else len(objects)
        raise NoProcessGroupError(name, f"{count} places for {group.size} ranks", "give one for each")


@for_members
def monitored_barrier(
    group: Any = None, timeout: timedelta | float | None = None, wait_all_ranks: bool = False
) -> None:
    """Wait until all ranks have come here. Raises ``CollectiveError`` with the first rank that is late, or with all."""
    found = find_group("monitored_barrier", group)
    if found.size == 1:
        return
    limit = found.timeout if timeout is None else timeout
    seconds = limit.total_seconds() if isinstance(limit, timedelta) else float(limit)
    key, store = f"{found.name}/monitored barrier", found.store
    if found.rank:
        number = store.add(f"{key}/{found.rank}", 1)
        try:
            answer = store.get(f"{key}/{found.rank} has come {number} times", seconds + 1).decode()
        except StoreTimeoutError as error:
            answer = str(error)
        if answer:
            raise CollectiveError(
                f"Rank {found.rank} successfully reached monitoredBarrier, but received errors while waiting for "
                f"send/recv from rank 0: {answer}"
            )
        return
    late, come = _find_late(found, key, monotonic() + seconds, wait_all_ranks)
    told = ""
    if late:
        names = f"Rank{'s' * (len(late) > 1)} {', '.join(str(found.ranks[each]) for each in late)}"
        span = f"{seconds * 1000:.0f} ms"
        told = f"{names} failed to pass monitoredBarrier in {span}; Rank 0 timed out in monitoredBarrier after {span}"
    for rank, number in come.items():
        store.set(f"{key}/{rank} has come {number} times", told.encode())
    if told:
        raise CollectiveError(told)


def _find_late(group: ProcessGroup, key: str, deadline: float, is_complete: bool) -> tuple[list[int], dict[int, int]]:
    """Return the ranks that do not come, the first or all, and how often each of the others has come.

    A rank that has passed over a barrier comes to a later one: each counts its own.
    """
    late, come, seen = list[int](), dict[int, int](), _seen.setdefault(group, {})
    for rank in range(1, group.size):
        is_enough = bool(late) and not is_complete
        while (number := group.store.add(f"{key}/{rank}", 0)) <= seen.get(rank, 0):
            if is_enough or monotonic() >= deadline or group.ranks[rank] in group.find_lost():
                late += [] if is_enough else [rank]
                break
            sleep(_PAUSE)
        else:
            come[rank] = seen[rank] = number
    return late, come
