"""The classes of operators' named results (source: ``torch.return_types``); each is made when it is first used.

>>> import torchlike
>>> found = torchlike.max(torchlike.tensor([[1., 3.]]), dim=1)
>>> isinstance(found, torchlike.return_types.max), found.indices
(True, tensor([1]))
"""

from __future__ import annotations

from typing import Any

from .functions.result_classes import RESULT_CLASSES
from .names.lazy_names import missing_name

__all__ = [name for name in RESULT_CLASSES if not name.startswith("_")]


def __getattr__(name: str) -> Any:
    if name not in RESULT_CLASSES:
        raise missing_name(__name__, name)
    return RESULT_CLASSES[name]


def __dir__() -> list[str]:
    return __all__
