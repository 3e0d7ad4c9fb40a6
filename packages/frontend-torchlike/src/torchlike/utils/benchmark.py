"""Times of statements, measured as Python's ``timeit`` measures them (source: ``torch.utils.benchmark``)."""

from __future__ import annotations

import math
import statistics
import textwrap
import timeit
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from ..values.settings import get_num_threads, set_num_threads

__all__ = [
    "Compare",
    "Language",
    "Measurement",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]

#: A unit → its seconds, from the longest on.
_UNITS: Final = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
#: The seconds that a clock's own times differ by.
_CLOCK: Final = 25e-9


def _format(seconds: float) -> str:
    name, unit = select_unit(seconds)
    return f"{seconds / unit:.2f} {name}"


class Language(Enum):
    """The language of a statement; those in C++ are not timed here."""

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """Return the seconds of a clock."""
    return timeit.default_timer()


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Compute with ``n`` threads in a block."""
    before = get_num_threads()
    set_num_threads(n)
    try:
        yield
    finally:
        set_num_threads(before)


def select_unit(t: float) -> tuple[str, float]:
    """Return the unit in which a time is a number from 1 to 1,000, and the unit's seconds.

    >>> select_unit(3e-5)
    ('us', 1e-06)
    """
    return next((pair for pair in _UNITS if t >= pair[1]), _UNITS[-1])


def unit_to_english(u: str) -> str:
    """Return the name of a unit.

    >>> unit_to_english("us")
    'microsecond'
    """
    return {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}[u]


def trim_sigfig(x: float, n: int) -> float:
    """Return a number with ``n`` significant figures, as a float.

    >>> trim_sigfig(3.14159, 2)
    3.1
    """
    return float(f"{x:.{n - 1}e}")


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Return the distinct elements in the order in which they come.

    >>> ordered_unique([3, 1, 3])
    [3, 1]
    """
    return list(dict.fromkeys(elements))


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """The task that a `Timer` times, without its names.

    >>> TaskSpec("x + 1", "pass", label="add", sub_label="ints").title
    'add: ints'
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement where there is none, with the label of a part."""
        if self.label is None and "\n" in self.stmt:
            part = f" ({self.sub_label})" if self.sub_label else ""
            return f"stmt:{part}\n{textwrap.indent(self.stmt, '  ')}"
        return (self.stmt if self.label is None else self.label) + (f": {self.sub_label}" if self.sub_label else "")

    def setup_str(self) -> str:
        """Return the preparation as text, an empty one where there is none."""
        if not self.setup or self.setup == "pass":
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Return the task as text: title, description and preparation."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(f"{each}\n" if "\n" in each else each for each in parts if each)


class Measurement:
    """Times of one task.

    Args:
        number_per_run: How many statements each time is of.
        raw_times: The times of the runs, in seconds.
        task_spec: The task.
        metadata: Facts of the caller's own.

    >>> found = Measurement(2, [2.0, 4.0, 3.0], TaskSpec("x", "pass"))
    >>> found.times, found.median, found.mean, found.iqr
    ([1.0, 2.0, 1.5], 1.5, 1.5, 0.5)
    """

    def __init__(
        self, number_per_run: int, raw_times: list[float], task_spec: TaskSpec, metadata: dict[Any, Any] | None = None
    ) -> None:
        self.number_per_run, self.raw_times = number_per_run, raw_times
        self.task_spec, self.metadata = task_spec, metadata
        self.times = [each / number_per_run for each in raw_times]
        self.mean, self.median = statistics.fmean(self.times), statistics.median(self.times)
        quarters = statistics.quantiles(self.times, n=4, method="inclusive") if len(self.times) > 1 else [0.0] * 3
        self.iqr = quarters[2] - quarters[0]

    def __getattr__(self, name: str) -> Any:
        """Return a fact of the task, such as its ``label`` or its ``title``."""
        if name != "task_spec" and hasattr(self.task_spec, name):
            return getattr(self.task_spec, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    @property
    def significant_figures(self) -> int:
        """How many figures of the median can be relied on, from 1 to 5."""
        ordered = sorted(self.times)
        middle = ordered[len(ordered) // 4 : math.ceil(3 * len(ordered) / 4)]
        spread = 1.645 * statistics.pstdev(middle) / math.sqrt(len(middle))
        return min(max(math.floor(math.log10(self.median / max(spread, _CLOCK))), 1), 5)

    @property
    def has_warnings(self) -> bool:
        """Whether the middle half of the times lies far apart: more than a tenth of the median."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Return whether the middle half of the times lies within a part of the median."""
        return self.iqr / self.median < threshold

    @property
    def as_row_name(self) -> str:
        """The name of a row in a table."""
        return self.sub_label or self.stmt or "[Unknown]"

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Return one measurement for each task, with the times of all its measurements."""
        groups: dict[TaskSpec, list[float]] = {}
        for each in measurements:
            groups.setdefault(each.task_spec, []).extend(each.times)
        return [Measurement(1, times, task) for task, times in groups.items()]

    def __repr__(self) -> str:
        count = len(self.times)
        runs = f"{count} measurement{'s' * (count > 1)}, {self.number_per_run} runs per measurement"
        rest = [f"Median: {_format(self.median)}", f"IQR: {_format(self.iqr)}"] if count > 1 else [_format(self.median)]
        threads = f"{runs}, {self.num_threads} thread{'s' * (self.num_threads > 1)}"
        return "\n  ".join([f"<{type(self).__name__}>", *self.task_spec.summarize().splitlines(), *rest, threads])


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
        timer: Callable[[], float] = timer,
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
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)
        names = dict(globals or {})
        names.setdefault("torch", __import__("torchlike"))
        self._timer = timeit.Timer(stmt, setup, timer, names)

    def _measure(self, number: int, repeat: Callable[[list[float]], bool]) -> Measurement:
        """Time runs of ``number`` statements until there are enough of them."""
        times: list[float] = []
        with set_torch_threads(self._task_spec.num_threads):
            while not times or repeat(times):
                times.append(self._timer.timeit(number))
        return Measurement(number, times, self._task_spec)

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
