"""Files of tensors and of programs' data beside them (source: ``torch.save``, ``torch.load``)."""

from __future__ import annotations

from typing import Final

from ..names.lazy_names import load_names
from .entry import load, save

_NAMES: Final = {"classes": "add_safe_globals clear_safe_globals get_safe_globals safe_globals"}
_lazy, __getattr__, __dir__ = load_names(__name__, _NAMES)

__all__ = ["load", "save"]
__all__.extend(_lazy)  # noqa: PYI056  # the linter does not know the names
