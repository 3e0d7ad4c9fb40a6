"""Groups of processes under torch's inner name (source: ``torch.distributed.distributed_c10d``)."""

from __future__ import annotations

from typing import Any

from . import __dir__ as _list_names
from .process_groups import default_group


def _get_default_group() -> Any:
    """Return the group of all processes. Raises ``ValueError`` where there is none."""
    return default_group("distributed_c10d")


def __getattr__(name: str) -> Any:
    """Return the name of ``torchlike.distributed``."""
    from torchlike import distributed

    return getattr(distributed, name)


def __dir__() -> list[str]:
    return _list_names()
