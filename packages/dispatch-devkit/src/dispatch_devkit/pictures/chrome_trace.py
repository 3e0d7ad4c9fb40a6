"""A profile in Chrome's trace format, which Perfetto opens.

Each thread has a track with its calls, one inside the other, and one more for each kind of stage of its pipelines. Arrows
lead from a recorded call to the kernel that ran it. Source: the Trace Event Format of the Chromium project.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Final

from dispatch_core.files import write_text
from dispatch_core.inspection import CallEvent

#: Kind of an event → its category.
CATEGORIES: Final = {
    "operator": "operator",
    "region": "user_annotation",
    "meta": "meta",
    "plan": "plan",
    "impl": "impl",
    "flush": "flush",
}
#: Kind of a stage → the name of its track beside the thread's, in their order below it.
_TRACKS: Final = {"flush": "pipeline flush", "plan": "pipeline plan", "meta": "pipeline meta", "impl": "pipeline impl"}


def write_chrome_trace(path: str | os.PathLike[str], events: Iterable[CallEvent], names: Mapping[int, str]) -> None:
    """Write a file in the format; ``names`` are those of the threads."""
    found = list_trace_events(events, os.getpid(), names)
    write_text(path, json.dumps({"traceEvents": found, "displayTimeUnit": "ns"}))


def list_trace_events(events: Iterable[CallEvent], process: int, names: Mapping[int, str]) -> list[dict[str, Any]]:
    """Return events in the format's terms; times in microseconds. ``names`` are those of the threads.

    A thread's identity does not fit the 32 bits that the format's readers have for it: tracks are numbered from 1, threads
    before the tracks of their stages, in the order in which they first called.
    """
    events = list(events)
    tracks: dict[tuple[int, str], int] = {}
    found: list[dict[str, Any]] = [_metadata("process_name", process, 0, "dispatch")]
    for thread in dict.fromkeys(event.thread for event in events):
        kinds = {event.kind for event in events if event.thread == thread}
        name = names.get(thread, f"thread {thread}")
        for kind, beside in {"": "", **_TRACKS}.items():
            if not kind or kind in kinds:
                number = tracks[thread, kind] = len(tracks) + 1
                title = f"{name}: {beside}" if kind else name
                found.append(_metadata("thread_name", process, number, title))
                found.append(
                    {
                        "name": "thread_sort_index",
                        "ph": "M",
                        "pid": process,
                        "tid": number,
                        "args": {"sort_index": number},
                    }
                )

    lanes: dict[str, int] = {}
    for stream in dict.fromkeys(event.stream for event in events if event.stream):
        lanes[stream] = len(tracks) + len(lanes) + 1
        found.append(_metadata("thread_name", process, lanes[stream], stream))

    def place(event: CallEvent) -> dict[str, Any]:
        track = tracks[event.thread, event.kind if event.kind in _TRACKS else ""]
        return {"ts": event.start / 1e3, "pid": process, "tid": track}

    arrows = 0
    for event in events:
        arguments: dict[str, Any] = {}
        if event.kind == "operator":
            arguments = {
                "keys": [key.label for key in event.keys],
                # A size may be a symbol, as that of a nested tensor's rows.
                "input shapes": [[size if type(size) is int else str(size) for size in each] for each in event.shapes],
            }
            if event.kernel:
                arguments |= {"kernel": event.kernel, "function": event.function}
            if event.memory:
                arguments["bytes of results"] = event.memory
        found.append(
            {
                "name": event.name,
                "cat": CATEGORIES[event.kind],
                "ph": "X",
                **place(event),
                "dur": event.duration / 1e3,
                "args": arguments,
            }
        )
        if event.stream:
            on_device = {"ts": event.device_start / 1e3, "pid": process, "tid": lanes[event.stream]}
            taken = {"dur": event.device_duration / 1e3, "args": {}}
            found.append({"name": event.name, "cat": "device", "ph": "X", **on_device, **taken})
        for call in event.recorded:
            arrows += 1
            arrow = {"name": "record to run", "cat": "pipeline", "id": arrows}
            found += [{**arrow, "ph": "s", **place(call)}, {**arrow, "ph": "f", "bp": "e", **place(event)}]
    return found


def _metadata(name: str, process: int, track: int, value: str) -> dict[str, Any]:
    return {"name": name, "ph": "M", "pid": process, "tid": track, "args": {"name": value}}
