"""Times of statements, measured as Python's ``timeit`` measures them (source: ``torch.utils.benchmark``)."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable, Iterable
from typing import Any, Final

from ..values.settings import get_num_threads, set_num_threads

__all__ = ["Compare", "Measurement", "Timer"]

#: A unit → its seconds, from the longest on.
_UNITS: Final = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


def _format(seconds: float) -> str:
    name, unit = next((pair for pair in _UNITS if seconds >= pair[1]), _UNITS[-1])
    return f"{seconds / unit:.2f} {name}"


class Measurement:
    """Times of one statement: of each run in seconds, and the measured task."""

    def __init__(self, number_per_run: int, raw_times: list[float], timer: Timer) -> None:
        self.number_per_run, self.raw_times = number_per_run, raw_times
        self.stmt, self.label, self.sub_label, self.description = (
            timer.stmt,
            timer.label,
            timer.sub_label,
            timer.description,
        )
        self.num_threads = timer.num_threads
        self.times = [each / number_per_run for each in raw_times]
        self.mean, self.median = statistics.fmean(self.times), statistics.median(self.times)
        quarters = statistics.quantiles(self.times, n=4, method="inclusive") if len(self.times) > 1 else [0.0] * 3
        self.iqr = quarters[2] - quarters[0]

    @property
    def title(self) -> str:
        """The label, or the statement where there is none."""
        return self.label or self.stmt

    def __repr__(self) -> str:
        runs = f"{len(self.times)} measurement{'s' * (len(self.times) > 1)}, {self.number_per_run} runs per measurement"
        parts = [
            self.title,
            self.sub_label,
            self.description,
            f"Median: {_format(self.median)}",
            f"IQR: {_format(self.iqr)}",
        ]
        return "\n  ".join([f"<{type(self).__name__}>", *filter(None, parts), f"{runs}, {self.num_threads} thread"])


class Timer:
    """Times a statement (source: ``torch.utils.benchmark.Timer``).

    >>> Timer("x + 1", globals={"x": 1}).timeit(10).number_per_run
    10
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timeit.default_timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if str(getattr(language, "name", language)).lower() not in ("python", "py"):
            raise NotImplementedError("torch.utils.benchmark.Timer times statements of Python alone")
        self.stmt, self.label, self.sub_label, self.description = stmt, label, sub_label, description
        self.num_threads = num_threads
        names = dict(globals or {})
        names.setdefault("torch", __import__("torchlike"))
        self._timer = timeit.Timer(stmt, setup, timer, names)

    def _measure(self, number: int, repeat: Callable[[list[float]], bool]) -> Measurement:
        """Time runs of ``number`` statements until there are enough of them."""
        before = get_num_threads()
        set_num_threads(self.num_threads)
        try:
            times: list[float] = []
            while not times or repeat(times):
                times.append(self._timer.timeit(number))
        finally:
            set_num_threads(before)
        return Measurement(number, times, self)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Return the time of ``number`` statements in a row."""
        self._timer.timeit(max(number // 100, 1))
        return self._measure(number, lambda times: False)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Return times of runs that last ``min_run_time`` seconds together."""
        number, seconds = 1, self._timer.timeit(1)
        while seconds < min_run_time / 100 and number < 1_000_000:
            number *= 10
            seconds = self._timer.timeit(number)
        return self._measure(number, lambda times: sum(times) < min_run_time)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0, callback: Any = None
    ) -> Measurement:
        """Return times of runs that last ``min_run_time`` seconds together."""
        return self.blocked_autorange(callback, min_run_time)


class Compare:
    """A table of measurements (source: ``torch.utils.benchmark.Compare``)."""

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results = list(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Do nothing: times have three figures at least."""

    colorize = highlight_warnings = trim_significant_figures

    def __str__(self) -> str:
        lines = [
            " | ".join([each.title, each.sub_label or "", each.description or "", _format(each.median)])
            for each in self._results
        ]
        return "\n".join(lines)

    def print(self) -> None:
        """Print the table."""
        print(self)  # noqa: T201  # its purpose
