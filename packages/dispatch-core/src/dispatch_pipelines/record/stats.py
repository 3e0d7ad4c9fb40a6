"""The figures of a pipeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from typing import Any, Final

from dispatch_core import devkit
from dispatch_core.display import Column, DataTable, show_count, show_size, show_time

#: Why an operator that returns a number, an array or anything else than tensors is not recorded.
HOST_READ: Final = "returns something else than tensors"

#: The rows of the table: attribute → words, in the order of a call's life.
_COUNTS: Final = {
    "recorded": "recorded",
    "views": "views made at once",
    "copies": "copies of lent memory",
    "dropped": "dropped",
    "executed": "executed",
    "fused": "of these fused",
    "flushes": "flushes",
    "cache_hits": "plans found",
    "cache_misses": "plans made",
}
_TIMES: Final = {
    "meta_time": "time in shape rules",
    "plan_time": "time in planning",
    "impl_time": "time in kernels",
}
_FIGURES: Final = (
    "recorded executed fused dropped views copies flushes cache_hits cache_misses bytes_saved meta_time plan_time impl_time"
).split()


#: Make an empty counter, whose own constructor takes longer than all the rest here.
_no_counts: Final[Callable[[], Counter[Any]]] = partial(Counter.__new__, Counter)


class _Counts:
    """A counter of a pipeline's figures, made at its first use: most pipelines count none of these."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, stats: Stats, owner: type | None = None) -> Counter[Any]:
        found: Counter[Any] = vars(stats).setdefault(self._name, _no_counts())
        return found


class Stats:
    """The figures of a pipeline so far. Times in nanoseconds.

    >>> stats = Stats()
    >>> stats.recorded = 3
    >>> stats.eager["aten::nonzero", "no shape rule"] += 1
    >>> stats.recorded_share
    0.75
    """

    #: Calls that were kept for later.
    recorded = 0
    #: Recorded steps that have run, each step of a fused group counted.
    executed = 0
    #: Executed steps that ran as part of a group.
    fused = 0
    #: Recorded steps that were left out, because their results were never used.
    dropped = 0
    #: Views of arrays that were there, and arrays of the host's data, made at once.
    views = 0
    #: Copies of memory that the user may write to, which recorded steps read.
    copies = 0
    flushes = 0
    #: Plans that were found in the cache, and that were made.
    cache_hits = 0
    cache_misses = 0
    #: Bytes of results that were never stored on their own, because they lay in a reused buffer or in none.
    bytes_saved = 0
    #: Time in shape rules; measured where the pipeline was opened with ``trace=True``.
    meta_time = 0
    plan_time = 0
    impl_time = 0

    #: (operator, reason) → calls that ran at once.
    eager = _Counts()
    #: Operator → how many arrays were computed because it needed their sizes.
    computed = _Counts()
    #: Reader of values on the host → how often: an operator, or ``result`` where a value was asked for its array.
    boundaries = _Counts()

    @property
    def recorded_share(self) -> float:
        """The part of the calls that was recorded, from 0 to 1; 1 where there were none.

        Host reads need the values now, and views of arrays that are there compute nothing: neither is counted.
        """
        calls = self.recorded + self.eager.total()
        return self.recorded / calls if calls else 1.0

    def count_eager(self, operator: str, reason: str) -> None:
        """Count a call that was not recorded."""
        if reason == HOST_READ:
            self.boundaries[operator] += 1
        else:
            self.eager[operator, reason] += 1

    def time_rule(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Return a shape rule that counts its time."""

        def run(*args: object) -> object:
            started = perf_counter_ns()
            try:
                return rule(*args)
            finally:
                self.meta_time += perf_counter_ns() - started

        return run

    def snapshot(self) -> Stats:
        """Return a copy that does not change any more."""
        found = Stats()
        vars(found).update(
            {name: each.copy() if isinstance(each, Counter) else each for name, each in vars(self).items()}
        )
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return all figures as a dictionary for JSON.

        >>> Stats().as_dict()["recorded_share"]
        1.0
        """
        eager = [{"operator": name, "reason": why, "calls": calls} for (name, why), calls in self.eager.most_common()]
        return {
            **{name: getattr(self, name) for name in _FIGURES},
            "eager": eager,
            "boundaries": dict(self.boundaries.most_common()),
            "computed": dict(self.computed.most_common()),
            "recorded_share": self.recorded_share,
        }

    def _facts(self) -> list[tuple[str, str]]:
        """Return the figures by their words."""
        rows = [(words, show_count(getattr(self, name))) for name, words in _COUNTS.items()]
        rows[0] = (rows[0][0], f"{rows[0][1]} ({self.recorded_share:.1%} of calls)")
        rows.append(("bytes saved", show_size(self.bytes_saved)))
        return rows + [(words, show_time(getattr(self, name))) for name, words in _TIMES.items()]

    def __str__(self) -> str:
        rows = self._facts()
        rows.append(("host reads", f"{self.boundaries.total():,}"))
        rows += [(f"  {name}", f"{calls:,}") for name, calls in self.boundaries.most_common()]
        rows.append(("ran at once", f"{self.eager.total():,}"))
        rows += [(f"  {name}", f"{calls:,} ({why})") for (name, why), calls in self.eager.most_common()]
        if self.computed:
            rows.append(("computed for their sizes", f"{self.computed.total():,}"))
            rows += [(f"  {name}", f"{calls:,}") for name, calls in self.computed.most_common()]
        width = max(len(words) for words, _ in rows)
        return "\n".join(f"{words:<{width}}  {figure}" for words, figure in rows)

    def html_parts(self) -> list[str]:
        """Return the figures, and the calls that were not recorded, as pieces of HTML."""
        operator, calls = Column("operator", is_code=True), Column("calls", show_count, is_number=True)
        parts = [devkit.list_facts(self._facts())]
        if self.eager:
            rows = [(name, count, why) for (name, why), count in self.eager.most_common()]
            parts += [
                devkit.to_part("ran at once"),
                DataTable([operator, calls, Column("reason", wraps=True)], rows).html(),
            ]
        for title, counts in (("host reads", self.boundaries), ("computed for their sizes", self.computed)):
            if counts:
                parts += [devkit.to_part(title), DataTable([operator, calls], counts.most_common()).html()]
        return parts

    @devkit.for_notebooks
    def _repr_html_(self) -> str | None:
        return devkit.to_fragment("pipeline statistics", (), self.html_parts())

    def __repr__(self) -> str:
        return f"<Stats: {self.recorded} recorded, {self.executed} executed, {self.dropped} dropped>"
