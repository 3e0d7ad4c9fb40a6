"""Files that come into place whole, cached ones that are read only as they were written, and forms that a suffix names."""

from __future__ import annotations

from .checked import read_checked, write_checked
from .forms import write_form
from .machine_code import keep_on_disk
from .replacement import replace_file, write_text

__all__ = ["keep_on_disk", "read_checked", "replace_file", "write_checked", "write_form", "write_text"]
