"""What a pipeline has done so far, as figures."""

from __future__ import annotations

from collections import Counter

__all__ = ["Stats"]


class Stats:
    """What a pipeline has done so far. Times in nanoseconds."""

    def __init__(self) -> None:
        self.recorded = 0
        self.executed = 0
        self.fused = 0
        self.dropped = 0
        #: Views of arrays that were there, made at once.
        self.views = 0
        self.flushes = 0
        self.cache_hits = 0
        self.cache_misses = 0
        self.bytes_saved = 0
        self.meta_time = 0
        self.plan_time = 0
        self.impl_time = 0
        #: (operator, reason) → calls that ran at once.
        self.eager: Counter[tuple[str, str]] = Counter()
