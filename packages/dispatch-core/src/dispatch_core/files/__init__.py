"""Files that come into place whole: a reader finds the old content or the new, whenever the writer ends."""

from __future__ import annotations

from .replacement import replace_file, write_text

__all__ = ["replace_file", "write_text"]
