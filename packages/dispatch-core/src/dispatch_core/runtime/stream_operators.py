"""Changes of the current stream, and events, as operators: a pipeline records them among the calls that they are for.

Each takes the backend's own objects behind a function of its interface, so that a recorded call keeps them alive. They are
defined at the first need, in the namespace ``streams``.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from threading import get_ident
from typing import TYPE_CHECKING, Any

from ..arrays.caller_streams import enter_stream, find_stream
from ..arrays.owners import device_key
from ..bookkeeping.levels import Level
from ..bookkeeping.transactions import run_outside
from ..devices import Device
from ..pipelines import open_recording, open_session
from .guards import find_interface
from .host_streams import AT_ONCE

if TYPE_CHECKING:
    from ..operators.entry import OperatorEntry

__all__ = ["defer", "flush_recorded", "note_named", "own_streams", "run_recorded"]

_SCHEMAS = (
    "enter(Any device, Any stream, Any before) -> ()",
    "record(Any device, Any event, Any stream) -> ()",
    "wait(Any device, Any event, Any stream) -> ()",
)


def _enter(device: Device, stream: Any, before: Any) -> None:
    enter_stream(device, stream, before)


def _record(device: Device, event: Any, stream: Any) -> None:
    find_interface(device.type).events.record(getattr(event, "handle", event), find_stream(device, stream))


def _wait(device: Device, event: Any, stream: Any) -> None:
    find_interface(device.type).events.wait(getattr(event, "handle", event), find_stream(device, stream))


@cache
def _entries() -> dict[str, OperatorEntry]:
    """Define the operators; return their entries."""
    return run_outside(_define)


def _define() -> dict[str, OperatorEntry]:
    from ..operators.library import Library
    from ..operators.registries import registry

    with registry.transaction(level=Level.BACKEND):
        library = Library("streams", "DEF")
        names = [library.define(schema) for schema in _SCHEMAS]
        for name, kernel in zip(names, (_enter, _record, _wait), strict=True):
            library.impl(name.partition("::")[2], kernel, "CompositeExplicitAutograd")
    return {name.partition("::")[2]: registry.get(name) for name in names}


def defer(operator: str, device: Device, *objects: Any) -> bool:
    """Record a call in the open pipeline, behind the calls that wait there; return False where none waits."""
    session = open_session()
    if session is None or device.type in AT_ONCE:
        return False
    if operator == "enter" and session.streams_of not in (0, get_ident()):
        return False
    for outer in _list_outer(session):
        if not outer.waiting:
            _note_left(outer, operator, device, objects)
            continue
        if operator == "enter":
            # Its calls are launched on the stream that was current at them.
            outer.order(_entries()[operator], device_key(device.type), (device, *objects))
        else:
            # They come before the event.
            outer.flush()
    if not (session.waiting or open_recording() is not None):
        _note_left(session, operator, device, objects)
        return False
    session.order(_entries()[operator], device_key(device.type), (device, *objects))
    return True


def _note_left(session: Any, operator: str, device: Device, objects: tuple[Any, ...]) -> None:
    """Take note of the stream on which the next calls will run, where none before them waits."""
    if operator == "enter":
        session.streams_left[device] = objects[0]


def own_streams() -> list[AbstractContextManager[object]]:
    """Return guards for a block of a stream: of an open pipeline, which records the streams of one thread."""
    session = open_session()
    return [] if session is None or open_recording() is not None else [session.own_streams()]


def _list_outer(session: Any) -> list[Any]:
    """Return the pipelines around one, the outermost first; those around a captured function's call are left out."""
    found: list[Any] = []
    while session.recording is None and session.outer is not None and session.outer.recording is None:
        session = session.outer
        found.insert(0, session)
    return found


def note_named(device: Device, stream: Any, asked_in: Any) -> None:
    """Tell a captured function's recording that it names a stream, unless this was ``asked_in`` it as the current one."""
    recording = open_recording()
    if recording is not None and recording is not asked_in and device.type not in AT_ONCE:
        recording.streams.name(device, stream, recording.guard)


def run_recorded(what: str) -> None:
    """Run the calls that the open pipeline has recorded: ``what`` is asked about their work.

    Raises ``CaptureError`` in a captured function.
    """
    session = open_session()
    if session is not None:
        recording = open_recording()
        if recording is not None:
            recording.refuse(
                f"{what} asks about work on a device", "call it outside of the captured function: a replay asks nothing"
            )
        flush_recorded(session)


def flush_recorded(session: Any) -> None:
    """Run the calls that a pipeline, and those around it, have recorded."""
    for each in (*_list_outer(session), session):
        each.flush()
