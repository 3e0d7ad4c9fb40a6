"""Errors that a device reports after its kernels have returned: which call failed, and whose results are wrong.

Note [Late errors]
    A device whose interface has ``reports`` is told the number of each kernel's call, and names it when it reports an error,
    or names the stream alone. A log keeps, back to the last clean synchronisation of a stream, each call with the calls that
    wrote the memory which it read, and for each memory the call that wrote it last. So the results of a failed call, and of
    all that were made from them, are known by their memory: to use one raises the error, each time. A call that overwrites
    all that was written there (`written_memory`) takes the mark away. The first synchronisation of the stream raises the
    error, too, once. A log has at most `_KEPT` calls; an error of an older one counts as one of the whole stream. It keeps
    the first `_UNREAD` errors that no synchronisation has raised, and as many memories of failed calls as calls.

    A device that reports ``DeviceLostError``, or whose kernel raises it, refuses all calls until it is reset.

    ``DISPATCH_LAUNCH_BLOCKING=1`` waits for the device after each call, so that the call itself raises.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from .._record import Record
from ..discovery import loader
from ..errors import AsyncDeviceError, DeviceLostError
from ..forks import Order, forkable
from ..surroundings.environment import parse_boolean
from ..tracebacks import line_of
from .access import storage_of
from .owners import DEVICE_KEYS, KEY_DEVICES, TYPE_MASKS
from .written_memory import OVERWRITES, Written, is_covered, write

if TYPE_CHECKING:
    from types import CodeType

    from ..keys.table import DispatchKey
    from ..operators.entry import OperatorEntry

_KEPT: Final = 4096
_UNREAD: Final = 64
_VARIABLE: Final = "DISPATCH_LAUNCH_BLOCKING"
_numbers: Final = itertools.count(1)
#: A device's name → its log; devices without late errors have none.
LOGS: Final[dict[str, LaunchLog]] = {}


class _Here(threading.local):
    """The recorded call that a pipeline runs in this thread: its code and the instruction in it."""

    place: tuple[CodeType, int] | None = None


here: Final = _Here()


class Launch(Record):
    """One kernel's call, or planned step: its number, its operators, its stream, and the calls whose results it read."""

    number: int
    name: str
    index: int
    stream: Any
    sources: frozenset[int]
    place: tuple[CodeType, int] | None


