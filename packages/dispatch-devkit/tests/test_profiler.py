"""Profiles in notebooks and in Chrome's trace format."""

from __future__ import annotations

import contextvars
import json
import os
import re
import threading

import pytest
from markup import read_fragment

import dispatch_core as dc


@pytest.fixture
def operators(registry, library, toy):
    library.define("leaf(Tensor x, *, Tensor? y=None) -> Tensor")
    library.define("twice(Tensor x) -> Tensor")
    library.define("fails(Tensor x) -> Tensor")
    library.impl("leaf", lambda x, *, y: type(x)(x.a + 1), toy.key)
    library.impl("twice", lambda x: registry.ops.t.leaf(registry.ops.t.leaf(x)))
    library.impl("fails", lambda x: 1 / 0, toy.key)
    return registry.ops.t


#: Phase → the keys that the Trace Event Format asks for, beside those of every event, with their types.
PHASES = {
    "M": {"args": dict},
    "X": {"ts": float, "dur": float, "cat": str, "args": dict},
    "s": {"ts": float, "id": int, "cat": str},
    "f": {"ts": float, "id": int, "cat": str, "bp": str},
}


def check_trace(events):
    """Check events against the Trace Event Format: keys and their types, tracks that have names, arrows inside events."""
    spans = {}
    for event in events:
        if event["ph"] == "X":
            spans.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    named = {event["tid"] for event in events if event["name"] == "thread_name"}
    for event in events:
        wanted = {"name": str, "ph": str, "pid": int, "tid": int, **PHASES[event["ph"]]}
        assert event.keys() == wanted.keys()
        assert [key for key, kind in wanted.items() if not isinstance(event[key], kind)] == []
        assert 0 <= event["tid"] < 2**31
        if event["ph"] != "M":
            assert event["tid"] in named
            assert event["ts"] >= 0
        if event["ph"] in "sf":
            assert any(start <= event["ts"] <= end for start, end in spans[event["tid"]])


def names(profile):
    return [(event.name, event.depth) for event in profile.events]


def test_regions_hold_the_calls_inside_them(registry, operators, toy):
    with dc.profile(registry=registry) as p:
        with p.region("outer <b>"), p.region("inner"):
            operators.twice(toy.array([1]))
        with pytest.raises(ZeroDivisionError), p.region("failed"):
            operators.fails(toy.array([1]))
        operators.leaf(toy.array([1]))
    assert [(event.name, event.depth, event.kind) for event in p.events if event.kind == "region"] == [
        ("outer <b>", 0, "region"),
        ("inner", 1, "region"),
        ("failed", 0, "region"),
    ]
    assert p.events[-1].depth == 0
    assert "outer <b>" in read_fragment(p._repr_html_()).texts


@pytest.fixture
def recorded(registry, library, toy, meta):
    """Return the profile of a pipeline: a call whose result is read, and two that run by a plan."""
    library.define("add(Tensor x, Tensor y) -> Tensor")
    library.impl("add", lambda x, y: toy.array(x.a + y.a), toy.key)
    library.impl("add", lambda x, y: meta.array(x.shape), meta.key)
    add, x = registry.ops.t.add, toy.array([1, 2])
    with dc.profile(registry=registry) as p, dc.pipeline(registry=registry) as pipe:
        read = add(x, x)
        assert read.result() == [2, 4]
        kept = add(add(x, x), x)
        pipe.flush()
    assert kept.result() == [3, 6]
    return p


def test_stages_and_arrows_have_tracks_of_their_own(recorded, tmp_path):
    recorded.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    check_trace(events)
    tracks = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    thread = threading.current_thread().name
    beside = [f"{thread}: pipeline {each}" for each in ("flush", "plan", "meta", "impl")]
    assert list(tracks.values()) == [thread, *beside]
    for event in events:
        if event["ph"] == "X":
            kind = tracks[event["tid"]].rpartition(" ")[2]
            assert event["cat"] == (kind if "pipeline" in tracks[event["tid"]] else "operator")
    starts = [event for event in events if event["ph"] == "s"]
    ends = [event for event in events if event["ph"] == "f"]
    assert [event["id"] for event in starts] == [event["id"] for event in ends] == [1, 2, 3]
    assert all(start["ts"] <= end["ts"] for start, end in zip(starts, ends, strict=True))
    assert {tracks[event["tid"]] for event in ends} == {f"{thread}: pipeline impl"}


def test_a_profile_is_shown_with_bars_and_units(registry, operators, toy):
    with dc.profile(registry=registry) as p:
        operators.twice(toy.array([[1, 2]]))
    found = read_fragment(p._repr_html_())
    assert found.texts[0] == "profile"
    assert "3 calls" in found.texts
    assert len(found.rows) == 3
    assert re.match(r"<profile: 3 calls, [\d,.]+ (ns|µs|ms|s), \d+ B>", repr(p))


def test_the_chrome_trace_is_json_with_complete_events(registry, operators, toy, tmp_path):
    with dc.profile(registry=registry) as p:
        operators.twice(toy.array([[1, 2]]))
    p.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    assert trace["displayTimeUnit"] in ("ms", "ns")
    check_trace(trace["traceEvents"])
    process, thread, _, *events = trace["traceEvents"]
    assert process["args"] == {"name": "dispatch"}
    assert thread == {
        "name": "thread_name",
        "ph": "M",
        "pid": os.getpid(),
        "tid": 1,
        "args": {"name": threading.current_thread().name},
    }
    assert [event["name"] for event in events] == ["t::twice", "t::leaf", "t::leaf"]
    for event in events:
        assert (event["ph"], event["cat"], event["pid"], event["tid"]) == ("X", "operator", os.getpid(), 1)
        assert isinstance(event["ts"], float)
        assert event["dur"] >= 0
    assert events[0]["args"].pop("bytes of results") > 0
    assert events[0]["args"] == {"keys": ["Toy"], "input shapes": [[1, 2]]}


def test_the_events_of_a_chrome_trace_nest(registry, operators, toy, tmp_path):
    """Perfetto makes a tree of complete events from their times alone: two on a thread nest, or lie apart."""
    with dc.profile(registry=registry) as p:
        for _ in range(20):
            operators.twice(toy.array([1]))
    p.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    events = [event for event in events if event["ph"] == "X"]
    # Nanoseconds again, so that sums are exact.
    spans = [(round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)) for event in events]
    stack, depths = [], []
    for start, end in spans:
        while stack and stack[-1] <= start:
            stack.pop()
        assert not stack or end <= stack[-1] + 1
        depths.append(len(stack))
        stack.append(end)
    assert depths == [event.depth for event in p.events]


def test_threads_have_numbers_that_fit_the_format(registry, operators, toy, tmp_path):
    with dc.profile(registry=registry) as p:
        operators.leaf(toy.array([1]))
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(operators.leaf, toy.array([1])), name="gone")
        thread.start()
        thread.join()
    p.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    check_trace(events)
    assert [event["tid"] for event in events if event["ph"] == "X"] == [1, 2]
    # A thread that is gone keeps the name that it had.
    names = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    assert names == [threading.current_thread().name, "gone"]
