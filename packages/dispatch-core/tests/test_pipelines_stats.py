"""A pipeline's counts, and the progress of a long flush."""

from __future__ import annotations

import json

import pytest

import dispatch_core as dc
from dispatch_core.display import progress_reports as progress
from dispatch_pipelines.record import stats


@pytest.fixture
def ops(registry, library, toy, meta):
    made, shape = toy.array, meta.array
    library.define("add(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor")
    library.impl("add", lambda x, y, *, alpha: made(x.a + alpha * y.a), toy.key)
    library.impl("add", lambda x, y, *, alpha: shape(x.shape), meta.key)
    library.define("add_(Tensor(a!) x, Tensor y) -> Tensor(a!)")
    library.impl("add_", lambda x, y: (x.a.__iadd__(y.a), x)[1], toy.key)
    library.impl("add_", lambda x, y: x, meta.key)
    library.define("first(Tensor(a) x) -> Tensor(a)")
    library.impl("first", lambda x: made(x.a[:1]), toy.key)
    library.impl("first", lambda x: shape(x.shape[:1]), meta.key)
    library.define("nonzero(Tensor x) -> Tensor")
    library.impl("nonzero", lambda x: made(x.a[x.a != 0]), toy.key)
    library.define("item(Tensor x) -> Scalar")
    library.impl("item", lambda x: float(x.a.ravel()[0]), toy.key)
    return registry.ops.t


@pytest.fixture
def clock(monkeypatch):
    """A clock that only kernels move."""
    now = [0]
    monkeypatch.setattr(progress, "perf_counter_ns", lambda: now[0])
    return now


def test_recorded_dropped_and_executed_steps_are_counted(registry, ops, toy):
    x = toy.array([1, 2])
    with dc.pipeline(registry=registry) as pipe:
        kept = ops.add(x, x)
        ops.add(kept, x)
        before = pipe.stats()
    after = pipe.stats()
    assert (before.recorded, before.executed, before.dropped, before.flushes) == (2, 0, 0, 0)
    assert (after.recorded, after.executed, after.dropped, after.flushes) == (2, 1, 1, 1)
    assert after.impl_time > 0
    assert kept.result() == [2, 4]


def test_eager_calls_are_counted_by_operator_and_reason_and_host_reads_are_boundaries(registry, ops, toy):
    x = toy.array([1, 2])
    with dc.pipeline(registry=registry) as pipe:
        y = ops.add(x, x)
        assert ops.nonzero(y) == [2, 4]
        assert ops.item(ops.add(y, x)) == 3
        assert ops.add(y, x).result() == [3, 6]
    found = pipe.stats()
    assert found.eager == {("t::nonzero", "no shape rule"): 1}
    assert found.boundaries == {"t::item": 1, "result": 1}
    assert found.recorded_share == 3 / 4


def test_the_share_of_a_pipeline_without_calls_is_whole():
    assert stats.Stats().recorded_share == 1


def test_a_read_of_a_computed_value_is_no_boundary(registry, ops, toy):
    with dc.pipeline(registry=registry) as pipe:
        y = ops.add(toy.array([1]), toy.array([1]))
        y.result()
        y.result()
    y.result()
    assert pipe.stats().boundaries == {"result": 1}


def test_shape_rules_are_timed_where_the_pipeline_traces(registry, ops, toy):
    for trace in (None, False, True):
        with dc.pipeline(registry=registry, trace=trace) as pipe:
            ops.add(toy.array([1]), toy.array([1]))
        assert (pipe.stats().meta_time > 0) is (trace is True)


def test_stats_go_through_json_and_print_as_a_table(registry, ops, toy):
    with dc.pipeline(registry=registry) as pipe:
        y = ops.add(toy.array([1]), toy.array([1]))
        ops.nonzero(y)
        ops.item(y)
    found = json.loads(json.dumps(pipe.stats().as_dict()))
    assert found["eager"] == [{"operator": "t::nonzero", "reason": "no shape rule", "calls": 1}]
    assert found["boundaries"] == {"t::item": 1}
    assert (found["recorded"], found["recorded_share"]) == (1, 0.5)
    lines = str(pipe.stats()).splitlines()
    assert lines[0].split() == ["recorded", "1", "(50.0%", "of", "calls)"]
    assert "t::nonzero" in lines[-1] and lines[-1].endswith("1 (no shape rule)")
    assert repr(pipe.stats()) == "<Stats: 1 recorded, 1 executed, 0 dropped>"