class LaunchLog:
    """The calls of one device, and the errors that it has reported."""

    def __init__(self, device: str, interface: Any) -> None:
        self.device, self.interface = device, interface
        self._mask: Final = DEVICE_KEYS[device].value
        self._lock = forkable(Order.MEMORY)
        self._launches: deque[Launch] = deque(maxlen=_KEPT)
        #: Memory → what was written there; the latest at the end.
        self._writers: dict[Hashable, Written] = {}
        #: The number of a call that failed, or that read what one had made → the error.
        self._failed: dict[int, AsyncDeviceError] = {}
        #: The errors that no synchronisation has raised, each with its index, None where it is not known, and its stream.
        self._unread: list[tuple[int | None, Any, AsyncDeviceError]] = []
        #: The index of a device that cannot go on → its error.
        self._lost: dict[int, AsyncDeviceError] = {}
        #: How many memories are kept, before the oldest that no failed call has written are forgotten.
        self._limit = 2 * _KEPT

    def arrays_in(self, values: Iterable[Any]) -> Iterator[Any]:
        """Yield the device's arrays among values, those of lists included; a copy on the host is another device's."""
        for value in values:
            if isinstance(value, (list, tuple)):
                yield from self.arrays_in(value)
            elif TYPE_MASKS.get(type(value)) == self._mask:
                yield value

    def begin(self, arrays: Iterable[Any], overwritten: Iterable[Any] = ()) -> tuple[int, frozenset[int]]:
        """Give a call its number; return it, and those of the calls that wrote what it reads.

        ``overwritten`` are arrays whose elements it writes without a look at them. Raises the error of memory that a failed
        call has written, and of a device that cannot go on.
        """
        if self._lost:
            index, _ = self._find_place()
            if (lost := self._lost.get(index)) is not None:
                raise lost.with_traceback(None)
        found = {writer.number for array in arrays if (writer := self._writers.get(storage_of(array))) is not None}
        for array in overwritten:
            writer = self._writers.get(storage_of(array))
            if writer is not None and not is_covered(writer, array):
                found.add(writer.number)
        if self._failed:
            for number in found:
                if (error := self._failed.get(number)) is not None:
                    raise error.with_traceback(None)
        number = next(_numbers)
        if self.interface.launched is not None:
            self.interface.launched(number)
        return number, frozenset(found)

    def end(
        self, number: int, name: str, sources: frozenset[int], made: Iterable[Any], written: Iterable[Any] = ()
    ) -> None:
        """Keep a call that has been launched: the arrays that it has ``made``, and those that were there."""
        index, stream = self._find_place()
        with self._lock:
            self._launches.append(Launch(number, name, index, stream, sources, here.place))
            for arrays, is_new in ((made, True), (written, False)):
                for array in arrays:
                    key = storage_of(array)
                    before = self._writers.pop(key, None)
                    self._writers[key] = write(array, number, index, stream, None if is_new else before)
            if len(self._writers) > self._limit:
                self._trim()

    def lose(self, error: DeviceLostError, index: int | None = None) -> None:
        """Refuse all calls on a device, by default the thread's, with an error, until it is reset."""
        self._lost.setdefault(self._find_place()[0] if index is None else index, error)

    def restart(self, index: int) -> None:
        """Take calls on a device again, which was reset; what was written there is lost."""
        error = AsyncDeviceError(
            f"the memory of {self.device}:{index} was lost when the device was reset", hint="make the tensor again"
        )
        with self._lock:
            self._lost.pop(index, None)
            self._unread = [each for each in self._unread if each[0] != index]
            self._launches = deque((each for each in self._launches if each.index != index), maxlen=_KEPT)
            for writer in self._writers.values():
                if writer.index == index:
                    self._failed[writer.number] = error

    def _trim(self) -> None:
        """Forget the oldest half of what was written, and of that by failed calls all but the newest; and unused errors."""
        kept = [*self._writers.items()]
        old = [each for each in kept[:-_KEPT] if each[1].number in self._failed][-_KEPT:]
        self._writers = dict(old + kept[-_KEPT:])
        self._limit = 2 * _KEPT + len(old)
        needed = {each.number for each in self._writers.values()} | {each.number for each in self._launches}
        self._failed = {number: error for number, error in self._failed.items() if number in needed}

    def raise_reported(
        self, stream: Any = None, *, everywhere: bool = False, index: int | None = None, partly: bool = False
    ) -> None:
        """Ask for reports, and raise the first error of a stream that was waited for; or ``everywhere``, of an index or any.

        ``partly``: the stream has work that was not waited for, as after an event.
        """
        ask = self.interface.reports
        with self._lock:
            for number, where, error in list(ask() or ()) if ask is not None else ():
                self._mark(number, where, error)
            for place, (at, where, late) in enumerate(self._unread):
                if (None in (at, index) or at == index) if everywhere else (where is None or where == stream):
                    del self._unread[place]
                    raise late
            if not partly:
                self._forget(stream, index, everywhere=everywhere)

    def _mark(self, number: int | None, stream: Any, error: BaseException) -> None:
        launch = next((each for each in self._launches if each.number == number), None)
        index: int | None
        if launch is not None:
            failed, index, stream = {launch.number}, launch.index, launch.stream
        else:
            written = [writer for writer in self._writers.values() if stream is None or writer.stream == stream]
            calls = [each for each in self._launches if stream is None or each.stream == stream]
            failed = {each.number for each in written} | {each.number for each in calls}
            places = {each.index for each in written} | {each.index for each in calls}
            index = places.pop() if len(places) == 1 else None
        late = self._describe(launch, stream, error)
        if isinstance(error, DeviceLostError):
            self._lost.setdefault(self._find_place()[0] if index is None else index, late)
        for each in self._launches:
            if not failed.isdisjoint(each.sources):
                failed.add(each.number)
        for each_number in failed:
            self._failed.setdefault(each_number, late)
        if len(self._unread) < _UNREAD:
            self._unread.append((index, stream, late))

    def _describe(self, launch: Launch | None, stream: Any, error: BaseException) -> AsyncDeviceError:
        what = "a call" if launch is None else launch.name
        text = f"{what} failed on {self.device} after it had been launched: {type(error).__name__}: {error}"
        if stream is not None:
            text += f"\nLaunched on {stream!r}"
        if launch is not None and launch.place is not None:
            text += f"\nRecorded at {line_of(*launch.place)}"
        kind = DeviceLostError if isinstance(error, DeviceLostError) else AsyncDeviceError
        late = kind(text, hint=f"{_VARIABLE}=1 raises it at the call itself")
        late.__cause__ = error
        return late

    def _forget(self, stream: Any, index: int | None, *, everywhere: bool) -> None:
        """Forget the calls of a stream, or of an index or all of them, that have ended well."""

        def has_ended(at: int, where: Any) -> bool:
            return index in (None, at) if everywhere else bool(where == stream)

        self._launches = deque(
            (each for each in self._launches if not has_ended(each.index, each.stream)), maxlen=_KEPT
        )
        for key, writer in list(self._writers.items()):
            if writer.number not in self._failed and has_ended(writer.index, writer.stream):
                del self._writers[key]

    def _find_place(self) -> tuple[int, Any]:
        """Return the index of the thread's device, and its current stream; None where the device has no streams."""
        index = 0 if self.interface.current is None else self.interface.current()
        return index, None if self.interface.streams is None else self.interface.streams.current(index)

    def after_read(self) -> None:
        """Raise what the device has reported of the current stream, which was waited for by a copy to the host."""
        self.raise_reported(self._find_place()[1])

    def wait(self) -> None:
        """Wait for the current stream, and raise what the device has reported."""
        index, stream = self._find_place()
        if stream is not None:
            self.interface.streams.synchronize(stream)
        elif self.interface.synchronize is not None:
            self.interface.synchronize(index)
        self.raise_reported(stream)


