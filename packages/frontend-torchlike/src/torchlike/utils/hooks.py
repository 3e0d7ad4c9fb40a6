"""Handles of hooks (source: ``torch.utils.hooks``)."""

from ..history.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
