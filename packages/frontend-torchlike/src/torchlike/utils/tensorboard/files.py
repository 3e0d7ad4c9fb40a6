"""The file of events of one folder, for programs that make summaries of their own."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

__all__ = ["FileWriter", "take_part"]


def take_part(name: str) -> Any:
    """Import a part of tensorboard, which need not be installed; ``ImportError`` names the distribution to install."""
    try:
        return import_module(f"tensorboard.{name}")
    except ImportError as error:
        raise ImportError("SummaryWriter needs tensorboard: pip install tensorboard") from error


class FileWriter:
    """Writes events and summaries into a folder (source: ``torch.utils.tensorboard.FileWriter``).

    Args:
        log_dir: The folder.
        max_queue: How many events wait in memory at most.
        flush_secs: After how many seconds they are written.
        filename_suffix: The end of the file's name.

    Raises ``ImportError`` where tensorboard is not installed.
    """

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        self._events = take_part("compat.proto.event_pb2")
        make = take_part("summary.writer.event_file_writer").EventFileWriter
        self.event_writer = make(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """Return the folder."""
        return str(self.event_writer.get_logdir())

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an event with its time, now unless it is given, and its step."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Write a summary."""
        self.add_event(self._events.Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Write the queue to disk."""
        self.event_writer.flush()

    def close(self) -> None:
        """Close the file."""
        self.event_writer.close()
