"""Faults of earlier designs of pipelines, in the core's terms; masks of steps; layers around and inside a pipeline."""

from __future__ import annotations

import random

import pytest

import dispatch_core as dc
from dispatch_core.calls import call_trace
from dispatch_pipelines import Pending

PIPELINE = dc.DispatchKey.Pipeline


# The predecessors' defects.


def test_an_in_place_step_returns_the_same_tensor(work, numbers):
    tensor = work.tensor(1)
    with work.pipeline():
        assert work.ops.add_(tensor, work.tensor(1)) is tensor
    assert numbers(tensor) == [2]


def test_a_write_then_a_read_gives_the_new_value(work, numbers):
    tensor = work.tensor(1)
    with work.pipeline():
        work.ops.add_(tensor, work.tensor(1))
        assert work.ops.item(tensor) == 2
        work.ops.add_(tensor, work.tensor(1))
        assert numbers(tensor) == [3]
        doubled = work.ops.double(tensor)
        work.ops.add_(tensor, work.tensor(1))
    assert numbers(doubled) == [6]
    assert numbers(tensor) == [4]


def test_an_operator_without_a_shape_rule_runs_at_once_after_its_inputs(work):
    with work.pipeline() as pipe:
        first = work.ops.double(work.array(1))
        other = work.ops.double(work.array(5))
        assert work.ops.unruled(first) == [2]
        assert work.ran == ["double", "unruled"]
        assert pipe.stats().eager["t::unruled", "no shape rule"] == 1
    assert other.result() == [10]


def test_an_operator_that_returns_a_number_runs_only_required_steps(work):
    with work.pipeline():
        first = work.ops.double(work.array(1))
        other = work.ops.double(work.array(5))
        assert work.ops.item(first) == 2
        assert work.ran == ["double", "item"]
    assert other.result() == [10]


def test_a_failed_step_does_not_drop_those_behind_it(work):
    work.fail_with(ValueError("no"))
    with pytest.raises(ValueError, match="no"), work.pipeline():
        bad = work.ops.call(work.array(1))
        behind = [work.ops.double(work.array(number)) for number in range(3)]
    assert [each.result() for each in behind] == [[0], [2], [4]]
    assert "failed" in repr(bad)


def test_results_that_are_never_used_are_not_computed(work):
    with work.pipeline() as pipe:
        for _ in range(5):
            work.ops.double(work.array(1))
    assert work.ran == []
    assert pipe.stats().dropped == 5


def test_a_pending_value_knows_its_shape_dtype_and_device(work):
    with work.pipeline():
        value = work.ops.total(work.array(1, 2))
        other = work.ops.double(work.array(1, 2))
        assert (dc.shape(value), dc.dtype(value), dc.device(value)) == ((), "float64", dc.Device("toy"))
        assert (dc.shape(other), dc.strides(other)) == ((2,), (1,))
        assert work.ran == []


# Masks.


def state_of(work):
    """Register kernels of ``t::call`` and ``t::unruled`` that note the masks that hold in them."""
    seen = []
    work.hook = lambda array: seen.append((dc.apply_masks(0), dc.apply_masks(dc.DispatchKeySet.all())))
    return seen


