"""The inner parts of loaders under torch's names (source: ``torch.utils.data._utils``)."""

from __future__ import annotations

import sys
from typing import Final

from . import collation as collate
from . import fetching as fetch
from . import pinning as pin_memory
from . import worker

__all__ = ["HAS_NUMPY", "IS_WINDOWS", "MP_STATUS_CHECK_INTERVAL", "collate", "fetch", "pin_memory", "worker"]

MP_STATUS_CHECK_INTERVAL: Final = worker.INTERVAL
HAS_NUMPY: Final = True
IS_WINDOWS: Final = sys.platform == "win32"
