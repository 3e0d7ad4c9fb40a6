"""Files that come into place whole, and cached ones that are read only as they were written."""

from __future__ import annotations

from .checked import read_checked, write_checked
from .machine_code import keep_on_disk
from .replacement import replace_file, write_text

__all__ = ["keep_on_disk", "read_checked", "replace_file", "write_checked", "write_text"]
