"""The profiler under torch's names: schedules, regions, tables and traces."""

import gzip
import json
import warnings

import pytest
from markup import read_fragment

import torchlike as torch
from torchlike.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule


def work():
    x = torch.ones(4, 4, requires_grad=True)
    (x @ x).sum().backward()


def test_calls_and_regions_are_averaged_under_torchs_names():
    prof = profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True)
    with prof, record_function("step <1>"):
        work()
    events = {event.key: event for event in prof.key_averages()}
    assert events["aten::mm"].count == 3
    assert events["aten::mm"].cpu_memory_usage == 3 * 64
    assert events["step <1>"].is_user_annotation
    assert events["step <1>"].cpu_time_total >= events["aten::mm"].cpu_time_total > 0
    assert events["aten::mm"].cpu_time == events["aten::mm"].cpu_time_total / 3
    assert events["aten::mm"].device_time_total == 0
    whole = sum(event.self_cpu_time_total for event in events.values())
    assert prof.key_averages().self_cpu_time_total == pytest.approx(whole)
    assert prof.key_averages().total_average().count == sum(event.count for event in events.values())
    assert next(event.key for event in prof.events()) == "step <1>"
    grouped = prof.key_averages(group_by_input_shape=True)
    assert any(event.key == "aten::mm" and event.input_shapes == [[4, 4], [4, 4]] for event in grouped)
    named = prof.key_averages(group_by_overload_name=True)
    assert {event.key for event in named} == set(events)


def test_a_profile_prints_its_table_and_answers_as_torchs_older_one():
    with profile() as prof:
        work()
    assert str(prof) == str(prof.key_averages())
    assert [event.key for event in prof.function_events] == [event.key for event in prof.events()]
    assert prof.table(sort_by="cpu_time", row_limit=1) == prof.events().table(sort_by="cpu_time", row_limit=1)
    assert prof.self_cpu_time_total == prof.events().self_cpu_time_total > 0
    assert prof.total_average().count == len(prof.events())


def test_the_table_has_torchs_columns_and_sorts_by_attributes():
    with profile(profile_memory=True) as prof:
        work()
    text = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=3, header="steps")
    lines = text.splitlines()
    assert lines[0] == "steps"
    for title in ("Name", "Self CPU %", "CPU total", "CPU time avg", "CPU Mem", "# of Calls"):
        assert title in lines[1]
    assert len(lines) == 7
    assert lines[-1].startswith("Self CPU time total: ")
    times = [event.self_cpu_time_total for event in prof.key_averages()]
    first = prof.key_averages()[times.index(max(times))].key
    assert lines[3].startswith(first)
    assert len(prof.key_averages().table(row_limit=-1).splitlines()) == len(times) + 3
    assert " us" in prof.key_averages().table(time_unit="us")
    assert str(prof.key_averages()) == prof.key_averages().table()
    assert "Mem" not in record(work).key_averages().table()
    tops = prof.key_averages().table(top_level_events_only=True)
    assert "aten::mm" in tops
    assert read_fragment(prof.key_averages()._repr_html_()).rows[0][0] == "Name"


def record(function):
    with profile() as prof:
        function()
    return prof


def test_unknown_columns_and_units_are_refused():
    events = record(work).key_averages()
    with pytest.raises(AttributeError, match="no attribute 'speed'"):
        events.table(sort_by="speed")
    with pytest.raises(ValueError, match="time_unit must be one of s, ms, us, not 'ns'"):
        events.table(time_unit="ns")
    events.table(sort_by="cuda_time_total")


def test_a_schedule_is_torchs():
    """As torch 2.13 answers."""
    each = schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)
    assert [each(step).value for step in range(7)] == [0, 0, 1, 2, 3, 0, 0]
    each = schedule(wait=2, warmup=0, active=1, skip_first_wait=1)
    assert [each(step).value for step in range(6)] == [3, 0, 0, 3, 0, 0]
    with pytest.raises(AssertionError, match=r"Got wait=-1 \(need >= 0\)"):
        schedule(wait=-1, warmup=0, active=1)
    with pytest.raises(AssertionError, match=r"active=0 \(need > 0\)"):
        schedule(wait=0, warmup=0, active=0)


def test_a_scheduled_profile_records_its_steps_and_hands_each_part_over():
    parts = []

    def keep(prof):
        parts.append([event.key for event in prof.events() if event.is_user_annotation])

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=keep) as prof:
        for _ in range(9):
            torch.ones(2)
            prof.step()
    assert parts == [["ProfilerStep#2", "ProfilerStep#3"], ["ProfilerStep#6", "ProfilerStep#7"]]
    assert prof.step_num == 9
    assert prof.current_action is ProfilerAction.NONE


def test_start_and_stop_do_without_a_block():
    ready = []
    prof = profile(on_trace_ready=ready.append)
    prof.start()
    torch.ones(2)
    prof.stop()
    torch.zeros(2)
    assert [event.key for event in prof.key_averages()] == ["aten::ones"]
    assert ready == [prof]


def test_nothing_recorded_is_an_error():
    prof = profile()
    with pytest.raises(AssertionError, match="Profiler must be initialized before getting key averages"):
        prof.key_averages()
    assert repr(prof) == str(prof) == "<profile: nothing recorded>"
    assert prof._repr_html_() is None


def test_traces_are_written_plain_compressed_and_into_a_folder(tmp_path):
    prof = record(work)
    prof.export_chrome_trace(tmp_path / "a.json")
    prof.export_chrome_trace(str(tmp_path / "a.json.gz"))
    plain = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    with gzip.open(tmp_path / "a.json.gz", "rt", encoding="utf-8") as file:
        assert json.load(file) == plain
    assert "aten::mm" in {event["name"] for event in plain["traceEvents"]}
    for is_compressed in (False, True):
        write = torch.profiler.tensorboard_trace_handler(str(tmp_path / "log"), "worker", use_gzip=is_compressed)
        write(prof)
    names = sorted(path.name for path in (tmp_path / "log").iterdir())
    assert [name.startswith("worker.") for name in names] == [True, True]
    assert sorted(name.rpartition(".pt.trace")[2] for name in names) == [".json", ".json.gz"]


def test_a_region_is_a_decorator_and_costs_nothing_without_a_profile():
    @record_function("named")
    def run():
        return torch.ones(2).sum()

    run()
    with profile() as prof:
        run()
        run()
    assert {event.key: event.count for event in prof.key_averages()}["named"] == 2


def test_things_that_are_not_recorded_are_said():
    with pytest.warns(UserWarning, match="with_stack is not recorded"):
        profile(with_stack=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        profile(activities=torch.profiler.supported_activities())
    with pytest.raises(TypeError, match="activities are ProfilerActivity, not str"):
        profile(activities=["cpu"])
    assert not torch.profiler.kineto_available()


def test_stages_of_a_pipeline_are_among_the_events():
    with profile() as prof, torch.pipeline():
        (torch.ones(3) + 1).sum().item()
    assert any(event.key.startswith("impl: aten::") for event in prof.key_averages())
    assert any(event.key == "flush: read" for event in prof.events())


def test_a_profile_that_records_is_known_and_can_be_ended():
    from torchlike import profiler

    assert not profiler._profiler_enabled()
    with profiler.profile() as outer:
        assert profiler._profiler_enabled()
        torch.ones(2).sum()
    assert not profiler._profiler_enabled()
    left = profiler.profile()
    left.start()
    profiler._disable_profiler()
    profiler._disable_profiler()
    assert not profiler._profiler_enabled() and any(each.key == "aten::sum" for each in outer.key_averages())
