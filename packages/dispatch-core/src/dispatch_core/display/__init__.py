"""Figures for people: tables as text and as HTML, numbers with units, and progress."""

from .fragments import list_facts, to_block, to_details, to_fragment, to_markup, to_note, to_page, to_part
from .shown_progress import LoopReport, begin_report
from .tables import Column, DataTable
from .units import show_count, show_number_of, show_share, show_size, show_time

__all__ = [
    "Column",
    "DataTable",
    "LoopReport",
    "begin_report",
    "list_facts",
    "show_count",
    "show_number_of",
    "show_share",
    "show_size",
    "show_time",
    "to_block",
    "to_details",
    "to_fragment",
    "to_markup",
    "to_note",
    "to_page",
    "to_part",
]
