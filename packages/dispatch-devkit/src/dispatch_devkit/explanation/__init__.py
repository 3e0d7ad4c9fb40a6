"""Explanations of calls as data and as text, and tables of an operator's registrations."""

from .calls import explain, source_of
from .model import ArgumentKeys, Explanation, KeyOutcome, Overload
from .tables import list_registrations, list_slots

__all__ = [
    "ArgumentKeys",
    "Explanation",
    "KeyOutcome",
    "Overload",
    "explain",
    "list_registrations",
    "list_slots",
    "source_of",
]
