"""The doctor: installed plugins, tried in processes of their own, and their faults."""

from .findings import Finding
from .trials import examine

__all__ = ["Finding", "examine"]
