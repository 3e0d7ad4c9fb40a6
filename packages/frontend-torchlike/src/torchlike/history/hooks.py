"""Hooks: functions of the user's that run with gradients or modules, and the handles that remove them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Self, TypeAlias

Hook: TypeAlias = "Callable[..., Any]"


class RemovableHandle:
    """Removes a hook (source: ``torch.utils.hooks.RemovableHandle``)."""

    _ids = itertools.count().__next__
    __slots__ = ("_hooks", "id")

    def __init__(self, hooks: dict[int, Hook], hook: Hook) -> None:
        self.id = RemovableHandle._ids()
        self._hooks = hooks
        hooks[self.id] = hook

    def remove(self) -> None:
        """Remove the hook; more than once does no harm."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
