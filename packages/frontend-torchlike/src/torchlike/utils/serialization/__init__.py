"""Settings of files (source: ``torch.utils.serialization``)."""

from __future__ import annotations

from . import config as config  # torch's module

__all__ = ["config"]
