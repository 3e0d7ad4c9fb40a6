"""Hooks: functions of the user's that run with gradients or modules, and the handles that remove them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Self, TypeAlias

from dispatch_core.lazy_text import repr_by_attributes

from .captures import check_hook

Hook: TypeAlias = Callable[..., Any]


class RemovableHandle:
    """Removes a hook (source: ``torch.utils.hooks.RemovableHandle``)."""

    __repr__ = repr_by_attributes("id")

    _ids = itertools.count().__next__
    __slots__ = ("_hooks", "_marks", "id")

    def __init__(
        self, hooks: dict[int, Hook], hook: Hook, marks: tuple[dict[int, bool], ...] = (), prepend: bool = False
    ) -> None:
        """Put ``hook`` among ``hooks``, before the others with ``prepend``, and its number into each of ``marks``."""
        check_hook(hook, "The registration of a hook,")
        self.id = RemovableHandle._ids()
        self._hooks, self._marks = hooks, marks
        before = dict(hooks) if prepend else {}
        if prepend:
            hooks.clear()
        hooks[self.id] = hook
        hooks.update(before)
        for mark in marks:
            mark[self.id] = True

    def remove(self) -> None:
        """Remove the hook; more than once does no harm."""
        self._hooks.pop(self.id, None)
        for mark in self._marks:
            mark.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
