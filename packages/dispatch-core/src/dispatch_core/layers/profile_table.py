"""A profile as a table: own time first, parts of the whole, memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ..display import Column, DataTable, show_count, show_number_of, show_share, show_size, show_time
from ..errors import ArgumentError
from .profile_events import STAGES, OperatorStats

#: The columns to sort by → the figure, the largest first.
FIGURES: Final[dict[str, Callable[[OperatorStats], float]]] = {
    "calls": lambda row: row.calls,
    "self_total": lambda row: row.self_total,
    "total": lambda row: row.total,
    "mean": lambda row: row.mean,
    "self_memory": lambda row: row.self_memory,
    "memory": lambda row: row.memory,
    "self_device_total": lambda row: row.self_device_total,
    "device_total": lambda row: row.device_total,
}


def make_table(
    rows: Sequence[OperatorStats],
    *,
    sort_by: str,
    row_limit: int | None,
    shows_shapes: bool,
    whole: int,
    shows_device: bool = False,
) -> DataTable:
    """Return the table of grouped events; ``whole`` is the time that percentages are parts of, in nanoseconds.

    Raises ``ArgumentError`` for an unknown column, and for a limit below 0.
    """
    figure = FIGURES.get(sort_by)
    if figure is None:
        raise ArgumentError(
            f"profile.table: no column is named {sort_by!r}",
            hint=f"sort_by is {', '.join(list(FIGURES)[:-1])} or {list(FIGURES)[-1]}",
        )
    if row_limit is not None and (type(row_limit) is not int or row_limit < 0):
        raise ArgumentError(f"profile.table: row_limit must be an int from 0 up or None, not {row_limit!r}")
    columns = [
        Column("operator", is_code=True),
        Column("own time", show_time, is_number=True),
        Column("own %", show_share, is_number=True, has_bar=True),
        Column("total time", show_time, is_number=True),
        Column("total %", show_share, is_number=True),
        Column("calls", show_count, is_number=True),
        Column("per call", show_time, is_number=True),
        Column("own memory", show_size, is_number=True),
        Column("memory", show_size, is_number=True),
        Column("keys", is_code=True),
    ]
    if shows_device:
        titles = "own device time", "device time"
        columns[1:1] = [Column(title, show_time, is_number=True) for title in titles]
    if shows_shapes:
        columns.append(Column("input shapes", is_code=True))
    ordered = sorted(rows, key=lambda row: -figure(row))
    shown = ordered[:row_limit]
    left_out = len(ordered) - len(shown)
    cells: list[list[Any]] = []
    for row in shown:
        cells.append(
            [
                f"{row.kind}: {row.name}" if row.kind in STAGES else row.name,
                row.self_total,
                row.self_total / whole if whole else 0.0,
                row.total,
                row.total / whole if whole else 0.0,
                row.calls,
                row.mean,
                row.self_memory,
                row.memory,
                ", ".join(sorted(row.keys)) or "-",
            ]
        )
        if shows_device:
            cells[-1][1:1] = [row.self_device_total, row.device_total]
        if shows_shapes:
            cells[-1].append(", ".join(str(list(each)) for each in row.shapes or ()) or "-")
    note = f"and {show_number_of('more row', left_out)}" if left_out else ""
    return DataTable(columns, cells, left_out=note)
