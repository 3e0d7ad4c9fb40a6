"""Profiles with the times that a device takes: each kernel of the device here takes a millisecond, ``exp`` five."""

from __future__ import annotations

import json

import pytest
from racing_device import NAME, register

import dispatch_core as dc
import torchlike as t

MS = 1_000_000


@pytest.fixture
def x():
    with register():
        yield t.tensor([1.0, 2.0], device=NAME)


def times(found):
    return {row.name: (row.self_device_total, row.device_total) for row in found.key_averages()}


@pytest.mark.no_pipeline(reason="the rows are those of single calls")
def test_rows_have_the_device_s_time(x):
    with dc.profile(device=True) as found, found.region("both"):
        y = x.exp() + x
    assert y is not None
    assert times(found) == {
        "aten::exp": (5 * MS, 5 * MS),
        "aten::add.Tensor": (1 * MS, 1 * MS),
        "both": (0, 6 * MS),
    }
    lines = found.table(sort_by="self_device_total").splitlines()
    assert "own device time" in lines[0]
    assert lines[2].startswith("aten::exp")
    assert "device time" not in dc.profile().table()


@pytest.mark.no_pipeline(reason="the rows are those of single calls")
def test_what_makes_arrays_has_the_time_of_the_device_that_it_names(x):
    with dc.profile(device=True) as found:
        t.tensor([1.0, 2.0], device=NAME)
        t.tensor([1.0, 2.0], device=f"{NAME}:1")
        t.tensor([1.0, 2.0])
    durations = [(each.device_duration, each.stream) for each in found.events if each.name == "prims::device_put"]
    assert durations == [(MS, f"{NAME}:0 stream 0"), (MS, f"{NAME}:1 stream 0"), (0, "")]


@pytest.mark.no_pipeline(reason="the rows are those of single calls")
def test_a_composite_has_the_time_of_its_parts(x):
    with dc.profile(device=True) as found:
        x.sigmoid()
    rows = times(found)
    own = sum(own for own, _ in rows.values())
    assert max(total for _, total in rows.values()) == own
    assert own >= 5 * MS


def test_the_kernels_of_a_pipeline_have_it_by_their_stages(x):
    with dc.profile(device=True) as found, dc.pipeline():
        y = x.exp() + x
    assert y is not None
    stages = {event.name: event.device_duration for event in found.stages if event.kind == "impl"}
    assert stages == {"aten::exp": 5 * MS, "aten::add.Tensor": MS}
    assert set(times(found).values()) == {(0, 0)}


@pytest.mark.no_pipeline(reason="the rows are those of single calls")
def test_a_chrome_trace_has_a_lane_for_each_stream(x, tmp_path):
    stream = dc.Stream(NAME)
    with dc.profile(device=True) as found:
        x.exp()
        with stream:
            x.exp()
            x.exp()
    found.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    lanes = {each["tid"]: each["args"]["name"] for each in events if each["name"] == "thread_name"}
    on_device = [(lanes[each["tid"]], each["dur"]) for each in events if each.get("cat") == "device"]
    assert on_device == [(f"{NAME}:0 stream 0", 5000), (f"{NAME}:0 stream 1", 5000), (f"{NAME}:0 stream 1", 5000)]
    starts = [each["ts"] for each in events if each.get("cat") == "device"]
    assert starts[2] - starts[1] == pytest.approx(5000)


def test_devices_without_timed_events_take_none():
    with dc.profile(device=True) as found:
        t.ones(2).exp()
    assert set(times(found).values()) == {(0, 0)}


@pytest.mark.no_pipeline(reason="the rows are those of single calls")
def test_the_block_s_own_error_is_raised(x):
    with pytest.raises(KeyError), dc.profile(device=True):
        x.exp()
        raise KeyError


@pytest.mark.no_pipeline(reason="the rows are those of single calls")
def test_torch_s_profiler_has_it_by_its_activities(x):
    profiler = t.profiler
    activities = [profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.PrivateUse1]
    with profiler.profile(activities=activities) as found:
        x.exp()
    (event,) = found.key_averages()
    assert (event.device_time_total, event.self_device_time_total) == (5000.0, 5000.0)
    assert "Self Device" in found.key_averages().table()
