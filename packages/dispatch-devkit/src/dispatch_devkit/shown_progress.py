"""One switch for the progress of loaders, of recordings and of pipelines: ``with show_progress():``.

A block knows its bars and closes them when it is left, so that an exception, or a loop that was left early, leaves nothing
on the terminal. It holds for the thread or task that opened it, and in no other process: workers are quiet.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from dispatch_core.display import choose_progress, progress_switch

from .progress_bar import ProgressBar

#: Seconds after which a recording is shown, and between two looks at it.
_DELAY, _PAUSE = 0.5, 0.2


class _ProgressSwitch:
    def __init__(self, progress: object) -> None:
        self._progress = progress
        self._process = os.getpid()
        self._bars: WeakSet[ProgressBar] = WeakSet()
        self.find("", "")  # a wrong value is refused at once

    def find(self, label: str, unit: str) -> Callable[[int, Any], object] | None:
        """Return the function to report to, with a bar of its own where the switch asks for bars."""
        if os.getpid() != self._process:
            return None
        found: Any = choose_progress(self._progress, label, unit, "show_progress(): argument 'progress'")
        if isinstance(found, ProgressBar):
            self._bars.add(found)
        return found

    def watch(self, unit: str, look: Callable[[], tuple[str, int]]) -> ProgressWatch | None:
        """Return a watch that has begun, if the switch asks for bars."""
        return ProgressWatch(unit, look) if isinstance(self.find("", unit), ProgressBar) else None

    def close(self) -> None:
        for bar in [*self._bars]:
            bar.close()


@contextmanager
def show_progress(progress: object = True) -> Iterator[None]:
    """Show the progress of data loaders, of long recordings of captured functions, and of pipelines' long flushes.

    True shows bars where standard error is a terminal or a notebook's, tqdm's if it is installed; ``"always"`` elsewhere,
    too; a function is called as ``progress(done, total)``, ``total`` None where it is unknown, and is told of no recordings;
    False and None show nothing, also inside a block that does. Raises ``ArgumentError`` for anything else.

    >>> from dispatch_core.display import find_progress
    >>> with show_progress(lambda done, total: print(done, "of", total)):
    ...     find_progress("files", "files")(1, 2)
    1 of 2
    """
    block = _ProgressSwitch(progress)
    token = progress_switch.set(block)
    try:
        yield
    finally:
        progress_switch.reset(token)
        block.close()


class ProgressWatch:
    """A bar for something that cannot report: a thread looks from time to time how far it is.

    ``look`` returns a label and a count. Nothing is shown of work that ends at once.
    """

    def __init__(self, unit: str, look: Callable[[], tuple[str, int]]) -> None:
        self._unit, self._look = unit, look
        self._bar: ProgressBar | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dispatch progress", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        label, pause = "", _DELAY
        while not self._ended.wait(pause):
            now, count = self._look()
            if self._bar is None or now != label:
                self._close()
                label, self._bar = now, ProgressBar(now, self._unit, has_rate=False)
            self._bar(count, None)
            self._bar.refresh()
            pause = _PAUSE
        self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def end(self) -> None:
        """Stop looking, and erase the bar."""
        self._ended.set()
        self._thread.join()
