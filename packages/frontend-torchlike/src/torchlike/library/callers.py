"""The place in the program from which a registration comes."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Final

from dispatch_core import Origin

__all__ = ["find_caller"]

#: This folder, and the module whose frames stand between a decorated function and its caller.
_OWN: Final = (os.path.dirname(__file__), contextlib.__file__)  # noqa: PTH120  # as the frames have it


def find_caller() -> Origin:
    """Return the file and line of the code outside this package that is calling."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    return Origin(frame.f_code.co_filename, frame.f_lineno)
