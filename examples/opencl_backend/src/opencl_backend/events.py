"""Events: marks in streams. The device's interface takes this module for its functions."""

from __future__ import annotations

from typing import Any

import pyopencl as cl

from .streams import Stream, is_done


class Event:
    """A mark: a command that ends when all work before it has ended, and knows when that was."""

    command: Any = None


def create(index: int) -> Event:
    """Return a new event."""
    return Event()


def record(event: Event, stream: Stream) -> None:
    """Mark the end of the stream's work."""
    event.command = stream.last = cl.enqueue_marker(stream.queue)
    stream.queue.flush()


def wait(event: Event, stream: Stream) -> None:
    """Make the stream's later work wait for the event."""
    stream.last = cl.enqueue_barrier(stream.queue, wait_for=[event.command])
    stream.queue.flush()


def query(event: Event) -> bool:
    """Return whether the work before the event is done."""
    return is_done(event.command)


def synchronize(event: Event) -> None:
    """Wait until the work before the event is done."""
    event.command.wait()


def elapsed_time(start: Event, end: Event) -> float:
    """Return the milliseconds between two events."""
    return float(end.command.profile.end - start.command.profile.end) / 1e6
