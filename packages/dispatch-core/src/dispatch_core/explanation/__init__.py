"""Why a call runs what it runs, as data and as text: explanations of calls, and tables of registrations."""

from .calls import entries_of, explain, source_of
from .model import ArgumentKeys, Explanation, Overload, Step
from .tables import list_registrations, list_slots

__all__ = [
    "ArgumentKeys",
    "Explanation",
    "Overload",
    "Step",
    "entries_of",
    "explain",
    "list_registrations",
    "list_slots",
    "source_of",
]
