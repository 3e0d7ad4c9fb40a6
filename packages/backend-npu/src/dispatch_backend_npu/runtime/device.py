"""Opening the runtime, the device of each thread, and closing the runtime.

Calls of ACL act on the calling thread's current context. A device is opened once (``aclrtSetDevice``), which creates
its context; every other thread that uses it makes that context its own (``aclrtSetCurrentContext``), so that threads
can share memory and streams. ``ensure`` does so at a thread's first call, and only compares afterwards.

Note [Finalizers call nothing]
    An object may be collected in any thread, in the middle of any call, and after the runtime was closed. So no finalizer
    calls ACL: it queues the handle for the next call that needs one. ``finalize`` destroys the handles that are left.

Note [A device that does not answer]
    A device that has not finished within the time limit of a synchronisation may go on at any time. So its streams,
    memory, descriptors and executors are neither freed nor used again: they stay as they are until the process ends
    (``at_timeout``; ``finalize`` skips the device). The generation changes, so that the next call of each thread enters
    its device again, which raises an error.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from dispatch_core import BackendError, BackendUnavailableError, Device, is_deterministic, note_device
from dispatch_core.interrupts import whole

from ..acl import reports
from ..acl.constants import (
    ACL_ERROR_REPEAT_FINALIZE,
    ACL_ERROR_REPEAT_INITIALIZE,
    ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
    ACL_OPT_DETERMINISTIC,
)
from ..acl.library import bind, call, fail
from . import waiting
from .chips import Chip, check_chip
from .session import AclSession, closers, quarantines
from .waiting import check_answers, has_answered

BLOCKING: Final = ("ASCEND_LAUNCH_BLOCKING", "DISPATCH_LAUNCH_BLOCKING")
"""The environment variables by which each call is waited for, once the runtime is opened: the toolkit's, and the core's."""


class _ThreadDevice(threading.local):
    """A thread's device, whose context is its current one, the generation in which it was set, and the current stream."""

    #: None where the thread has to set its device's context again.
    generation: object = None
    device: int = 0
    stream: Any = None

    def __init__(self) -> None:
        #: device → the stream that the thread chose there.
        self.chosen: dict[int, Any] = {}


thread: Final = _ThreadDevice()
_lock = threading.RLock()
_session: AclSession | None = None
#: Replaced by a new object when every thread has to set its device's context again.
_generation: object = object()
_forked = False


def ensure(device: int | None = None) -> int:
    """Make a device the calling thread's own, open runtime and device at their first use, and return its number.

    The default is the device that the thread has used last, at first 0. Raises ``ToolkitNotFoundError`` where
    there is no toolkit, ``BackendUnavailableError`` where there is no such device, ``DeviceTimeoutError`` for one that did
    not answer.
    """
    mine = thread
    if mine.generation is _generation and (device is None or device == mine.device):
        return mine.device
    return _enter(mine.device if device is None else device)


def _enter(device: int) -> int:
    # Before an array can lie there, and before any lock of this module is taken.
    if device > 0:
        note_device(Device("npu", device))
    with _lock:
        check_answers(device)
        found = _session or _open()
        context = found.contexts.get(device)
        # The thread has no known context until this has succeeded.
        thread.generation = thread.stream = None
        if context is None:
            found.contexts[device] = _open_device(found, device)
        else:
            call("aclrtSetCurrentContext", context)
        thread.generation, thread.device = _generation, device
    return device


def wait(function: str, *handle: int) -> None:
    """Call a function that waits for the thread's device, within the time limit if there is one.

    Raises ``DeviceTimeoutError`` where the device does not finish in time, see Note [A device that does not answer], and
    ``AclError`` where its work has failed.
    """
    try:
        called, status = waiting.call_waiting(function, *handle)
    except BackendError:  # of a watcher
        _abandon(thread.device, function, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT)
        raise
    if status in waiting.TIMED_OUT:
        device = thread.device
        _abandon(device, called, status)
        check_answers(device)
    if status:
        for explain in explanations:
            explain(called, status)
        fail(called, status)


explanations: Final[list[Callable[[str, int], None]]] = []
"""Functions that are called when the work of the thread's device has failed; each may raise an error that says more."""


def _abandon(device: int, function: str, status: int) -> None:
    """Refuse further work on a device, and keep its objects from being used again."""
    global _generation
    with _lock:
        waiting.mark_silent(device, function, status)
        if _session is not None:
            for quarantine in quarantines:
                quarantine(_session, device)
        _generation = object()
        thread.stream = None


def _open() -> AclSession:
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
    _session = AclSession(is_ours=status == 0)
    _session.references = 1
    _session.is_blocking = any(os.environ.get(name) == "1" for name in BLOCKING)
    _register_exit()
    return _session


_registered = False


