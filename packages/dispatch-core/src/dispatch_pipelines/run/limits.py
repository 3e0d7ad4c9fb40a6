"""How many calls a pipeline records before it flushes by itself, or drops the steps that are not observable."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..record.steps import Step

#: Fewer steps than these are not searched for unobservable ones.
MANY: Final = 512


class Limits:
    """The limits that the user has set, and the number of steps with which unobservable ones are searched."""

    __slots__ = ("_bytes", "_many", "_max_bytes", "_max_steps", "has_bytes", "most")

    def __init__(self, max_steps: int | None, max_bytes: int | None) -> None:
        self._max_steps, self._max_bytes = max_steps, max_bytes
        #: Whether the bytes of results are limited.
        self.has_bytes = max_bytes is not None
        #: Bytes of the results of the recorded steps, where there is a limit.
        self._bytes = 0
        self._search_from(MANY)

    def _search_from(self, many: int) -> None:
        """Search for unobservable steps among ``many``."""
        self._many = many
        #: How many calls may be recorded before the limits are checked.
        self.most = 0 if self.has_bytes else min(self._max_steps or many, many)

    def add_bytes(self, steps: Iterable[Step]) -> None:
        """Count the bytes of the results of further steps."""
        if self._max_bytes is not None:
            self._bytes += sum(map(_count_bytes, steps))

    def recount_bytes(self, steps: Iterable[Step]) -> None:
        """Count the bytes of the results of all steps that are left."""
        if self._max_bytes is not None:
            self._bytes = sum(map(_count_bytes, steps))

    def are_reached(self, count: int) -> bool:
        """Return whether a pipeline with ``count`` steps is to flush."""
        return (self._max_steps is not None and count >= self._max_steps) or (
            self._max_bytes is not None and self._bytes >= self._max_bytes
        )

    def are_many(self, count: int) -> bool:
        """Return whether unobservable steps are to be searched among ``count``."""
        return count >= self._many

    def postpone_search(self, count: int) -> Limits:
        """Return limits by which the next search comes when there are four times as many as ``count`` steps."""
        found = self
        if self is NONE:  # which all pipelines without limits share
            found = Limits(None, None)
        found._search_from(max(MANY, 4 * count))
        return found


NONE: Final = Limits(None, None)


def _count_bytes(step: Step) -> int:
    """Return how much memory the results of a step take up; views take none."""
    signature = step.entry.signature
    if signature is None or any(result.kind == "view" for result in signature.results):
        return 0
    return sum(
        math.prod(output.shape) * getattr(output.dtype, "itemsize", 1) for output in step.outputs if output is not None
    )
