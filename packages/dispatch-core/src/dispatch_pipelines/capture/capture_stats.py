"""The figures of a captured function: how often it was replayed, recorded and run eagerly, and why."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from dispatch_core import devkit
from dispatch_core.display import Column, DataTable, show_count, show_number_of

__all__ = ["OTHERS", "CaptureStats"]

#: How many reasons are kept at least, and the one for all others: a program whose shapes change gives ever new ones.
_REASONS: Final = 16
OTHERS: Final = "of other reasons"


class CaptureStats:
    """The figures of a captured function so far: how often it was replayed, recorded and run eagerly, and why.

    >>> CaptureStats().replays
    0
    """

    def __init__(self) -> None:
        self.replays = 0
        self.recordings = 0
        #: Reason → calls that ran eagerly.
        self.eager: Counter[str] = Counter()
        #: Reason → calls that no variant fitted; the most frequent reasons, and a count of the others.
        self.misses: Counter[str] = Counter()
        self.variants = 0

    def count_miss(self, why: str) -> None:
        """Count a call that no variant fitted."""
        self.misses[why] += 1
        if len(self.misses) > 2 * _REASONS:
            rest = self.misses.pop(OTHERS, 0)
            for each, calls in self.misses.most_common()[_REASONS:]:
                rest += calls
                del self.misses[each]
            self.misses[OTHERS] = rest

    def as_dict(self) -> dict[str, Any]:
        """Return all figures as a dictionary for JSON."""
        return {**vars(self), "eager": dict(self.eager), "misses": dict(self.misses)}

    def _facts(self) -> list[tuple[str, str]]:
        names = ("variants", "replays", "recordings")
        return [(name, show_count(getattr(self, name))) for name in names]

    def __str__(self) -> str:
        rows = self._facts()
        for title, counts in (("ran eagerly", self.eager), ("no variant fitted", self.misses)):
            rows.append((title, show_count(counts.total())))
            rows += [(f"  {why}", show_count(calls)) for why, calls in counts.most_common()]
        width = max(len(words) for words, _ in rows)
        return "\n".join(f"{words:<{width}}  {figure}" for words, figure in rows)

    @devkit.for_notebooks
    def _repr_html_(self) -> str | None:
        calls, why = Column("calls", show_count, is_number=True), Column("reason", wraps=True)
        parts = [devkit.list_facts(self._facts())]
        for title, counts in (("ran eagerly", self.eager), ("no variant fitted", self.misses)):
            if counts:
                rows = [(count, reason) for reason, count in counts.most_common()]
                parts += [devkit.to_part(title), DataTable([calls, why], rows).html()]
        return devkit.to_fragment("capture statistics", (), parts)

    def __repr__(self) -> str:
        counts = {"variant": self.variants, "replay": self.replays, "recording": self.recordings}
        return f"<CaptureStats: {', '.join(show_number_of(noun, count) for noun, count in counts.items())}>"
