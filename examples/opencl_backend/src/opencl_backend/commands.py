"""Submitting commands: each waits for the commands of other streams that use its memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from .driver import open_context
from .memory import Block
from .streams import Stream

#: A kernel keeps its arguments between calls, and a block its commands: one thread submits at a time.
_lock: Final = threading.RLock()


def submit(
    enqueue: Callable[[Any, Any], Any], stream: Stream, *, reads: Sequence[Block] = (), writes: Sequence[Block] = ()
) -> Any:
    """Call ``enqueue(queue, wait_for)`` with a stream's queue and the events to wait for, and return the command's event."""
    open_context()  # refuses a forked process
    from .interface import INTERFACE

    queue: Any = INTERFACE.queue  # the conformance kit replaces it by one that delays
    with _lock:
        before = [command for block in reads for command in block.commands_before(stream, writes=False)]
        before += [command for block in writes for command in block.commands_before(stream, writes=True)]
        command = stream.last = queue(enqueue, stream.queue, before or None)
        for each in reads:
            each.used_by(stream, command, writes=False)
        for each in writes:
            each.used_by(stream, command, writes=True)
    # Without this a command of another stream could wait for one that the driver has not begun.
    stream.queue.flush()
    return command
