"""The runtime as the core's ``DeviceInterface``: a stream and an event of ours are the interface's handles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.counter_engine import CounterEngine
from dispatch_aten.dtypes import BY_NAME
from dispatch_core import DeviceInterface

from ..acl.errors import OutOfMemoryError
from . import allocator, device, peers, waiting
from .event import Event
from .memory import allocate_pinned, queue_to_host
from .probe import device_name
from .stream import Stream, check_stream, default, peek

if TYPE_CHECKING:
    from numpy.typing import NDArray


class _StreamsPart:
    """The streams of all devices; a thread's current one is kept for each device."""

    def default(self, index: int) -> Stream:
        return default(index)

    def create(self, index: int, priority: int = 0) -> Stream:
        return Stream(index, priority)

    def current(self, index: int) -> Stream:
        # Events mark it busy when they are recorded: see Note [Idle streams] in `stream`.
        with device.guard(index):
            return peek()

    def exchange(self, index: int, stream: Stream) -> Stream:
        """Make a stream the thread's on its device. Nothing is called, so that leaving a block cannot fail."""
        check_stream(stream)
        chosen = device.thread.chosen
        before = chosen.get(index)
        if before is None or not before._streams.is_open:
            before = stream._streams.default or default(index)
        if stream is stream._streams.default:
            chosen.pop(index, None)
        else:
            chosen[index] = stream
        device.thread.stream = None
        return before

    def query(self, stream: Stream) -> bool:
        return stream.query()

    def synchronize(self, stream: Stream) -> None:
        stream.synchronize()

    def record(self, array: Any, stream: Stream) -> None:
        allocator.record_stream(array, check_stream(stream))


class _EventsPart:
    """Events, each of the device of the stream in which it is first recorded."""

    def create(self, index: int) -> Event:
        return Event()

    def record(self, event: Event, stream: Stream) -> None:
        event.record(stream)

    def wait(self, event: Event, stream: Stream) -> None:
        event.wait(stream)

    def query(self, event: Event) -> bool:
        return event.query()

    def synchronize(self, event: Event) -> None:
        event.synchronize()

    def elapsed_time(self, start: Event, end: Event) -> float:
        return start.elapsed_time(end)


class _MemoryPart:
    """The figures of the caching allocators."""

    def stats(self, index: int) -> dict[str, int]:
        return allocator.memory_stats(index)

    def info(self, index: int) -> tuple[int, int]:
        return allocator.mem_get_info(index)

    def reset_peaks(self, index: int) -> None:
        allocator.reset_peak_memory_stats(index)


class _CollectivesPart:
    """Collectives by HCCL, which is loaded where a group first connects."""

    #: The name by which programs ask for it.
    backend = "hccl"

    def connect(self, group: Any, index: int) -> Any:
        return _collectives().connect(group, index)

    def close(self, connection: Any) -> None:
        connection.close()

    def check(self, connection: Any) -> None:
        connection.check()

    def barrier(self, connection: Any) -> None:
        connection.barrier()

    def all_reduce(self, connection: Any, array: Any, reduction: str, into: Any) -> Any:
        return connection.all_reduce(array, reduction, into)

    def reduce_scatter(self, connection: Any, array: Any, reduction: str, into: Any) -> Any:
        return connection.reduce_scatter(array, reduction, into)

    def all_gather(self, connection: Any, array: Any, into: Any) -> Any:
        return connection.all_gather(array, into)

    def broadcast(self, connection: Any, array: Any, root: int, into: Any) -> Any:
        return connection.broadcast(array, root, into)

    def exchange(self, connection: Any, sends: Any, receives: Any) -> Any:
        return connection.exchange(sends, receives)


def _collectives() -> Any:
    from .. import collectives  # arrays and kernels stand above the runtime

    return collectives


def _exchange(index: int) -> int:
    before = device.current()
    device.leave_for(index)
    return before


def _allocate_pinned(nbytes: int) -> NDArray[Any]:
    return allocate_pinned(nbytes).array()


def _upload(array: NDArray[Any], index: int) -> Any:
    from ..arrays import from_numpy  # arrays stand above the runtime

    with device.guard(index):
        return from_numpy(array, waits=False)


def _download(array: Any, host: NDArray[Any]) -> None:
    with device.guard(array.block.device):
        queue_to_host(_read_address(array), host)


def _read_address(array: Any) -> int:
    return int(array.pointer + array.storage_offset * array.dtype.itemsize)


def _properties(index: int) -> dict[str, Any]:
    with device.guard(index):
        return {"name": device_name(), "total_memory": allocator.mem_get_info(index)[1]}


#: The dtypes that the device computes with; complex numbers can be kept on it alone.
DTYPES: Final = tuple(
    BY_NAME[name]
    for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
)


def make() -> DeviceInterface:
    """Return the interface of the npu."""
    return DeviceInterface(
        properties=_properties,
        current=device.current,
        exchange=_exchange,
        initialized=device.is_initialized,
        synchronize=device.synchronize,
        streams=_StreamsPart(),
        events=_EventsPart(),
        timed_event=lambda index: Event(enable_timing=True),
        memory=_MemoryPart(),
        empty_cache=allocator.empty_cache,
        out_of_memory=OutOfMemoryError,
        host_allocator=_allocate_pinned,
        dtypes=DTYPES,
        upload=_upload,
        download=_download,
        address=_read_address,
        deterministic=device.set_deterministic,
        generator=CounterEngine,
        collectives=_CollectivesPart(),
        functions={
            "can_device_access_peer": peers.can_access_peer,
            "set_sync_timeout": waiting.set_sync_timeout,
            "sync_timeout": waiting.sync_timeout,
        },
    )
