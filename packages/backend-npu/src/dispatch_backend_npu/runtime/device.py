"""The runtime's life in this process: opening it, the device of each thread, and closing it.

Note [Threads and contexts]
    ACL's calls mean the calling thread's current context. A device is opened once (``aclrtSetDevice``), which makes its
    context; every other thread that uses it makes that context its own (``aclrtSetCurrentContext``), so that memory and
    streams may pass from thread to thread. ``ensure`` does so at a thread's first call, and costs nothing after it.

Note [Finalizers call nothing]
    An object may be collected in any thread, in the middle of any call, and after the runtime was closed. So no finalizer
    calls ACL: it leaves the handle where the next call that needs one finds it. What is left is destroyed by ``finalize``.

Note [A device that does not answer]
    A device that has not finished within the time limit of a synchronisation may go on at any time. So nothing that it
    may be working with, streams, memory, descriptors, executors, is freed or given to anybody else: it is left where it
    is for as long as the process lives (``at_timeout``, and ``finalize`` passes the device over). Threads notice because
    their era ends: the next call makes them enter their device again, and that is refused.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from typing import Any, Final

from dispatch_core.devices import Device
from dispatch_core.errors import BackendError, BackendUnavailableError
from dispatch_core.interrupts import whole

from ..acl import reports
from ..acl.constants import ACL_ERROR_REPEAT_FINALIZE, ACL_ERROR_REPEAT_INITIALIZE
from ..acl.library import bind, call, fail
from . import waiting
from .waiting import check_answers, has_answered

__all__ = [
    "Session",
    "Stage",
    "at_finalize",
    "at_timeout",
    "current",
    "ensure",
    "finalize",
    "guard",
    "index_of",
    "init",
    "is_initialized",
    "leave_for",
    "on_second_device",
    "opened",
    "session",
    "set_current",
    "synchronize",
    "wait",
]


class Stage(IntEnum):
    """When a function given to ``at_finalize`` is called: what uses something goes before it."""

    PLANS = 0
    EVENTS = 1
    STREAMS = 2
    MEMORY = 3


class Session:
    """The runtime from its opening to its closing, and what other modules keep for its devices."""

    __slots__ = ("allocators", "contexts", "events", "host", "is_ours", "references", "streams")

    def __init__(self, *, is_ours: bool) -> None:
        #: Whether this package called ``aclInit`` first, and so has to call ``aclFinalize``.
        self.is_ours = is_ours
        self.references = 0
        #: device → the context that all threads share on it.
        self.contexts: dict[int, int] = {}
        self.allocators: dict[int, Any] = {}
        self.streams: dict[int, Any] = {}
        self.events: dict[int, Any] = {}
        self.host: Any = None

    def end(self) -> None:
        """Let streams that are still there know that they are of no use any more."""
        for streams in self.streams.values():
            streams.is_open = False


class _Thread(threading.local):
    """What a thread works with: the device whose context is its current one, since which era, and its current stream."""

    #: None where the thread has to take its device's context again.
    era: object = None
    device: int = 0
    stream: Any = None

    def __init__(self) -> None:
        #: device → the stream that the thread chose there.
        self.chosen: dict[int, Any] = {}


thread: Final = _Thread()
_lock = threading.RLock()
_session: Session | None = None
#: Another object whenever the threads have to ask again whether they can work with their devices.
_era: object = object()
_forked = False
_closers: Final[list[tuple[Stage, Callable[[int], None]]]] = []
_quarantines: Final[list[Callable[[Session, int], None]]] = []


def at_finalize(stage: Stage, close: Callable[[int], None]) -> None:
    """Have ``close(device)`` called for every opened device before it is reset, its context being the thread's."""
    _closers.append((stage, close))
    _closers.sort(key=lambda entry: entry[0])


def at_timeout(quarantine: Callable[[Session, int], None]) -> None:
    """Have ``quarantine(session, device)`` called where a device has not answered in time."""
    _quarantines.append(quarantine)


