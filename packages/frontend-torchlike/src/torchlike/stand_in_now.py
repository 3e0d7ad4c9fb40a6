"""Importing this module lets torchlike stand in for torch in a process: ``multiprocessing`` preloads it."""

from __future__ import annotations

from .stand_in import install

install()
