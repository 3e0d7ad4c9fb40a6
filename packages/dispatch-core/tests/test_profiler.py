"""The Profiler layer: its records, how deep they go, and that nothing changes for the calls themselves."""

from __future__ import annotations

import contextvars
import re
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
    assert re.split("  +", lines[0]) == [
        "operator",
        *("own time", "own %", "total time", "total %", "calls", "per call", "own memory", "memory", "keys"),
    ]
    assert [line.split()[0] for line in lines[2:]] == ["t::twice", "t::leaf"]
    assert p.table(sort_by="calls").splitlines()[2].split()[0] == "t::leaf"
    assert p.table(row_limit=1, sort_by="mean").splitlines()[3:] == ["and 1 more row"]
    assert len(p.table(row_limit=0).splitlines()) == 3
    assert str(p) == p.table()
    with pytest.raises(dc.ArgumentError, match=r"profile\.table: no column is named 'name'\nHint: .*self_total"):
        p.table(sort_by="name")


@pytest.mark.parametrize("limit", [-1, 2.5, "all", True])
def test_the_table_refuses_limits_that_are_no_numbers_of_rows(limit):
    with pytest.raises(dc.ArgumentError, match="row_limit must be an int from 0 up or None"):
        dc.profile(registry=dc.Registry()).table(row_limit=limit)


def test_own_times_come_first_and_add_up_to_the_whole(registry, operators, toy):
    with dc.profile(registry=registry) as p, dc.profile.region("all"):
        for _ in range(5):
            operators.twice(toy.array([1]))
    rows = [re.split("  +", line) for line in p.table().splitlines()[2:]]
    shares = [float(row[2].removesuffix(" %")) for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(100, abs=0.2)
    assert {row[0] for row in rows} == {"t::twice", "t::leaf", "all"}
    assert next(row[4] for row in rows if row[0] == "all") == "100.0 %"


def test_a_region_without_a_profile_does_nothing_and_its_name_is_a_string():
    with dc.profile.region("nothing"):
        pass
    with pytest.raises(dc.ArgumentError, match="the name must be a string, not int"), dc.profile.region(3):
        pass


def test_the_memory_of_new_results_is_counted_once(registry, operators, library, toy):
    library.define("same(Tensor(a!) x) -> Tensor(a!)")
    library.impl("same", lambda x: x, toy.key)
    library.define("part(Tensor(a) x) -> Tensor(a)")
    library.impl("part", lambda x: toy.array(x.a), toy.key)
    with dc.profile(registry=registry) as p:
        operators.twice(toy.array([1, 2, 3]))
        operators.same(toy.array([1]))
        operators.part(toy.array([1]))
    size = p.events[1].memory
    assert size >= 3
    assert [(event.name, event.memory, event.self_memory) for event in p.events] == [
        ("t::twice", 2 * size, 0),
        ("t::leaf", size, size),
        ("t::leaf", size, size),
        ("t::same", 0, 0),
        ("t::part", 0, 0),
    ]
    with dc.profile(registry=registry, profile_memory=False) as p:
        operators.twice(toy.array([1, 2, 3]))
    assert {event.memory for event in p.events} == {0}


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


def test_the_stages_of_a_pipeline_are_recorded_with_the_calls_that_they_run(recorded):
    assert [event.name for event in recorded.events] == ["t::add"] * 3
    stages = [(event.kind, event.name) for event in recorded.stages]
    for expected in (("meta", "t::add"), ("flush", "read"), ("flush", "flush"), ("plan", "find"), ("plan", "make")):
        assert expected in stages
    runs = [event for event in recorded.stages if event.kind == "impl"]
    assert [event.name for event in runs] == ["t::add"] * 3
    assert [event.recorded for event in runs] == [(event,) for event in recorded.events]
    flush = next(event for event in recorded.stages if event.name == "flush")
    inside = [each for each in recorded.stages if flush.start < each.start < flush.start + flush.duration]
    assert all(each.depth > flush.depth for each in inside)
    assert flush.children <= flush.duration
    assert "impl: t::add" in recorded.table()


def test_without_a_profile_no_stage_is_kept(registry, recorded, toy):
    before = len(recorded.stages)
    with dc.pipeline(registry=registry):
        registry.ops.t.add(toy.array([1]), toy.array([2])).result()
    assert len(recorded.stages) == before


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
    assert sorted(line.split()[-2:] for line in lines[2:]) == [["Rival", "[1]"], ["Toy", "[1]"], ["[1,", "2]"]]


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
