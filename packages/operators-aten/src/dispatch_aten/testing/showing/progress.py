"""How far a run has come, told while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TextIO

from ..outcomes import Outcome

#: How many seconds lie between two lines at least: on a terminal, elsewhere.
_PAUSES: Final = {True: 2.0, False: 1.0}
#: The part of the checks between two lines where the stream is not a terminal.
_STEP: Final = 0.1


class Progress:
    """Writes how many of a run's checks are done: every two seconds on a terminal, elsewhere about every tenth.

    >>> import sys
    >>> from itertools import count
    >>> progress = Progress(20, sys.stdout, clock=count().__next__)
    >>> for _ in range(4):
    ...     progress(Outcome("aten::exp", "passed"))
     10 %  2 of 20 checks, 0 faults, 2 s: aten::exp
     20 %  4 of 20 checks, 0 faults, 4 s: aten::exp
    """

    def __init__(self, total: int, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._stream, self._clock = max(total, 1), stream, clock
        self._is_terminal = stream.isatty()
        self._began = self._told = clock()
        self._done = self._faults = self._shown = 0

    def __call__(self, outcome: Outcome) -> None:
        """Count an outcome, and write a line where it is time for one."""
        self._done += 1
        self._faults += outcome.is_fault
        now = self._clock()
        if now - self._told < _PAUSES[self._is_terminal]:
            return
        if not self._is_terminal and self._done - self._shown < _STEP * self._total:
            return
        self._told, self._shown = now, self._done
        percent = min(100 * self._done // self._total, 100)
        self._stream.write(
            f"{percent:>3} %  {self._done:,} of {self._total:,} checks, {self._faults:,} faults,"
            f" {now - self._began:.0f} s: {outcome.check}\n"
        )
        self._stream.flush()
