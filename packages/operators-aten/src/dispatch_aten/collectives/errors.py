"""The errors of processes that work together."""

from __future__ import annotations

from collections.abc import Iterable

from dispatch_core import BackendError

__all__ = ["CollectiveError", "RankLostError", "StoreTimeoutError"]


class CollectiveError(BackendError):
    """Processes cannot work together: one does not answer, they do not agree, or what they exchange is refused."""


class RankLostError(CollectiveError):
    """A process of a group has ended before the others were done with it. ``ranks`` has the numbers of those that are gone.

    >>> RankLostError([2], "rank 0 waits for 'key'").ranks
    (2,)
    """

    def __init__(self, ranks: Iterable[int], what: str = "") -> None:
        self.ranks = tuple(sorted(ranks))
        one = len(self.ranks) == 1
        gone = f"rank{'' if one else 's'} {', '.join(map(str, self.ranks))} {'is' if one else 'are'} gone"
        super().__init__(
            f"{gone}: {what}" if what else gone, hint="the processes cannot go on without it: start all of them again"
        )


class StoreTimeoutError(CollectiveError, TimeoutError):
    """A store has not answered in time, or the keys that were waited for have not been set."""
