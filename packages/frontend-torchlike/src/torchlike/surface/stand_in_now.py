"""Lets torchlike stand in for torch in the processes of a program that runs so: ``multiprocessing`` preloads this module."""

from __future__ import annotations

import os

from .stand_in import MARK, install_as_torch

# A tool that looks through all modules imports this one too.
if MARK in os.environ:
    install_as_torch()
