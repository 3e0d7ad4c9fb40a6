"""A device's interface: what a backend tells the core of a device besides its operators. Part of the vendor API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..errors import ArgumentError, BackendError, short_repr

__all__ = ["DeviceInterface"]

#: Part → what users ask for by it, as the error says that has nothing to answer with.
PARTS: Final = {
    "properties": "properties",
    "current": "a current device",
    "exchange": "a current device",
    "synchronize": "synchronization",
    "streams": "streams",
    "events": "events",
    "timed_event": "timed events",
    "memory": "memory statistics",
    "empty_cache": "a cache of memory",
    "out_of_memory": "an error class for memory",
    "host_allocator": "pinned memory",
    "upload": "copies that do not wait",
    "download": "copies that do not wait",
    "address": "addresses",
    "generator": "engines of random numbers",
    "reports": "reports of asynchronous errors",
    "launched": "numbers of launches",
    "reset": "a reset",
    "dtypes": "a list of dtypes",
    "queue": "a queue that can be replaced",
    "initialized": "initialization",
    "deterministic": "deterministic algorithms",
    "collectives": "collectives",
    "placements": "arrays over several devices",
    "functions": "functions of its own",
}
#: Part → the functions that an object given for it must have, and those that it may have.
GROUPS: Final = {
    "streams": (("create", "current", "default", "exchange", "query", "synchronize"), ("record",)),
    "events": (("create", "query", "record", "synchronize", "wait"), ("elapsed_time",)),
    "memory": (("stats",), ("info", "reset_accumulated", "reset_peaks")),
    "collectives": (
        ("all_gather", "all_reduce", "broadcast", "connect", "exchange", "reduce_scatter"),
        ("barrier", "check", "close", "find_missing", "find_place", "open_store"),
    ),
    "placements": (
        ("check", "count", "find", "from_local", "meet", "parts", "place", "process", "to_local"),
        ("fill", "sum_processes", "whole_size"),
    ),
}
#: Parts that are no functions and no groups of functions.
_VALUES: Final = ("dtypes", "functions", "out_of_memory")
#: Parts that are functions.
FUNCTIONS: Final = tuple(part for part in PARTS if part not in _VALUES and part not in GROUPS)


class DeviceInterface:
    """What a device offers besides operators, every part of which may be left out.

    A backend returns one by its hook ``dispatch_device_interface``. An index is the number of a device of the type. A stream
    and an event are objects of the backend's own, which are compared, hashed and kept, but not looked into.

    * ``properties(index)``: a mapping; ``name`` and ``total_memory`` (bytes) are read, others are shown.
    * ``current()`` is the index of the thread's device, ``exchange(index)`` makes another one the thread's and returns the
      former; neither opens a device.
    * ``initialized()``: whether a device has been opened in this process.
    * ``synchronize(index)``: wait until everything that was queued on a device is done.
    * ``streams``: an object or module with ``default(index)``, ``create(index, priority)``, ``current(index)`` (the
      thread's), ``exchange(index, stream)`` (makes it the thread's, returns the former), ``query(stream)``,
      ``synchronize(stream)`` and, if the backend reuses memory, ``record(array, stream)``.
    * ``events``: ``create(index)``, ``record(event, stream)``, ``wait(event, stream)`` (the stream's later work waits),
      ``query(event)``, ``synchronize(event)`` and ``elapsed_time(start, end)`` in milliseconds, for events that
      ``timed_event(index)`` makes.
    * ``memory``: ``stats(index)``, a mapping under torch's names (``allocated_bytes.all.current``, bytes);
      ``info(index)``, free and total bytes; ``reset_peaks(index)``. ``empty_cache()`` returns unused memory to the devices.
    * ``out_of_memory``: the class of the backend's error, or several; users get ``OutOfMemoryError`` with it as cause.
    * ``host_allocator(nbytes)``: a writable buffer of host memory that the device copies from and to by itself.
      ``upload(array, index)``: an array of the device's with the values of a NumPy array in such memory, which may still be
      copied when it returns. ``download(array, host)`` copies an array of the device's to a NumPy array in such memory, in
      the order of the current stream, and need not wait; both are row-major, and of one shape and dtype. The backend keeps
      the memory that a copy still reads or writes.
    * ``address(array)``: the address of an array's first element, which programs hand to code of their own.
    * ``generator(index)``: an engine of random numbers with ``seed(number)``, ``get_state()`` (bytes), ``set_state(bytes)``.
    * ``launched(number)`` is told the number of each call before it runs; ``reports()`` returns the errors that have come
      in since it was last asked, each ``(number or None, stream, error)``. An error of the
      class ``DeviceLostError`` says that the device cannot go on; ``reset(index)`` makes it usable again.
    * ``dtypes``: the dtypes that the device computes with.
    * ``queue(function, *arguments)``: submits work; the backend calls ``interface.queue``, and the conformance kit assigns
      another function to it.
    * ``deterministic(mode)``: choose algorithms that give the same bits in each run, on all devices of the type that are
      open, or the fastest ones; the devices that it opens later ask `is_deterministic`.
    * ``collectives``: an object or module by which processes exchange arrays. ``connect(group, index)`` opens whatever a
      group needs on a device, in all its processes, and returns it; the other functions get that as ``connection``.
      ``all_reduce(connection, array, reduction, into)``, ``reduce_scatter`` with the same arguments,
      ``all_gather(connection, array, into)`` and ``broadcast(connection, array, root, into)`` queue work on the current
      stream and return ``into``, or a new array where that is None, as on devices whose arrays cannot be written to.
      ``exchange(connection, sends, receives)`` takes arrays with the ranks that they go to and come from, all at once, and
      returns those received. ``close(connection)``, ``barrier(connection)`` and ``check(connection)``, which raises an
      error that has come in, may be left out, and so may ``find_missing(backend)``, which returns None, or why there can be
      no group and a hint, ``find_place()``, the rank and the number of processes as a launcher of the library's own tells
      them, or None, and ``open_store(timeout)``, a store of those processes.
    * ``placements``: an object or module for arrays that lie on several devices of the process. ``count()`` is the number of
      devices that a mesh may have, of all processes, ``check(mesh)`` raises an error for a mesh with others; ``find(array)``
      returns the mesh
      (``dispatch_aten.placements.DeviceMesh``) and its placements there, or None for an array on one device;
      ``place(array, mesh, placements)`` returns an array with the same numbers that lies so; ``to_local(array)`` gives the
      part that this process has, ``from_local(array, mesh, placements, shape)`` makes a whole of the processes' parts.
      ``process()`` is the number of this process and how many there are, ``meet(name)`` waits for all, and ``parts(array)``
      gives the offsets and arrays of the parts that this process writes to a checkpoint: all processes together write each
      element once. ``fill(mesh, placements, shape, read)``, which may be left out, returns an array that lies so, of the
      numbers that ``read(offsets, shape)`` gives as NumPy's for each part that this process has.
      ``whole_size(mesh, placements, shape)`` is the size of the whole where each process has a part of a shape, and
      ``sum_processes(array, mesh, reduction)`` combines arrays of all processes; without them a process group is needed.
    * ``functions``: a mapping of names to functions of the device's own, which frontends hand on beside theirs.

    Raises ``ArgumentError`` where a part is not a function, or an object lacks one of its functions.

    >>> interface = DeviceInterface(current=lambda: 0, properties=lambda index: {"name": "Example"})
    >>> interface
    DeviceInterface(properties, current)
    >>> interface.events is None
    True
    """

    __slots__ = tuple(PARTS)

    def __init__(
        self,
        *,
        properties: Callable[[int], Any] | None = None,
        current: Callable[[], int] | None = None,
        exchange: Callable[[int], int] | None = None,
        synchronize: Callable[[int], object] | None = None,
        streams: Any = None,
        events: Any = None,
        timed_event: Callable[[int], Any] | None = None,
        memory: Any = None,
        empty_cache: Callable[[], object] | None = None,
        out_of_memory: type[BaseException] | tuple[type[BaseException], ...] | None = None,
        host_allocator: Callable[[int], Any] | None = None,
        upload: Callable[[Any, int], Any] | None = None,
        download: Callable[[Any, Any], object] | None = None,
        address: Callable[[Any], int] | None = None,
        generator: Callable[[int], Any] | None = None,
        reports: Callable[[], Any] | None = None,
        launched: Callable[[int], object] | None = None,
        reset: Callable[[int], object] | None = None,
        dtypes: tuple[Any, ...] | None = None,
        queue: Callable[..., Any] | None = None,
        initialized: Callable[[], bool] | None = None,
        deterministic: Callable[[bool], object] | None = None,
        collectives: Any = None,
        placements: Any = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        self.properties = properties
        self.current = current
        self.exchange = exchange
        self.synchronize = synchronize
        self.streams = streams
        self.events = events
        self.timed_event = timed_event
        self.memory = memory
        self.empty_cache = empty_cache
        self.out_of_memory = out_of_memory
        self.host_allocator = host_allocator
        self.upload = upload
        self.download = download
        self.address = address
        self.generator = generator
        self.reports = reports
        self.launched = launched
        self.reset = reset
        self.dtypes = dtypes
        self.queue = queue
        self.initialized = initialized
        self.deterministic = deterministic
        self.collectives = collectives
        self.placements = placements
        self.functions = functions
        for part in PARTS:
            _check_part(part, getattr(self, part))

    def require(self, device: str, *parts: str) -> None:
        """Raise ``BackendError`` unless the device has all of these parts.

        >>> DeviceInterface().require("toy", "streams")
        Traceback (most recent call last):
        dispatch_core.errors.BackendError: Backend toy doesn't support streams
        Hint: the DeviceInterface of its plugin has no part 'streams'
        """
        for part in parts:
            if getattr(self, part) is None:
                raise BackendError(
                    f"Backend {device} doesn't support {PARTS[part]}",
                    hint=f"the DeviceInterface of its plugin has no part {part!r}",
                )

    def __repr__(self) -> str:
        return f"DeviceInterface({', '.join(part for part in PARTS if getattr(self, part) is not None)})"


def _check_part(part: str, given: Any) -> None:
    if given is None or part in _VALUES:
        return
    if part not in GROUPS:
        if not callable(given):
            raise ArgumentError(
                f"DeviceInterface({part}=...) takes a function, not {short_repr(given)}",
                hint=f"write {part}=lambda ...: {short_repr(given)}, or leave the part out",
            )
        return
    needed, more = GROUPS[part]
    missing = [name for name in needed if not callable(getattr(given, name, None))]
    if missing:
        raise ArgumentError(
            f"DeviceInterface({part}=...) takes an object with the functions {', '.join(needed)}; {short_repr(given)} has"
            f" no {' and no '.join(missing)}",
            hint=f"{', '.join(more)} may be left out, and so may the whole part" if more else None,
        )


#: The interface of a device whose plugin has none.
NONE: Final = DeviceInterface()
