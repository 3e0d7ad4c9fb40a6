"""The doctor: installed plugins, tried in processes of their own, and their faults."""

from .trials import Finding, examine

__all__ = ["Finding", "examine"]
