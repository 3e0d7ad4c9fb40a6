"""The numbers of reductions (source: ``torch.nn._reduction``)."""

from __future__ import annotations

from .functional.losses import to_number as get_enum

__all__ = ["get_enum"]
