"""The calls of a program with their keys, kernels and times: collected while it runs, and shown in several forms.

Each kernel that ran is a call: an operator that goes through autograd to the cpu has two, one inside the other, as in the
lines of ``DISPATCH_TRACE``, which have the same source (`calls.call_trace`).
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from dispatch_core import registry
from dispatch_core.display import Column, DataTable, show_count, show_number_of, show_share, show_time
from dispatch_core.inspection import CallEvent, ProfileSession, TracedCall

from ..fragments import to_block, to_fragment, to_note, to_page, to_part
from .output import TextOutput

#: How many calls a page lists, and how many rows a summary has.
MOST_LISTED: Final = 5_000
MOST_ROWS: Final = 40


class _ThreadNumber(threading.local):
    """The number of a thread; its identity is given again once it has ended."""

    _count = itertools.count(1)

    def __init__(self) -> None:
        self.value = next(self._count)


@dataclass(slots=True)
class _Row:
    """The calls of one operator with the same keys and kernel."""

    operator: str
    keys: str
    kernel: str
    function: str
    calls: int = 0
    own_time: int = 0
    time: int = 0


class CallReport:
    """A listener that keeps every call; ``program`` is the command line that is reported on."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.events: list[CallEvent] = []
        #: Number of a thread → its name.
        self.threads: dict[int, str] = {}
        number = _ThreadNumber()
        self._session = ProfileSession(
            registry, self.events, [], self.threads, False, False, identify=lambda: number.value
        )

    def begin(self, call: TracedCall) -> tuple[CallEvent, CallEvent | None]:
        """Keep a call that begins."""
        event, parent = self._session.begin(call.operator, self.events, "operator", call.keyset)
        event.kernel, event.function = call.kernel, call.function
        return event, parent

    def end(self, begun: tuple[CallEvent, CallEvent | None]) -> None:
        """Keep the time of a call that has ended."""
        self._session.end(*begun)

    def write(self, line: str) -> None:
        """Keep no line that is about no call."""

    @property
    def facts(self) -> list[str]:
        """Return the number of calls, threads and operators, and the time in them."""
        events = list(self.events)
        operators = len({event.name for event in events})
        threads = [show_number_of("thread", len(self.threads))] if len(self.threads) > 1 else []
        time = show_time(sum(event.self_duration for event in events))
        return [show_number_of("call", len(events)), show_number_of("operator", operators), *threads, time]

    def table(self, row_limit: int | None = MOST_ROWS) -> DataTable:
        """Return a row for each operator with its keys and kernel, the most own time first."""
        rows = sorted(_group(self.events), key=lambda row: -row.own_time)
        whole = sum(row.own_time for row in rows)
        shown = rows[:row_limit]
        left_out = len(rows) - len(shown)
        columns = [
            Column("operator", is_code=True),
            Column("calls", show_count, is_number=True),
            Column("own time", show_time, is_number=True),
            Column("own %", show_share, is_number=True, has_bar=True),
            Column("total time", show_time, is_number=True),
            Column("keys", is_code=True),
            Column("kernel", is_code=True),
            Column("function", is_code=True),
        ]
        cells = [
            (
                row.operator,
                row.calls,
                row.own_time,
                row.own_time / (whole or 1),
                row.time,
                row.keys,
                row.kernel,
                row.function,
            )
            for row in shown
        ]
        return DataTable(columns, cells, left_out=f"and {show_number_of('more row', left_out)}" if left_out else "")

    def lines(self, limit: int | None = None) -> Iterable[str]:
        """Return a line for each call: its time, and where it stands among the others, as it was printed."""
        for event in self.events[:limit]:
            name = self.threads[event.thread]
            thread = "" if name == threading.main_thread().name else f"[{name}] "
            keys = ", ".join(key.label for key in event.keys)
            time = show_time(event.duration)
            yield f"{time:>11}  {thread}{'  ' * event.depth}{event.name} ({keys}) -> {event.kernel}"

    def text(self, output: TextOutput = TextOutput()) -> str:  # noqa: B008  # it never changes
        """Return the summary, as wide as ``output`` shows it."""
        lines = [f"dispatch trace: {', '.join(self.facts)}"]
        if self.events:
            table = self.table()
            wide = table.lines()
            if output.width is not None and max(map(len, wide)) > output.width:
                rows = [
                    [column.text(cell) for column, cell in zip(table.columns, row, strict=True)] for row in table.rows
                ]
                wide = [output.table([column.title for column in table.columns], rows)]
                wide += [table.left_out] if table.left_out else []
            lines += wide
        return "\n".join([*lines, ""])

    def html(self) -> str:
        """Return a page: the summary and the calls in their order, without a script."""
        left_out = len(self.events) - MOST_LISTED
        parts = [self.table().html(), to_part("calls"), to_block("\n".join(self.lines(MOST_LISTED)))]
        if left_out > 0:
            parts.append(to_note(f"and {show_number_of('more call', left_out)}, which --json and --chrome show"))
        return to_page(f"dispatch trace {self.program}", to_fragment(self.program, self.facts, parts))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: every call, in the order in which they began, with times in nanoseconds."""
        first = self.events[0].start if self.events else 0
        calls = [
            {
                "operator": event.name,
                "keys": [key.label for key in event.keys],
                "kernel": event.kernel,
                "function": event.function,
                "depth": event.depth,
                "thread": self.threads[event.thread],
                "start": event.start - first,
                "duration": event.duration,
                "own": event.self_duration,
            }
            for event in self.events
        ]
        return {"program": self.program, "calls": calls}


def _group(events: Iterable[CallEvent]) -> list[_Row]:
    rows: dict[tuple[str, str, str, str], _Row] = {}
    for event in events:
        group = event.name, ", ".join(key.label for key in event.keys), event.kernel, event.function
        row = rows.get(group)
        if row is None:
            row = rows[group] = _Row(*group)
        row.calls += 1
        row.own_time += event.self_duration
        row.time += event.duration
    return list(rows.values())
