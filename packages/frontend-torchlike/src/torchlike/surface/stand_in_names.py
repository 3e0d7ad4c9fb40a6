"""The name by which generated code calls this library."""

from __future__ import annotations

from ..values import dtypes

__all__ = ["root_name"]


def root_name() -> str:
    """Return ``torch`` where this library stands in for torch in the process, and its own name elsewhere.

    >>> root_name()
    'torchlike'
    """
    return dtypes.TYPE_PREFIX.rstrip(".")
