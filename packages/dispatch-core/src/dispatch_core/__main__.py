"""``python -m dispatch_core``: the command ``dispatch``."""

from __future__ import annotations

import sys

from .tools import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