def ensure(device: int | None = None) -> int:
    """Make a device the calling thread's own, opening runtime and device at their first use; give its number.

    Without an argument it is the device that the thread has used last, at first 0. Raises ``ToolkitNotFoundError`` where
    there is no toolkit, ``BackendUnavailableError`` where there is no such device, ``DeviceTimeoutError`` for one that did
    not answer.
    """
    mine = thread
    if mine.era is _era and (device is None or device == mine.device):
        return mine.device
    return _enter(mine.device if device is None else device)


def _enter(device: int) -> int:
    with _lock:
        check_answers(device)
        found = _session or _open()
        context = found.contexts.get(device)
        # Whatever happens now, the thread does not know its context until it has succeeded.
        thread.era = thread.stream = None
        if context is None:
            if found.contexts or device:  # Every thread's own device is 0 until it chooses another.
                _note_second(is_there=True)
            found.contexts[device] = _open_device(device)
        else:
            call("aclrtSetCurrentContext", context)
        thread.era, thread.device = _era, device
    return device


def wait(function: str, *handle: int) -> None:
    """Call a function that waits for the thread's device, within the time limit if there is one.

    Raises ``DeviceTimeoutError`` where the device does not finish in time, see Note [A device that does not answer], and
    ``AclError`` where its work has failed.
    """
    called, status = waiting.ask(function, *handle)
    if status in waiting.TIMED_OUT:
        device = thread.device
        _give_up(device, called, status)
        check_answers(device)
    if status:
        fail(called, status)


def _give_up(device: int, function: str, status: int) -> None:
    """Let nobody work with a device any more, and nobody else with what it may be working with."""
    global _era
    with _lock:
        waiting.give_up(device, function, status)
        if _session is not None:
            for quarantine in _quarantines:
                quarantine(_session, device)
        _era = object()
        thread.stream = None


_changes: Final[list[Callable[[bool], None]]] = []
_has_second = False


def on_second_device(change: Callable[[bool], None]) -> None:
    """Have ``change(True)`` called before arrays can lie on a second device, ``change(False)`` when they no longer can."""
    with _lock:
        _changes.append(change)
        if _has_second:
            change(True)


def _note_second(*, is_there: bool) -> None:
    global _has_second
    if _has_second != is_there:
        _has_second = is_there
        for change in _changes:
            change(is_there)


def _open() -> Session:
    global _session
    if _forked:
        raise BackendError(
            "the NPU was opened before this process was forked, and cannot be used in the child",
            hint="start processes by multiprocessing's method 'spawn'",
        )
    waiting.read_environment()
    status = bind("aclInit")(None)
    if status not in (0, ACL_ERROR_REPEAT_INITIALIZE):
        fail("aclInit", status)
    _session = Session(is_ours=status == 0)
    _session.references = 1
    _register_once()
    return _session


_registered = False


def _register_once() -> None:
    global _registered
    if not _registered:
        _registered = True
        atexit.register(_at_exit)
        os.register_at_fork(after_in_child=_after_fork)


def _open_device(device: int) -> int:
    count = ctypes.c_uint32()
    call("aclrtGetDeviceCount", ctypes.byref(count))
    if not 0 <= device < count.value:
        raise BackendUnavailableError(
            f"there is no device npu:{device}: this machine has {count.value} ({_numbers(count.value)})",
            hint="ASCEND_RT_VISIBLE_DEVICES limits which devices a process sees",
        )
    call("aclrtSetDevice", device)
    context = ctypes.c_void_p()
    try:
        call("aclrtGetCurrentContext", ctypes.byref(context))
    except BackendError:
        reports.destroy("aclrtResetDevice", device)
        raise
    return context.value or 0


def _numbers(count: int) -> str:
    return "none" if not count else "npu:0" if count == 1 else f"npu:0 to npu:{count - 1}"


def is_initialized() -> bool:
    """Say whether the runtime is open."""
    return _session is not None


def session() -> Session:
    """Give the open runtime, opening it and the thread's device where they are not."""
    ensure()
    assert _session is not None
    return _session


def opened() -> list[int]:
    """Give the numbers of the devices that have been opened."""
    return [] if _session is None else list(_session.contexts)


def current() -> int:
    """Give the number of the thread's device. Opens nothing."""
    return thread.device


