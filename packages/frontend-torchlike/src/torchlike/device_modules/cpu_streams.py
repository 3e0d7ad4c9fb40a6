"""Streams and events of the cpu, whose work is done when a call returns (source: ``torch.cpu``).

>>> with stream(Stream()) as entered:
...     entered is None, current_stream() is current_stream("cpu")
(True, True)
"""

from __future__ import annotations

from typing import Any, Final

from dispatch_core.lazy_text import repr_by_attributes

__name__ = "torchlike.cpu"  # see Note [Public paths]

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "stream"]


class Stream:
    """A queue of work on the cpu, in which there is never any: programs for any device make one."""

    __repr__ = repr_by_attributes()

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Do nothing: no work is left to wait for."""

    def record_event(self) -> None:
        """Do nothing: the work that was given is done."""

    def wait_event(self, event: Any) -> None:
        """Do nothing: no work is left to wait for."""


class Event:
    """A mark among the work of the cpu, all of which is done."""

    __repr__ = repr_by_attributes()

    def query(self) -> bool:
        """Return True: all work is done."""
        return True

    def record(self, stream: Any = None) -> None:
        """Do nothing: the work that was given is done."""

    def synchronize(self) -> None:
        """Do nothing: no work is left to wait for."""

    def wait(self, stream: Any = None) -> None:
        """Do nothing: no work is left to wait for."""


#: The stream that programs have chosen, which has no effect.
_current: Final = [Stream()]


def current_stream(device: Any = None) -> Any:
    """Return the stream that was chosen last, or the first one."""
    return _current[-1]


class StreamContext:
    """Choose a stream within a block; None changes nothing."""

    __repr__ = repr_by_attributes("stream")

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            _current.append(self.stream)

    def __exit__(self, *exception: object) -> None:
        if self.stream is not None:
            _current.pop()


def stream(stream: Any) -> StreamContext:
    """Return the block of a stream."""
    return StreamContext(stream)