def find_log(key: DispatchKey | None) -> LaunchLog | None:
    """Return the log of the device of a key, made at the first need; None where its calls are not numbered."""
    name = None if key is None else KEY_DEVICES.get(key.backend)
    if name is None:
        return None
    found = LOGS.get(name)
    # An interpreter that ends imports nothing any more.
    if found is None and not sys.is_finalizing() and loader().is_loaded(name) and loader().brings_interface(name):
        interface: Any = loader().device_interface(name)
        waits = is_blocking() and (interface.streams is not None or interface.synchronize is not None)
        if waits or interface.reports is not None:
            found = LOGS[name] = LaunchLog(name, interface)
    return found


def is_blocking() -> bool:
    """Return whether each call is waited for: ``DISPATCH_LAUNCH_BLOCKING``."""
    text = os.environ.get(_VARIABLE, "").strip()
    return bool(text) and parse_boolean(_VARIABLE, text)


def number_kernel(fn: Callable[..., Any], entry: OperatorEntry, log: LaunchLog, skip: int = 0) -> Callable[..., Any]:
    """Return a kernel whose calls are numbered; the first ``skip`` arguments are not the operator's.

    See Note [Late errors].
    """
    signature = entry.signature
    parameters = () if signature is None else signature.parameters
    named = frozenset(parameters[index].name for index in (() if signature is None else signature.writes))
    places = [skip + place for place, each in enumerate(parameters) if each.name in named]
    overwritten = {skip} if entry.name in OVERWRITES else set()
    if signature is not None and any(result.kind == "view" for result in signature.results):
        return fn  # a view is made on the host
    waits = is_blocking()

    def launch(*args: Any, **kwargs: Any) -> Any:
        # An argument `out` is given by name, and all of it is written.
        given = [each for place, each in enumerate(args) if place not in overwritten]
        given += [value for name, value in kwargs.items() if name != "out"]
        targets = [*(args[place] for place in overwritten if place < len(args)), kwargs.get("out")]
        number, sources = log.begin(log.arrays_in(given), log.arrays_in(targets))
        try:
            result = fn(*args, **kwargs)
        except DeviceLostError as error:
            log.lose(error)
            raise
        if result is NotImplemented:
            return result
        written = [*log.arrays_in(args[place] for place in places if place < len(args))]
        written += log.arrays_in(value for name, value in kwargs.items() if name in named)
        made = [each for each in log.arrays_in([result]) if not any(each is other for other in written)]
        log.end(number, entry.name, sources, made, written)
        if waits:
            log.wait()
        elif not (made or written):
            log.after_read()
        return result

    return launch


def number_copy(device: str, name: str, read: Iterable[Any], copy: Callable[[], Any]) -> Any:
    """Return the result of a copy from or to the host that need not have ended, with a number where calls have one.

    ``read`` are the device's arrays that it reads; its result is one that it writes, or None.
    """
    log = find_log(DEVICE_KEYS.get(device))
    if log is None:
        return copy()
    number, sources = log.begin(log.arrays_in(read))
    result = copy()
    log.end(number, name, sources, log.arrays_in([result]))
    return result


def number_step(
    run: Callable[[list[Any]], None],
    name: str,
    reads: tuple[int, ...],
    overwrites: tuple[int, ...],
    makes: tuple[int, ...],
    writes: tuple[int, ...],
    log: LaunchLog,
) -> Callable[[list[Any]], None]:
    """Return the function of a planned step with a number.

    The others are the indices of values that it reads, that it overwrites without a look at them, that it makes, and that it
    writes.
    """

    def launch(values: list[Any]) -> None:
        number, sources = log.begin(
            log.arrays_in(values[index] for index in reads), log.arrays_in(values[index] for index in overwrites)
        )
        run(values)
        made, written = (log.arrays_in(values[index] for index in each) for each in (makes, writes))
        log.end(number, name, sources, made, written)

    return launch
