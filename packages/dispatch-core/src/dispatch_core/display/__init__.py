"""Figures for people: tables as text, numbers with units, and progress."""

import warnings
from typing import Any

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

#: Names of 0.1 that dispatch-devkit has now; they go from here in 0.2.
_FORMER = frozenset("list_facts to_block to_details to_fragment to_markup to_note to_page to_part".split())


def __getattr__(name: str) -> Any:
    if name not in _FORMER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=devkit)
    warnings.warn(
        f"{__name__}.{name} is dispatch_devkit.fragments.{name} now; the former path goes in 0.2",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(devkit, name)
