"""The events of a profile under torch's names and in torch's units, microseconds and bytes, and their table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.display import Column, DataTable, show_count, show_number_of, show_share, show_size, show_time
from dispatch_devkit.fragments import to_fragment

_UNITS: Final = {"s": 1e9, "ms": 1e6, "us": 1e3}


@dataclass(slots=True)
class FunctionEventAvg:
    """The calls of one operator (source: ``torch.autograd.profiler_util.FunctionEventAvg``): microseconds and bytes."""

    key: str
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    input_shapes: list[list[int]] | str = ""
    overload_name: str = ""
    is_user_annotation: bool = False
    #: Whether all of its calls were made by other recorded ones.
    is_inside: bool = True
    # Of devices with timed events, where the profile's activities ask for it.
    device_time_total: float = 0.0
    self_device_time_total: float = 0.0
    device_memory_usage: int = 0
    self_device_memory_usage: int = 0

    @property
    def name(self) -> str:
        """Return the key."""
        return self.key

    @property
    def cpu_time(self) -> float:
        """Return the time of one call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_total_str(self) -> str:
        """Return the time of all calls with its unit."""
        return show_time(self.cpu_time_total * 1e3)

    @property
    def self_cpu_time_total_str(self) -> str:
        """Return the time that no recorded call inside took, with its unit."""
        return show_time(self.self_cpu_time_total * 1e3)

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str}"
            f" cpu_time={self.cpu_time_total_str} count={self.count}>"
        )


