"""Events: marks in streams, to wait for and to measure the time between."""

from __future__ import annotations

import ctypes
from typing import Any

from dispatch_core import BackendError

from ..acl.constants import (
    ACL_EVENT_CAPTURE_STREAM_PROGRESS,
    ACL_EVENT_RECORDED_STATUS_COMPLETE,
    ACL_EVENT_SYNC,
    ACL_EVENT_TIME_LINE,
)
from ..acl.library import call, call_each
from .device import ensure_session, guard, wait
from .session import AclSession, Stage, at_finalize
from .stream import Stream, check_stream, current


class _Events:
    """A device's event handles: all of them, and by flags those that no event uses."""

    def __init__(self) -> None:
        self.handles: list[int] = []
        self.idle: dict[int, list[int]] = {}

    def take(self, flags: int) -> int:
        idle = self.idle.setdefault(flags, [])
        try:
            return idle.pop()
        except IndexError:
            handle = ctypes.c_void_p()
            call("aclrtCreateEventExWithFlag", ctypes.byref(handle), flags)
            self.handles.append(handle.value or 0)
            return self.handles[-1]


class Event:
    """A mark in a stream (source: ``torch.npu.Event``); with ``enable_timing`` the time between two can be measured.

    It belongs to the device of the stream in which it is first recorded. An event that was never recorded is done.
    """

    __slots__ = ("__weakref__", "_events", "_flags", "_session", "device", "pointer")

    def __init__(self, enable_timing: bool = False, blocking: bool = False) -> None:
        self._flags = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS
        if enable_timing:
            self._flags |= ACL_EVENT_TIME_LINE
        #: Its ``aclrtEvent``, 0 until it is recorded.
        self.pointer = 0
        self.device: int | None = None
        self._events: _Events | None = None
        self._session: AclSession | None = None

    def __del__(self) -> None:
        if self._events is not None:
            self._events.idle[self._flags].append(self.pointer)

    def record(self, stream: Stream | None = None) -> None:
        """Mark the end of the work that is queued on a stream now, by default the thread's current one."""
        stream = current() if stream is None else check_stream(stream)
        with guard(stream.device) as device:
            now = ensure_session()
            if self._session is not now:
                events = now.events.setdefault(device, _Events())
                self.pointer = events.take(self._flags)
                self._events, self._session, self.device = events, now, device
            if self.device != device:
                raise BackendError(f"an event of npu:{self.device} cannot be recorded in {stream!r}")
            call("aclrtRecordEvent", self.pointer, stream.pointer)
            stream.is_busy = True

    def wait(self, stream: Stream | None = None) -> None:
        """Make work that is queued on a stream from now on wait for this event."""
        if not self._is_live():
            return
        stream = current() if stream is None else check_stream(stream)
        with guard(stream.device):
            call("aclrtStreamWaitEvent", stream.pointer, self.pointer)
            stream.is_busy = True

    def query(self) -> bool:
        """Return whether all work before the mark is done."""
        if not self._is_live():
            return True
        status = ctypes.c_int()
        with guard(self.device):
            call("aclrtQueryEventStatus", self.pointer, ctypes.byref(status))
        return status.value == ACL_EVENT_RECORDED_STATUS_COMPLETE

    def synchronize(self) -> None:
        """Wait until all work before the mark is done."""
        if self._is_live():
            with guard(self.device):
                wait("aclrtSynchronizeEvent", self.pointer)

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds from this mark to another; both must have been recorded, and be done."""
        if not (self._is_live() and end_event._is_live()):
            raise BackendError("both events must be recorded before the time between them can be measured")
        if not self._flags & end_event._flags & ACL_EVENT_TIME_LINE:
            raise BackendError(
                "the time between two events can be measured only where both were created for it",
                hint="Event(enable_timing=True)",
            )
        milliseconds = ctypes.c_float()
        with guard(self.device):
            call("aclrtEventElapsedTime", ctypes.byref(milliseconds), self.pointer, end_event.pointer)
        return milliseconds.value

    def _is_live(self) -> bool:
        return self._session is not None and self._session is ensure_session()

    def __repr__(self) -> str:
        return f"<torchlike.npu.Event {self.pointer:#x}>" if self.pointer else "<torchlike.npu.Event uninitialized>"


def _close(device: int) -> None:
    events: Any = ensure_session().events.pop(device, None)
    if events is not None:
        call_each("aclrtDestroyEvent", events.handles)


at_finalize(Stage.EVENTS, _close)
