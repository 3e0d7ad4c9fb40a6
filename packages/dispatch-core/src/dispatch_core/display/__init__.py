"""Figures for people: tables as text, numbers with units, and progress."""

from .shown_progress import LoopReport, begin_report
from .tables import Column, DataTable, shorten
from .units import show_count, show_number_of, show_share, show_size, show_time

__all__ = [
    "Column",
    "DataTable",
    "LoopReport",
    "begin_report",
    "shorten",
    "show_count",
    "show_number_of",
    "show_share",
    "show_size",
    "show_time",
]
