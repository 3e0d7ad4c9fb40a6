"""Trying streams and events: order of work, waiting, timing."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from dispatch_aten.collectives import ProcessGroup

from ..arrays import from_numpy, to_numpy
from ..collectives import connect
from ..runtime import Event, Stream, allocate, current_device, memory, stream, synchronize

_COUNT: Final = 1 << 20


def check_order() -> str:
    """Queue copies on one stream, each of which needs the one before."""
    blocks = [allocate(_COUNT) for _ in range(8)]
    memory.fill(blocks[0].pointer, _COUNT, 7)
    for one, other in pairwise(blocks):
        memory.copy_on_device(other.pointer, one.pointer, _COUNT)
    found = memory.copy_to_host(blocks[-1].pointer, _COUNT)
    if not (found == 7).all():
        raise AssertionError(f"after {len(blocks) - 1} copies in a row {np.count_nonzero(found != 7)} bytes are wrong")
    return f"{len(blocks) - 1} copies in a row"


def check_two_streams() -> str:
    """Make a second stream wait for the first one by an event, in both directions."""
    first, second = stream.current(), Stream()
    block, other = allocate(_COUNT), allocate(_COUNT)
    for value in range(1, 6):
        memory.fill(block.pointer, _COUNT, value, first)
        second.wait_stream(first)
        memory.copy_on_device(other.pointer, block.pointer, _COUNT, second)
        first.wait_stream(second)
    second.synchronize()
    first.synchronize()
    found = memory.copy_to_host(other.pointer, _COUNT)
    if not (found == value).all():
        raise AssertionError(f"a second stream read {found[found != value][0]} for {value}, which it had waited for")
    return f"{value} turns"


def check_events() -> str:
    """Record events, ask whether they have happened, wait for them, and measure the time between two."""
    current = stream.current()
    start, end = Event(enable_timing=True), Event(enable_timing=True)
    block = allocate(_COUNT)
    start.record(current)
    for _ in range(10):
        memory.fill(block.pointer, _COUNT, 1)
    end.record(current)
    end.synchronize()
    if not (start.query() and end.query()):
        raise AssertionError("an event that was waited for has not happened")
    elapsed = start.elapsed_time(end)
    if not 0 <= elapsed < 60_000:
        raise AssertionError(f"ten fills of 1 MiB took {elapsed} ms by their events")
    return f"ten fills of 1 MiB in {elapsed:.3f} ms"


def check_queries() -> str:
    """Ask a stream whether it is idle, and wait for the whole device."""
    other = Stream()
    block = allocate(_COUNT)
    memory.fill(block.pointer, _COUNT, 3, other)
    synchronize()
    if not other.query():
        raise AssertionError("a stream is not idle, and the device was waited for")
    return "1 stream"


def check_collectives() -> str:
    """Combine and gather an array by HCCL, in a group of one process."""
    connection = connect(ProcessGroup(), current_device())
    try:
        array = from_numpy(np.arange(1000, dtype=np.float32))
        into = from_numpy(np.zeros(1000, np.float32))
        for found in (connection.all_reduce(array, "sum", into), connection.all_gather(array, into)):
            if not (to_numpy(found) == np.arange(1000)).all():
                raise AssertionError("a collective of one rank has changed the numbers")
    finally:
        connection.close()
    return f"2 collectives of {connection.group.size} rank"


CHECKS: Final = {
    "order of a stream": check_order,
    "two streams": check_two_streams,
    "events": check_events,
    "queries": check_queries,
    "collectives": check_collectives,
}
"""The checks of streams by their names."""
