"""Errors that kernels find: a few words of memory on each device, which the host reads when it has waited."""

from __future__ import annotations

import functools
import threading
from typing import Any, Final

import numpy as np
import pyopencl as cl

from dispatch_aten.errors import DimensionError, OperatorError

from .memory import Block, submit

#: Kind of error → its class and text, of the value that did not fit and its limit.
KINDS: Final = {
    1: (DimensionError, "index {} is out of bounds for dimension with size {}"),
    2: (OperatorError, "ZeroDivisionError"),
}
#: Of several work-items that fail one wins: one error is enough.
MACRO: Final = (
    "#define FAIL(kind, value, limit) error[0] = kind, error[1] = launch, error[2] = value, error[3] = limit\n"
)
_thread: Final = threading.local()
#: The devices on which a kernel that can fail has run since they were last asked.
_asked: Final[set[int]] = set()


@functools.cache
def words(index: int) -> Block:
    """Return the words of a device: the kind of error, the call's number, the value and its limit; all zero without one."""
    block = Block(32, index)
    submit(cl.enqueue_copy, block.buffer, np.zeros(4, np.int64), writes=[block])
    return block


def note_launch(number: int) -> None:
    """Remember the number of the call that the thread makes now, for its kernels' errors."""
    _thread.number = number


def arguments(index: int) -> list[Any]:
    """Return the last arguments of a kernel that can fail."""
    _asked.add(index)
    return [words(index).buffer, np.int64(getattr(_thread, "number", 0))]


def reports() -> list[tuple[int | None, Any, Exception]]:
    """Return the errors that have come in, each with its call's number and its stream; the core asks after it has waited."""
    return [each for index in sorted(_asked) for each in _take(index)]


def _take(index: int) -> list[tuple[int | None, Any, Exception]]:
    _asked.discard(index)
    found, block = np.zeros(4, np.int64), words(index)
    # As a writer it waits for every kernel that can fail, on all streams.
    submit(cl.enqueue_copy, found, block.buffer, writes=[block])
    if not found[0]:
        return []
    submit(cl.enqueue_copy, block.buffer, np.zeros(4, np.int64), writes=[block])
    kind, text = KINDS[int(found[0])]
    return [(int(found[1]) or None, None, kind(text.format(found[2], found[3])))]
