"""The handler of ``DISPATCH_LOG``: a line for each record on stderr."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress


class StderrHandler(logging.Handler):
    """Prints records on ``sys.stderr``, as it is when they are made."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(asctime)s.%(msecs)03d %(levelname)s %(name)s: %(message)s", "%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record; a stream that is closed or missing drops it."""
        if sys.stderr is not None:
            with suppress(OSError, ValueError):
                sys.stderr.write(self.format(record) + "\n")