def _register_exit() -> None:
    global _registered
    if not _registered:
        _registered = True
        atexit.register(_at_exit)
        if sys.platform != "win32":
            os.register_at_fork(after_in_child=_after_fork)


def soc_name() -> str:
    """Return the name of the chip as the toolkit has it, ``""`` where it does not tell."""
    name: bytes | None = bind("aclrtGetSocName")()
    return name.decode(errors="replace") if name else ""


def chip() -> Chip:
    """Return the family of the chips; open the thread's device where none was opened yet."""
    found = ensure_session().chip
    assert found is not None  # a device is open
    return found


def is_blocking() -> bool:
    """Return whether each call is waited for, so that an error of the device is raised by the call."""
    return ensure_session().is_blocking


def set_deterministic(mode: bool) -> None:
    """Choose algorithms that give the same bits in each run, or the fastest ones, for every opened device."""
    for device in opened_devices():
        with guard(device):
            _set_deterministic(mode=mode)


def _set_deterministic(*, mode: bool) -> None:
    call("aclrtCtxSetSysParamOpt", ACL_OPT_DETERMINISTIC, int(mode))


def _open_device(found: AclSession, device: int) -> int:
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
        if found.chip is None:
            found.chip = check_chip(soc_name())
        if is_deterministic():
            _set_deterministic(mode=True)
    except BackendError:
        reports.destroy("aclrtResetDevice", device)
        raise
    return context.value or 0


def _numbers(count: int) -> str:
    return "none" if not count else "npu:0" if count == 1 else f"npu:0 to npu:{count - 1}"


def is_initialized() -> bool:
    """Return whether the runtime is open."""
    return _session is not None


def ensure_session() -> AclSession:
    """Return the open runtime; open it, and the thread's device, where they are not."""
    ensure()
    assert _session is not None
    return _session


def opened_devices() -> list[int]:
    """Return the numbers of the devices that have been opened."""
    return [] if _session is None else list(_session.contexts)


def current() -> int:
    """Return the number of the thread's device. Opens nothing."""
    return thread.device


def parse_index(device: int | str | Device | None) -> int | None:
    """Return the number of a device from a number, a name or a device; None is the thread's own.

    Raises ``BackendError`` for a device of another backend.

    >>> parse_index("npu:1"), parse_index("npu"), parse_index(0)
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

    Entering returns the device's number; None is the thread's own. Leaving calls nothing, so that nothing can fail there:
    the next call of the thread sets its own device's context again.
    """

    __slots__ = ("_before", "device")

    _before: int | None

    def __init__(self, device: int | None) -> None:
        self.device = device
        #: The device before; None where the block was not entered.
        self._before = None

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
    """Make another device the thread's own from its next call on; None changes nothing."""
    if device is not None and thread.device != device:
        thread.generation, thread.stream, thread.device = None, None, device


def synchronize(device: int | None = None) -> None:
    """Wait until all work that was queued on a device, on any stream by any thread, is done."""
    with guard(device) as number:
        streams = ensure_session().streams.get(number)
        if streams is None:
            wait("aclrtSynchronizeDevice")
        else:
            streams.synchronize()


def init() -> None:
    """Open the runtime, or take a further reference to the open one."""
    with _lock:
        if _session is None:
            _open()
        else:
            _session.references += 1


def finalize(*, force: bool = False) -> bool:
    """Release a reference to the runtime; the last one, or ``force``, closes it. Return whether it is closed now.

    Remaining arrays, streams and events must not be used afterwards. A failure does not keep the rest from being destroyed;
    the first one is raised in the end. The objects of a device that did not answer stay, and so does the toolkit.
    """
    global _session, _generation
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
            if thread.generation is not _generation:  # Once more, because everything on the device would be lost.
                attempt(ensure, device)
            if thread.generation is not _generation:
                continue
            attempt(wait, "aclrtSynchronizeDevice")
            if not has_answered(device):
                continue
            entered.append(device)
            for _, close in closers:
                attempt(close, device)
        closing.end()
        _session = thread.generation = thread.stream = None
        _generation = object()
        thread.device = before
        for device in entered:
            attempt(call, "aclrtResetDevice", device)
        attempt(reports.warn)
        reports.reset()
        if closing.is_ours and all(map(has_answered, closing.contexts)):
            status = bind("aclFinalize")()
            if status not in (0, ACL_ERROR_REPEAT_FINALIZE):
                attempt(fail, "aclFinalize", status)
    if failures:
        raise failures[0]
    return True


def _at_exit() -> None:
    """Close the runtime while the interpreter can still call it; failures are dropped."""
    with suppress(Exception):
        finalize(force=True)


def _after_fork() -> None:
    """Drop the runtime in a child process, and the lock, which a thread of the parent may hold."""
    global _session, _generation, _forked, _lock
    _lock = threading.RLock()
    if _session is not None:
        _forked = True
        _session.end()
    _session = thread.generation = thread.stream = None
    _generation = object()