def test_steps_with_lists_of_any_length_run_alone(registry, toy, meta, library):
    library.define("rows(Tensor x, Tensor y) -> (Tensor, Tensor[])")
    library.impl("rows", lambda x, y: (y, [toy.array(row) for row in x.a]), toy.key)
    library.impl("rows", lambda x, y: (meta.array(y.shape), [meta.array(x.shape[1:])] * x.shape[0]), meta.key)
    drawn = random.Random(5)
    for number in range(40):
        rows = [[drawn.randrange(9)] for _ in range(drawn.randrange(1, 2 + number // 8))]
        with dc.pipeline(registry=registry):
            first, parts = registry.ops.t.rows(toy.array(rows), toy.array([1, 2]))
            order = drawn.sample(range(len(rows)), len(rows))
            assert [parts[n].result().a.tolist() for n in order] == [rows[n] for n in order]
            assert first.result().a.tolist() == [1, 2]


def test_a_result_that_a_call_leaves_out_is_not_there(registry, toy, meta, library):
    library.define("pair(Tensor x, bool[2] output_mask) -> (Tensor, Tensor)")
    library.impl("pair", lambda x, output_mask: (toy.array(x.a), toy.array(x.a)), toy.key)
    library.impl("pair", lambda x, output_mask: (meta.array(x.shape), meta.array(x.shape)), meta.key)
    for mask in ([True, True], [True, False], [False, True]):
        with dc.pipeline(registry=registry):
            found = registry.ops.t.pair(toy.array([3]), mask)
            assert [None if each is None else each.result().a.tolist() for each in found] == [
                [3] if is_wanted else None for is_wanted in mask
            ]


def test_a_step_runs_under_the_masks_of_its_call(work):
    seen = state_of(work)
    with work.pipeline() as pipe:
        with dc.exclude_keys("AutogradToy"), dc.include_keys("PreDispatch"):
            masked = work.ops.call(work.array(1))
        plain = work.ops.call(work.array(1))
        with dc.include_keys("AutocastCPU"):
            pipe.flush()
    everything = dc.DispatchKeySet.all()
    assert seen == [
        (dc.DispatchKeySet("PreDispatch"), everything - dc.DispatchKey["AutogradToy"]),
        (dc.DispatchKeySet(), everything),
    ]
    assert masked is not plain


def test_eager_calls_run_under_their_own_masks(work):
    seen = state_of(work)
    with work.pipeline():
        with dc.exclude_keys("AutogradToy"):
            work.ops.unruled(work.array(1))
        session = dc.current_pipeline()
        assert dc.apply_masks(0) == dc.DispatchKeySet(PIPELINE)
        assert dc.current_pipeline() is session
    assert seen == [(dc.DispatchKeySet(), dc.DispatchKeySet.all() - dc.DispatchKey["AutogradToy"])]


def test_eager_calls_that_fail_leave_masks_and_pipeline_as_they_were(work):
    work.fail_with(ValueError("no"))
    with work.pipeline():
        session = dc.current_pipeline()
        with pytest.raises(ValueError, match="no"):
            work.ops.unruled(work.array(1))
        assert dc.current_pipeline() is session
        assert dc.apply_masks(0) == dc.DispatchKeySet(PIPELINE)
        kept = work.ops.double(work.array(1))
        assert isinstance(kept, Pending)
    assert kept.result() == [2]


def test_a_composite_runs_at_once_and_its_calls_are_recorded(work):
    ops = work.ops
    work.library.define("outer(Tensor x) -> Tensor")
    work.library.impl("outer", lambda x: ops.unruled(ops.inner(x)), "CompositeExplicitAutograd")
    work.library.define("inner(Tensor x) -> Tensor")
    work.library.impl("inner", lambda x: ops.double(ops.double(x)), "CompositeImplicitAutograd")
    with work.pipeline() as pipe:
        inner = ops.inner(work.array(1))
        assert (work.ran, pipe.stats().recorded) == ([], 2)
        outer = ops.outer(work.array(2))
        assert (work.ran, pipe.stats().recorded) == (["double", "double", "unruled"], 4)
        assert outer == [8]
        assert dict(pipe.stats().eager) == {("t::unruled", "no shape rule"): 1}
    assert inner.result() == [4]


def test_a_composite_that_is_reached_with_keys_masked_off_masks_them_for_its_calls(work):
    """Also where the inner calls run at once, and where they are recorded."""
    seen = state_of(work)
    ops = work.ops
    work.library.define("outer(Tensor x) -> Tensor")
    work.library.impl("outer", lambda x: ops.call(ops.unruled(x)), "CompositeExplicitAutograd")

    with work.pipeline(), dc.include_keys("PreDispatch"):
        keys = dc.DispatchKeySet([work.toy.key, PIPELINE])
        result = ops.outer.redispatch(keys, work.array(1))
        assert isinstance(result, Pending)
    assert result.result() == [1]
    inside = dc.DispatchKeySet.all() - dc.DispatchKey["PreDispatch"]
    assert [all_keys for _, all_keys in seen] == [inside, inside]


def test_a_call_with_the_pipeline_excluded_computes_at_once_with_pending_values(work):
    with work.pipeline():
        value = work.ops.double(work.array(1))
        with dc.exclude_keys("Pipeline"):
            assert work.ops.double(work.array(1)) == [2]
        assert isinstance(work.ops.double(value), Pending)


# Layers.


def test_a_profile_around_a_pipeline_counts_calls_and_not_runs(work):
    with dc.profile(registry=work.registry) as profile, work.pipeline():
        kept = work.ops.add(work.ops.double(work.array(1)), work.array(1))
        work.ops.item(kept)
    counts = {row.name: row.calls for row in profile.key_averages()}
    assert counts == {"t::double": 1, "t::add": 1, "t::item": 1}
    assert [event.shapes for event in profile.events] == [((1,),), ((1,), (1,)), ((1,),)]


def test_a_profile_inside_a_pipeline_sees_the_calls_of_kernels_as_without(work):
    """A kernel's own calls are profiled if its own call was, whenever it runs."""
    work.hook = lambda array: work.ops.double(array) and None
    with work.pipeline():
        with dc.profile(registry=work.registry) as profile:
            inside = work.ops.call(work.array(1))
            inside.result()
        outside = work.ops.call(work.array(1))
        with dc.profile(registry=work.registry) as other:
            outside.result()
    assert [event.name for event in profile.events] == ["t::call", "t::double"]
    assert other.events == []


def test_a_trace_around_a_pipeline_records_each_call_once_and_can_be_replayed(work):
    work.hook = lambda array: work.ops.double(array) and None
    with dc.trace(registry=work.registry) as trace, work.pipeline() as pipe:
        one = work.ops.call(work.array(3))
        two = work.ops.add(one, one)
        pipe.flush()
        work.ops.double(two)
    assert str(trace) == (
        "graph(%0):\n    %1 = t::call(%0)\n    %2 = t::add(%1, %1)\n    %3 = t::double(%2)\n    return %3"
    )
    assert trace.replay(work.array(1)) == [4]
    with work.pipeline():
        again = trace.replay(work.array(2))
        assert isinstance(again, Pending)
    assert again.result() == [8]


def test_dispatch_trace_shows_the_recording_and_the_run(work, monkeypatch, capsys):
    monkeypatch.setattr(call_trace.TRACE, "_on", True)
    with work.pipeline():
        kept = work.ops.double(work.array(1))
        lines = capsys.readouterr().err.splitlines()
        assert [line.split(" -> ")[1].split(",")[0] for line in lines if line.startswith("t::double")] == ["Pipeline"]
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" -> ")[1].split(",")[0] for line in lines] == ["Toy"]
    assert kept.result() == [2]
