"""The functions of aclnn that a call launches: for the report, and for a process that does not come back from one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from ..aclnn.calls import CallTemplate

_FILE: Final = "now"
_WIDTH: Final = 80


class FunctionWatch:
    """Keeps the function that runs in a file of a folder, as long as it runs, and those that ran in a list."""

    def __init__(self, folder: str) -> None:
        self._file = os.open(Path(folder, _FILE), os.O_RDWR | os.O_CREAT, 0o600)

    def note(self, function: str) -> None:
        """Write the function that begins to run, ``""`` for none."""
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, function.encode()[:_WIDTH].ljust(_WIDTH))

    @contextmanager
    def watching(self) -> Iterator[list[str]]:
        """Watch the functions that calls launch within the block, and yield the list of them."""
        functions: list[str] = []
        launch = CallTemplate.launch

        def record_launch(template: CallTemplate, *args: Any) -> None:
            functions.append(template.function)
            self.note(template.function)
            launch(template, *args)

        with patch.object(CallTemplate, "launch", record_launch):
            yield functions
        self.note("")


def last_function(folder: str) -> str:
    """Return the function that a process ran when it ended, ``""`` where it ran none; and clear it.

    >>> last_function("/nowhere")
    ''
    """
    path = Path(folder, _FILE)
    try:
        found = path.read_text(encoding="utf-8", errors="replace").strip()
        path.write_text("", encoding="utf-8")
    except OSError:
        return ""
    return found
