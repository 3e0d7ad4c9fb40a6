"""Signals (source: ``torch.signal``): the windows."""

from . import windows

__all__ = ["windows"]
