"""What a program may say about the plan of a checkpoint (source: ``torch.distributed.checkpoint.planner``)."""

from __future__ import annotations

from abc import ABC
from typing import Any

__all__ = ["LoadPlanner", "SavePlanner"]


class SavePlanner(ABC):  # noqa: B024  # a name to ask for
    """How a checkpoint is written; there is `DefaultSavePlanner` (source: torch's)."""


class LoadPlanner(ABC):  # noqa: B024  # as above
    """How a checkpoint is read; there is `DefaultLoadPlanner` (source: torch's)."""


def check_planner(name: str, planner: Any, known: type) -> None:
    """Raise ``NotImplementedError`` for a planner that is not one of the default ones."""
    if planner is not None and type(planner) is not known:
        raise NotImplementedError(
            f"{name}: a planner of class {type(planner).__name__} is not asked how parts lie in files\n"
            f"Hint: {known.__name__} is there"
        )
