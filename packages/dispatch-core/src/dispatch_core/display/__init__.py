"""Figures for people: tables as text, numbers with units, and progress."""

from typing import TYPE_CHECKING

from .. import devkit
from .progress_reports import (
    LoopReport,
    ProgressDisplay,
    begin_report,
    begin_watch,
    choose_progress,
    find_progress,
    progress_switch,
)
from .tables import Column, DataTable, shorten
from .units import show_count, show_number_of, show_share, show_size, show_time

__all__ = [
    "Column",
    "DataTable",
    "LoopReport",
    "ProgressDisplay",
    "begin_report",
    "begin_watch",
    "choose_progress",
    "find_progress",
    "progress_switch",
    "shorten",
    "show_count",
    "show_number_of",
    "show_share",
    "show_size",
    "show_time",
]


if not TYPE_CHECKING:  # it would make every misspelt name one of any type

    def __getattr__(name: str) -> object:
        return devkit.find_former(__name__, name)
