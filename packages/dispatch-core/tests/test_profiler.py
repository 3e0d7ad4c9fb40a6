"""The Profiler layer: its records, how deep they go, and that nothing changes for the calls themselves."""

from __future__ import annotations

import contextvars
import json
import os
import threading

import pytest

import dispatch_core as dc
from dispatch_core import DispatchKey


@pytest.fixture
def operators(registry, library, toy):
    library.define("leaf(Tensor x, *, Tensor? y=None) -> Tensor")
    library.define("twice(Tensor x) -> Tensor")
    library.define("fails(Tensor x) -> Tensor")
    library.impl("leaf", lambda x, *, y: type(x)(x.a + 1), toy.key)
    library.impl("twice", lambda x: registry.ops.t.leaf(registry.ops.t.leaf(x)))
    library.impl("fails", lambda x: 1 / 0, toy.key)
    return registry.ops.t


def names(profile):
    return [(event.name, event.depth) for event in profile.events]


def test_calls_are_recorded_with_those_inside_them(registry, operators, toy):
    with dc.profile(registry=registry) as p:
        assert operators.twice(toy.array([1])) == [3]
        operators.leaf(toy.array([1]))
    assert names(p) == [("t::twice", 0), ("t::leaf", 1), ("t::leaf", 1), ("t::leaf", 0)]
    assert [(row.name, row.calls) for row in p.key_averages()] == [("t::leaf", 3), ("t::twice", 1)]


def test_nothing_is_recorded_outside_the_block(registry, operators, toy):
    with dc.profile(registry=registry) as p:
        pass
    operators.leaf(toy.array([1]))
    assert p.events == []
    assert dc.keys.context.current() is None


def test_times_shapes_keys_and_threads_are_kept(registry, operators, toy):
    with dc.profile(registry=registry) as p:
        operators.twice(toy.array([[1, 2]]))
        operators.leaf(toy.array([1]), y=toy.array([[3]]))
    twice, first, second, last = p.events
    assert twice.shapes == ((1, 2),)
    assert last.shapes == ((1,), (1, 1))
    assert toy.key in twice.keys
    assert DispatchKey.Profiler not in twice.keys
    assert twice.thread == threading.get_ident()
    assert twice.children == first.duration + second.duration
    assert 0 < twice.self_duration == twice.duration - twice.children
    assert p.key_averages()[0].keys == {"Toy"}


def test_shapes_can_be_left_out(registry, operators, toy):
    with dc.profile(registry=registry, record_shapes=False) as p:
        operators.leaf(toy.array([1]))
    assert p.events[0].shapes == ()


def test_tensors_of_a_frontend_pass_through(registry, operators, toy, tensors):
    with dc.profile(registry=registry) as p:
        made = operators.twice(tensors.wrap(toy.array([1, 2])))
    assert isinstance(made, tensors.tensor_type)
    assert made._dispatch_data == [3, 4]
    assert p.events[0].shapes == ((2,),)


def test_a_call_that_fails_is_recorded_and_its_error_comes_out(registry, operators, toy):
    with dc.profile(registry=registry) as p:
        with pytest.raises(ZeroDivisionError):
            operators.fails(toy.array([1]))
        operators.leaf(toy.array([1]))
    assert names(p) == [("t::fails", 0), ("t::leaf", 0)]
    assert p.events[0].duration > 0


def test_redispatched_composites_record_their_inner_calls(registry, operators, toy, tensors):
    """Profiler alone survives the exclusion of the masked keys."""
    tensor = tensors.wrap(toy.array([1]))
    tensor._dispatch_mask |= DispatchKey.AutogradToy
    with dc.profile(registry=registry) as p:
        registry.redispatch("t::twice", [toy.key, "Profiler"], tensor)
    assert names(p) == [("t::twice", 0), ("t::leaf", 1), ("t::leaf", 1)]
    assert all("AutogradToy" not in {key.name for key in event.keys} for event in p.events[1:])


def test_blocks_nest_and_the_outer_one_goes_on(registry, operators, toy):
    with dc.profile(registry=registry) as outer:
        with dc.profile(registry=registry) as inner:
            operators.leaf(toy.array([1]))
        operators.twice(toy.array([1]))
    assert names(inner) == [("t::leaf", 0)]
    assert names(outer)[-3:] == [("t::twice", 0), ("t::leaf", 1), ("t::leaf", 1)]


def test_other_threads_are_not_recorded(registry, operators, toy):
    with dc.profile(registry=registry) as p:
        thread = threading.Thread(target=lambda: operators.leaf(toy.array([1])))
        thread.start()
        thread.join()
    assert p.events == []


