"""Files that come into place whole, and cached ones that are read only as they were written."""

from __future__ import annotations

from .checked import checked_cache, read_checked, write_checked
from .replacement import replace_file, write_text

__all__ = ["checked_cache", "read_checked", "replace_file", "write_checked", "write_text"]
