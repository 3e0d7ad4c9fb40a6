"""Work of collectives that a program waits for later (source: ``torch.distributed.Work``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from time import monotonic, sleep
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.collectives import CollectiveError, Deferral, ProcessGroup, RankLostError
from dispatch_core.runtime import Stream, current_stream, find_interface

from ..history.grad_mode import no_grad
from ..names.lazy_names import call_late

__all__ = ["Work", "start"]

_PAUSE: Final = 0.002
_make_future = call_late("torchlike.surface.futures", "Future")
#: Device → the stream of its collectives that a program does not wait for at once.
_streams: Final[dict[dc.Device, Stream]] = {}


class Work:
    """A collective that was started: ``wait()`` makes the current stream wait for it, and with a timeout the program."""

    def __init__(
        self,
        results: Sequence[Any] = (),
        event: Any = None,
        device: Any = None,
        group: ProcessGroup | None = None,
        left: Deferral | None = None,
    ) -> None:
        self._left = left
        self._future: Any = None
        self._is_settled = False
        self._results, self._event, self._device, self._group = list(results), event, device, group

    def wait(self, timeout: timedelta | float | None = None) -> bool:
        """Make work that is queued from now on wait for the collective.

        With a timeout the program itself waits, and on a device without streams. Raises ``CollectiveError`` where it is
        over, ``RankLostError`` where a rank is gone.
        """
        if self._event is None and self._left is None:
            return True
        if timeout is not None:
            seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
            deadline = monotonic() + seconds
            while not self.is_completed():
                if monotonic() >= deadline:
                    raise CollectiveError(f"a collective was not done within the timeout of {seconds:g} s")
                if self._group is not None and (lost := self._group.find_lost()):
                    raise RankLostError(lost, "a collective waits for it")
                sleep(_PAUSE)
        if self._left is not None:
            with no_grad():
                self._left.finish()
        else:
            current_stream(self._device).wait_event(self._event)
        return True

    def is_completed(self) -> bool:
        """Return whether the collective is done."""
        if self._left is not None:
            with no_grad():
                return self._left.is_done()
        return self._event is None or bool(self._event.query())

    def is_success(self) -> bool:
        """Return whether the collective is done; one that fails is an error where it is waited for."""
        return self.is_completed()

    def result(self) -> list[Any]:
        """Return the tensors that it writes to."""
        return self._results

    def get_future(self) -> Any:
        """Return a future of the tensors that it writes to."""
        if self._future is not None:
            return self._future
        made: Any = _make_future()

        def drive(is_last: bool) -> None:
            if is_last or self.is_completed():
                self._settle(made)

        made._drive = drive
        self._future = made
        if self._event is None and self._left is None:
            self._settle(made)
        return made

    def _settle(self, future: Any) -> None:
        if self._is_settled:
            return
        self._is_settled = True
        try:
            self.wait()
        except Exception as error:  # noqa: BLE001  # it is raised where the future is waited for
            future.set_exception(error)
        else:
            future.set_result(self._results)

    def synchronize(self) -> None:
        """Make work that is queued from now on wait for the collective."""
        self.wait()

    def exception(self) -> None:
        """Return None: errors are raised where work is waited for."""

    def block_current_stream(self) -> None:
        """Make work that is queued from now on wait for the collective."""
        self.wait()


def start(group: ProcessGroup, tensors: Sequence[Any], run: Callable[[], object], *, is_async: bool) -> Work | None:
    """Run a collective of tensors of one device; with ``is_async`` on a stream of its own, and return its work."""
    if not is_async:
        run()
        return None
    device = dc.device(tensors[0])
    interface = find_interface(device.type)
    if group.size == 1:
        run()
        return Work(tensors)
    if interface.streams is None or interface.events is None:
        with Deferral() as left:
            run()
        return Work(tensors, left=left, group=group)
    device = dc.Device(device.type, device.index or 0)
    here: Stream = current_stream(device)
    stream = _streams.get(device)
    if stream is None:
        stream = _streams[device] = Stream(device)
    stream.wait_stream(here)
    with stream:
        run()
    for each in tensors:
        each.record_stream(stream)
    return Work(tensors, stream.record_event(), device, group)