def test_an_operator_may_opt_out(registry, operators, toy):
    registry.register_fallthrough("t::leaf", "Profiler")
    with dc.profile(registry=registry) as p:
        operators.twice(toy.array([1]))
    assert names(p) == [("t::twice", 0)]


def test_the_table_sorts_by_a_column(registry, operators, toy):
    with dc.profile(registry=registry) as p:
        operators.twice(toy.array([1]))
    lines = p.table(sort_by="total").splitlines()
    assert lines[0].split() == ["operator", "calls", "total", "ms", "self", "ms", "keys"]
    assert [line.split()[0] for line in lines[1:]] == ["t::twice", "t::leaf"]
    assert p.table().splitlines()[1].split()[:2] == ["t::leaf", "2"]
    assert len(p.table(row_limit=1).splitlines()) == 2
    with pytest.raises(dc.ArgumentError, match=r"profile\.table: no column is named 'name'"):
        p.table(sort_by="name")


def test_an_empty_table_has_its_head():
    assert dc.profile(registry=dc.Registry()).table().startswith("operator")


def test_calls_can_be_grouped_by_shapes_and_by_keys(registry, operators, library, toy, make_backend):
    other = make_backend("rival")
    library.impl("leaf", lambda x, *, y: x, other.key)
    with dc.profile(registry=registry) as p:
        for array in (toy.array([1]), toy.array([1]), toy.array([[1, 2]]), other.array([1])):
            operators.leaf(array)
    rows = p.key_averages(group_by_input_shape=True)
    assert [(row.calls, row.shapes, row.keys) for row in rows] == [
        (3, ((1,),), {"Toy", "Rival"}),
        (1, ((1, 2),), {"Toy"}),
    ]
    rows = p.key_averages(group_by_key=True)
    assert [(row.calls, row.shapes, row.keys) for row in rows] == [(3, None, {"Toy"}), (1, None, {"Rival"})]
    assert sum(row.total for row in rows) == p.key_averages()[0].total
    lines = p.table(group_by_input_shape=True, group_by_key=True).splitlines()
    assert lines[0].endswith("keys   input shapes")
    assert [line.split()[-2:] for line in lines[1:]] == [["Toy", "[1]"], ["Rival", "[1]"], ["[1,", "2]"]]


def test_a_thread_that_copies_the_context_has_calls_of_its_own(registry, operators, library, toy):
    """As ``asyncio.to_thread`` does: its calls are recorded, and are no children of those in the first thread."""
    context = []

    def kernel(x):
        thread = threading.Thread(target=context.pop().run, args=(operators.leaf, x))
        thread.start()
        thread.join()
        return x

    library.define("spawns(Tensor x) -> Tensor")
    library.impl("spawns", kernel, toy.key)
    with dc.profile(registry=registry) as p:
        context.append(contextvars.copy_context())
        operators.spawns(toy.array([1]))
    assert names(p) == [("t::spawns", 0), ("t::leaf", 0)]
    assert p.events[0].children == 0
    assert p.events[0].thread != p.events[1].thread


def test_a_context_that_outlives_the_block_records_nothing(registry, operators, toy):
    with dc.profile(registry=registry) as p:
        context = contextvars.copy_context()
    context.run(operators.leaf, toy.array([1]))
    assert p.events == []


def test_calls_of_another_registry_are_not_recorded(registry, operators, toy):
    with dc.profile(registry=registry) as first:
        pass
    with dc.profile(registry=dc.Registry()) as second:
        operators.leaf(toy.array([1]))
    assert first.events == second.events == []


def test_the_chrome_trace_is_json_with_complete_events(registry, operators, toy, tmp_path):
    with dc.profile(registry=registry) as p:
        operators.twice(toy.array([[1, 2]]))
    p.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    assert trace["displayTimeUnit"] in ("ms", "ns")
    thread, *events = trace["traceEvents"]
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
    assert events[0]["args"] == {"keys": ["Toy"], "input shapes": [[1, 2]]}


def test_the_events_of_a_chrome_trace_nest(registry, operators, toy, tmp_path):
    """Perfetto makes a tree of complete events from their times alone: two on a thread nest, or lie apart."""
    with dc.profile(registry=registry) as p:
        for _ in range(20):
            operators.twice(toy.array([1]))
    p.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"][1:]
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
        thread = threading.Thread(target=context.run, args=(operators.leaf, toy.array([1])))
        thread.start()
        thread.join()
    p.export_chrome_trace(tmp_path / "trace.json")
    first, second, *events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    assert [first["tid"], second["tid"], *(event["tid"] for event in events)] == [1, 2, 1, 2]
    assert second["args"]["name"].startswith("thread ")