def index_of(device: int | str | Device | None) -> int | None:
    """Read what users write for a device: its number, its name, a device; None is the thread's own.

    Raises ``BackendError`` for a device of another backend.

    >>> index_of("npu:1"), index_of("npu"), index_of(0)
    (1, None, 0)
    """
    if device is None or isinstance(device, int):
        return device
    found = Device.parse(device)
    if found.type != "npu":
        raise BackendError(f"expected an npu device, but got {found}")
    return found.index


def set_current(device: int) -> None:
    """Make another device the thread's own."""
    ensure(device)


class guard:  # noqa: N801  # it reads as a statement: with guard(1): ...
    """Make a device the thread's own within a block.

    Entering gives the device's number; None is the thread's own. Leaving calls nothing, so that nothing can fail there: the
    thread takes its own device's context again when it next works with it.
    """

    __slots__ = ("_before", "device")

    _before: int | None

    def __init__(self, device: int | None) -> None:
        #: The device before; None where the block was not entered.
        self.device, self._before = device, None

    def __enter__(self) -> int:
        self._before = thread.device
        try:
            return ensure(self.device)
        except BaseException:
            leave_for(self._before)
            raise

    @whole
    def __exit__(self, *exception: object) -> None:
        try:
            leave_for(self._before)
        except BaseException:
            # An interrupt; see Note [Where an interrupt falls] in `dispatch_core.interrupts`.
            leave_for(self._before)
            raise


def leave_for(device: int | None) -> None:
    """Let another device be the thread's own from its next call on; None changes nothing."""
    if device is not None and thread.device != device:
        thread.era, thread.stream, thread.device = None, None, device


def synchronize(device: int | None = None) -> None:
    """Wait until everything that was queued on a device, by whatever stream and thread, is done."""
    with guard(device) as number:
        streams = session().streams.get(number)
        if streams is None:
            wait("aclrtSynchronizeDevice")
        else:
            streams.synchronize()


def init() -> None:
    """Open the runtime, or take one more reference to it where it is open."""
    with _lock:
        if _session is None:
            _open()
        else:
            _session.references += 1


def finalize(*, force: bool = False) -> bool:
    """Give up a reference to the runtime; the last one, or ``force``, closes it. Say whether it is closed now.

    Arrays, streams and events that are still there must not be used after it. Everything is tried to be destroyed whatever
    fails; the first failure is then raised. What belongs to a device that did not answer stays, and the toolkit with it.
    """
    global _session, _era
    with _lock:
        closing = _session
        if closing is None:
            return True
        closing.references -= 1
        if closing.references > 0 and not force:
            return False
        failures: list[Exception] = []

        def attempt(step: Callable[..., Any], *args: Any) -> None:
            try:
                step(*args)
            except Exception as error:  # noqa: BLE001  # the rest is to be destroyed, and the first is raised below
                failures.append(error)

        before, entered = thread.device, []
        for device in filter(has_answered, closing.contexts):
            attempt(ensure, device)
            if thread.era is not _era:  # Once more, for all that lies there would be lost.
                attempt(ensure, device)
            if thread.era is not _era:
                continue
            attempt(wait, "aclrtSynchronizeDevice")
            if not has_answered(device):
                continue
            entered.append(device)
            for _, close in _closers:
                attempt(close, device)
        closing.end()
        _session = thread.era = thread.stream = None
        _era = object()
        thread.device = before
        for device in entered:
            attempt(call, "aclrtResetDevice", device)
        attempt(reports.tell)
        reports.forget()
        if closing.is_ours and all(map(has_answered, closing.contexts)):
            status = bind("aclFinalize")()
            if status not in (0, ACL_ERROR_REPEAT_FINALIZE):
                attempt(fail, "aclFinalize", status)
        _note_second(is_there=False)
    if failures:
        raise failures[0]
    return True


def _at_exit() -> None:
    """Close the runtime while the interpreter can still call it; who is told of failures then is nobody."""
    _changes.clear()
    with suppress(Exception):
        finalize(force=True)


def _after_fork() -> None:
    """Forget the runtime in a child process, and whoever held the lock in its parent."""
    global _session, _era, _forked, _lock
    _lock = threading.RLock()
    if _session is not None:
        _forked = True
        _session.end()
    _session = thread.era = thread.stream = None
    _era = object()