def slow(library, toy, meta, clock, milliseconds):
    """Define an operator that takes its time."""

    def run(x):
        clock[0] += milliseconds * 1_000_000
        return toy.array(x.a + 1)

    library.define("slow(Tensor x) -> Tensor")
    library.impl("slow", run, toy.key)
    library.impl("slow", lambda x: meta.array(x.shape), meta.key)


def test_a_long_flush_is_reported_at_most_twenty_times_a_second_and_at_its_end(
    registry, library, ops, toy, meta, clock
):
    slow(library, toy, meta, clock, 20)
    told = []
    with dc.pipeline(registry=registry, progress=lambda done, total: told.append((done, total))):
        kept = [ops.slow(toy.array([n])) for n in range(10)]
    assert told == [(3, 10), (6, 10), (9, 10), (10, 10)]
    assert kept[9].result() == [10]


def test_a_short_flush_is_not_reported(registry, ops, toy, clock):
    told = []
    with dc.pipeline(registry=registry, progress=lambda done, total: told.append(done)):
        kept = ops.add(toy.array([1]), toy.array([1]))
    assert told == []
    assert kept.result() == [2]


def test_an_error_of_the_report_ends_the_flush_and_the_rest_stays_pending(registry, library, ops, toy, meta, clock):
    slow(library, toy, meta, clock, 60)
    fault = [ZeroDivisionError("stop")]

    def report(done, total):
        if fault:
            raise fault.pop()

    with dc.pipeline(registry=registry, progress=report) as pipe:
        first = ops.slow(toy.array([0]))
        second = ops.slow(first)
        ops.slow(second)
        with pytest.raises(ZeroDivisionError, match="stop"):
            pipe.flush()
        assert [repr(value).split()[0] for value in (first, second)] == ["<computed", "<pending"]
        assert (pipe.stats().executed, pipe.stats().dropped) == (1, 0)
        assert second.result() == [2]
    assert (pipe.stats().executed, pipe.stats().dropped) == (2, 1)


def test_an_error_of_the_report_at_the_end_of_the_block_leaves_values_that_can_be_read(
    registry, library, ops, toy, meta, clock
):
    slow(library, toy, meta, clock, 60)

    def report(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), dc.pipeline(registry=registry, progress=report):
        held = [ops.slow(toy.array([n])) for n in range(3)]
        last = ops.add(held[2], held[1])
    assert repr(last).startswith("<pending")
    clock[0] = 0
    library.impl("slow", lambda x: toy.array(x.a + 1), toy.key, allow_override=True)
    assert last.result() == [5]


def test_a_report_may_read_a_value_that_the_flush_has_not_come_to(registry, library, ops, toy, meta, clock):
    slow(library, toy, meta, clock, 60)
    read = []
    with dc.pipeline(registry=registry, progress=lambda done, total: read or read.append(held[3].result())) as pipe:
        held = [ops.slow(toy.array([n])) for n in range(4)]
    assert read == [[4]]
    assert [value.result().a.tolist() for value in held] == [[1], [2], [3], [4]]
    assert pipe.stats().executed == 4


def test_the_progress_option_must_be_callable():
    with pytest.raises(
        dc.ArgumentError, match="'progress' must be a bool, 'always', a function of two ints or None, not 3"
    ):
        dc.pipeline(progress=3)


class Key:
    """The key of a shape rule that goes by its arrays' layouts alone."""

    settings = ()

    def __init__(self):
        self.answers = {}

    def text(self, names):
        return ", ".join(names)

    def cache(self, ask):
        def learn(key, *values):
            assert key not in self.answers
            return self.answers.setdefault(key, ask(*values))

        return self.answers, learn


def test_answers_of_a_shape_rule_are_kept_under_its_key(registry, ops, toy, meta, library):
    def rule(x):
        return meta.array(x.shape)

    key = Key()
    rule.cache_key = lambda: key
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: toy.array(2 * x.a), toy.key)
    library.impl("twice", rule, meta.key)
    with dc.pipeline(registry=registry):
        found = [ops.twice(toy.array([number])) for number in range(3)]
        found.append(ops.twice(toy.array([1, 2])))
    assert [each.result() for each in found] == [[0], [2], [4], [2, 4]]
    assert len(key.answers) in (0, 2)  # an interpreted recorder keeps none


def test_the_attribute_remembers_of_a_shape_rule_is_deprecated(registry, ops, toy, meta, library):
    def rule(x):
        return meta.array(x.shape)

    rule.remembers = lambda: ([], False)
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: toy.array(2 * x.a), toy.key)
    library.impl("twice", rule, meta.key)
    with pytest.warns(DeprecationWarning, match="t::twice: .*cache_key"), dc.pipeline(registry=registry):
        found = ops.twice(toy.array([3]))
    assert found.result() == [6]
