"""Explanations of calls as data and as text, and tables of an operator's registrations."""

from .calls import explain, source_of
from .model import ArgumentKeys, CandidateOutcome, Explanation, KeyOutcome, Overload
from .tables import list_registrations, list_slots

__all__ = [
    "ArgumentKeys",
    "CandidateOutcome",
    "Explanation",
    "KeyOutcome",
    "Overload",
    "explain",
    "list_registrations",
    "list_slots",
    "source_of",
]
