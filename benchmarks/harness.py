"""Compare calls within one process: interleaved samples, minima and medians, ratios instead of times.

Times are the processor's, of all threads of the process: other work on the machine counts little then. Where waiting counts,
a benchmark gives the clock.

These figures carry over between machines only as ratios, so every measure has a reference that runs beside it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import timeit
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

#: How many first calls a function changes in, at most.
_CHANGING = 50
#: The modules that C is compiled to.
COMPILED = ("dispatch_backend_cpu_native._loops", "dispatch_calls_native._front")


@dataclass(frozen=True, slots=True)
class Measure:
    """One row: two functions whose times are compared, and the ratio that it should stay under, if one is set."""

    name: str
    ours: Callable[[], object]
    reference: Callable[[], object]
    goal: float | None = None
    #: The part of both that is not measured; its time is subtracted before the ratio is made.
    beside: Callable[[], object] | None = None
    #: The reference's own part, where it is another one.
    beside_reference: Callable[[], object] | None = None
    #: What our function cannot do without, and how many nanoseconds are allowed on top of it.
    floor: Callable[[], object] | None = None
    dispatch: float = 0.0
    #: The rows that it is summed up with.
    group: str = ""


def _nothing() -> None:
    """Do nothing, in no time."""


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome of a measure; times in nanoseconds a call, without the part that is not measured."""

    name: str
    ours: float
    reference: float
    ratio: float
    median_ratio: float
    goal: float | None
    #: The floor's nanoseconds, if one is measured.
    floor: float | None = None
    group: str = ""

    @property
    def verdict(self) -> str:
        """Say whether the goal is reached."""
        return "" if self.goal is None else "ok" if self.ratio <= self.goal else "missed"


def _settle(call: Callable[[], object], seconds: float) -> None:
    """Make first calls, which are not measured: a function changes in its first forty, and again where a neighbour does.

    A call that makes hundreds of others takes long until then, so its first fifty may take twenty times as long.
    """
    start = time.perf_counter()
    for count in range(100):
        call()
        if time.perf_counter() - start > (20 * seconds if count < _CHANGING else seconds):
            return


def _loops(timer: timeit.Timer, seconds: float) -> int:
    """Return how many calls fill a sample of about ``seconds``."""
    count = 1
    while (took := timer.timeit(count)) < seconds / 2:
        count = max(2 * count, int(count * seconds / 2 / max(took, 1e-9)))
    return max(1, int(count * seconds / took))


def run(
    measures: Sequence[Measure],
    *,
    repeats: int = 15,
    seconds: float = 0.02,
    clock: Callable[[], float] = time.process_time,
) -> list[Row]:
    """Time every measure and its reference in turn, ``repeats`` times over, and return one row each."""
    timers = []
    for measure in measures:
        beside = measure.beside or _nothing
        parts = beside, measure.beside_reference or beside, measure.floor or _nothing
        for call in (measure.ours, measure.reference, *parts):
            _settle(call, 4 * seconds)
            timer = timeit.Timer(call, timer=clock)
            timers.append((timer, _loops(timer, seconds)))
    samples: list[list[float]] = [[] for _ in timers]
    for _ in range(repeats):
        for (timer, loops), found in zip(timers, samples, strict=True):
            found.append(timer.timeit(loops) / loops * 1e9)
    return [_row(measure, *samples[5 * index : 5 * index + 5]) for index, measure in enumerate(measures)]


def _row(
    measure: Measure,
    ours: list[float],
    reference: list[float],
    beside: list[float],
    beside_reference: list[float],
    floor: list[float],
) -> Row:
    def times(summary: Callable[[list[float]], float]) -> tuple[float, float]:
        if measure.beside is None:
            return summary(ours), summary(reference)
        return summary(ours) - summary(beside), summary(reference) - summary(beside_reference)

    least, middle = times(min), times(statistics.median)
    bound = None if measure.floor is None else min(floor) + measure.dispatch
    return Row(measure.name, *least, least[0] / least[1], middle[0] / middle[1], measure.goal, bound, measure.group)


def list_built() -> list[str]:
    """Return the modules of the compiled packages that are there."""
    return [name for name in COMPILED if find_spec(name.partition(".")[0]) and find_spec(name)]


def parser(description: str | None, *, repeats: int = 15) -> argparse.ArgumentParser:
    """Make the parser of the options of every benchmark."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--json", type=Path, help="also write the figures to this file")
    made.add_argument("--repeats", type=int, default=repeats)
    return made


def report(rows: Sequence[Row], path: Path | None = None, *, reference: str = "torch") -> str:
    """Return the rows as a table, and write them as JSON to ``path``; ``reference`` is what ours stands beside."""
    width = max(len(row.name) for row in rows)
    floors = any(row.floor is not None for row in rows)
    lines = [
        f"{'measure':<{width}} {'ours ns':>10} {f'{reference} ns':>10} {'ratio':>7} {'median':>7} {'at most':>8}"
        + f"{'floor ns':>11} {'of floor':>8}" * floors
    ]
    for row in rows:
        goal = "" if row.goal is None else f"{row.goal:.2f}"
        last = row.verdict if row.floor is None else f"{row.floor:>10.0f} {row.ours / row.floor:>8.2f}"
        lines.append(
            f"{row.name:<{width}} {row.ours:>10.0f} {row.reference:>10.0f} {row.ratio:>7.3f} {row.median_ratio:>7.3f}"
            f" {goal:>8} {last}".rstrip()
        )
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    return "\n".join(lines)