class EventList(list[FunctionEventAvg]):
    """Events that print as a table (source: ``torch.autograd.profiler_util.EventList``)."""

    def __init__(self, events: Iterable[FunctionEventAvg], *, has_memory: bool, has_shapes: bool) -> None:
        super().__init__(events)
        self._has_memory, self._has_shapes = has_memory, has_shapes

    @property
    def self_cpu_time_total(self) -> float:
        """Return the time of all events, each moment counted once."""
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """Return the events as a table, in their own order or by an attribute in falling order.

        ``row_limit=-1`` shows every row. Raises ``AttributeError`` for an unknown attribute, ``ValueError`` for a unit other
        than s, ms and us.
        """
        widths = max_name_column_width, max_shapes_column_width
        found = self._table(sort_by, row_limit, *widths, top_level_events_only, time_unit)
        lines = [*([header] if header is not None else []), str(found)]
        return "\n".join([*lines, f"Self CPU time total: {show_time(self.self_cpu_time_total * 1e3)}"])

    def _table(
        self,
        sort_by: str | None,
        row_limit: int,
        name_width: int,
        shapes_width: int,
        is_top_only: bool,
        time_unit: str | None,
    ) -> DataTable:
        if time_unit is not None and time_unit not in _UNITS:
            raise ValueError(f"EventList.table(): time_unit must be one of s, ms, us, not {time_unit!r}")
        events = [event for event in self if not (is_top_only and event.is_inside)]
        if sort_by is not None:
            # Torch's older names of the times of devices.
            attribute = sort_by.replace("cuda", "device")
            events.sort(key=lambda event: -getattr(event, attribute))
        shown = events if row_limit < 0 else events[:row_limit]

        def show(microseconds: float) -> str:
            if time_unit is None:
                return show_time(microseconds * 1e3)
            return f"{microseconds * 1e3 / _UNITS[time_unit]:,.3f} {time_unit}"

        whole = self.self_cpu_time_total or 1.0
        columns: list[tuple[Column, Callable[[FunctionEventAvg], Any]]] = [
            (Column("Name", _cut_to(name_width), is_code=True), lambda event: event.key),
            (_number("Self CPU %", show_share, has_bar=True), lambda event: event.self_cpu_time_total / whole),
            (_number("Self CPU", show), lambda event: event.self_cpu_time_total),
            (_number("CPU total %", show_share), lambda event: event.cpu_time_total / whole),
            (_number("CPU total", show), lambda event: event.cpu_time_total),
            (_number("CPU time avg", show), lambda event: event.cpu_time),
        ]
        if any(event.device_time_total for event in self):
            columns += [
                (_number("Self Device", show), lambda event: event.self_device_time_total),
                (_number("Device total", show), lambda event: event.device_time_total),
            ]
        if self._has_memory:
            columns += [
                (_number("CPU Mem", show_size), lambda event: event.cpu_memory_usage),
                (_number("Self CPU Mem", show_size), lambda event: event.self_cpu_memory_usage),
            ]
        columns.append((_number("# of Calls", show_count), lambda event: event.count))
        if self._has_shapes:
            columns.append(
                (Column("Input Shapes", _cut_to(shapes_width), is_code=True), lambda event: event.input_shapes)
            )
        rows = [[take(event) for _, take in columns] for event in shown]
        return DataTable([column for column, _ in columns], rows)

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all events."""
        return _sum(FunctionEventAvg("Total"), self)

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        facts = [show_number_of("row", len(self)), show_time(self.self_cpu_time_total * 1e3)]
        return to_fragment("profile", facts, [self._table("self_cpu_time_total", 40, 55, 80, False, None).html()])


def _number(title: str, show: Callable[[Any], str], *, has_bar: bool = False) -> Column:
    return Column(title, show, is_number=True, has_bar=has_bar)


def _cut_to(width: int) -> Callable[[object], str]:
    def cut(value: object) -> str:
        text = str(value)
        return text if len(text) <= width or width <= 0 else f"{text[: width - 1]}…"

    return cut


def _sum(into: FunctionEventAvg, events: Iterable[FunctionEventAvg]) -> FunctionEventAvg:
    for event in events:
        into.count += event.count
        into.cpu_time_total += event.cpu_time_total
        into.self_cpu_time_total += event.self_cpu_time_total
        into.device_time_total += event.device_time_total
        into.self_device_time_total += event.self_device_time_total
        into.cpu_memory_usage += event.cpu_memory_usage
        into.self_cpu_memory_usage += event.self_cpu_memory_usage
        into.is_inside &= event.is_inside
    return into


def list_events(profile: dc.profile, has_memory: bool) -> EventList:
    """Return the events of a profile one by one, in the order in which they began."""
    found = []
    for event in sorted([*profile.events, *profile.stages], key=lambda event: (event.start, event.depth)):
        is_call = event.kind == "operator"
        key, overload = _split(event.name) if is_call else (event.name, "")
        found.append(
            FunctionEventAvg(
                key if is_call or event.kind == "region" else f"{event.kind}: {key}",
                1,
                event.duration / 1e3,
                event.self_duration / 1e3,
                event.memory,
                event.self_memory,
                [list(shape) for shape in event.shapes],
                overload,
                event.kind == "region",
                event.depth > 0,
                event.device_duration / 1e3,
                event.self_device_duration / 1e3,
            )
        )
    return EventList(found, has_memory=has_memory, has_shapes=any(event.input_shapes for event in found))


def average_events(profile: dc.profile, has_memory: bool, *, by_shapes: bool, by_overloads: bool) -> EventList:
    """Return the sums of a profile's events, in the order in which the first of each began."""
    groups: dict[Any, FunctionEventAvg] = {}
    for event in list_events(profile, has_memory):
        name = f"{event.key}.{event.overload_name}" if by_overloads and event.overload_name else event.key
        group = groups.setdefault(
            (name, str(event.input_shapes) if by_shapes else None),
            FunctionEventAvg(
                event.key,
                input_shapes=event.input_shapes if by_shapes else "",
                overload_name=event.overload_name if by_overloads else "",
                is_user_annotation=event.is_user_annotation,
            ),
        )
        _sum(group, [event])
    return EventList(groups.values(), has_memory=has_memory, has_shapes=by_shapes)


def _split(name: str) -> tuple[str, str]:
    """Return an operator's name and its overload's.

    >>> _split("aten::add.Tensor"), _split("aten::relu")
    (('aten::add', 'Tensor'), ('aten::relu', ''))
    """
    operator, _, overload = name.partition(".")
    return operator, overload
