"""Blocks of a pipeline: options, nesting, re-entering, and blocks that end elsewhere than they began."""

from __future__ import annotations

import _thread
import asyncio
import contextvars
import copy
import gc
import pickle
import signal
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_core import forks
from dispatch_core.interrupts import by_subscript

UNMASKED = dc.DispatchKeySet()


# Options.


@pytest.mark.parametrize("name", ["max_op", "Fuse", "max_wait_us", ""])
def test_an_unknown_option_is_refused_with_those_that_exist(name):
    with pytest.raises(dc.ArgumentError) as caught:
        dc.pipeline(**{name: 1})
    assert f"unexpected option {name!r}" in str(caught.value)
    options = str(caught.value).rpartition("Hint: it takes ")[2].split(", ")
    assert options == sorted(options)
    assert {"fuse", "max_bytes", "max_ops", "progress", "trace"} < set(options)


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("max_ops", ["x", 0, -1, 1.0, True, np.True_, np.float32(2), [1]], "a positive int"),
        ("max_bytes", ["x", 0, -1, 1.0, False], "a positive int"),
        ("fuse", [1, 0, "yes", np.True_], "a bool"),
        ("trace", [1, "stderr"], "a bool"),
        ("progress", [1, "print"], "a bool, 'always', a function of two ints"),
        ("registry", [1, dc.Registry], "a Registry"),
    ],
)
def test_an_ill_typed_option_is_refused(name, values, words):
    for value in values:
        with pytest.raises(dc.ArgumentError) as caught:
            dc.pipeline(**{name: value})
        assert str(caught.value) == f"pipeline(): option {name!r} must be {words} or None, not {value!r}"


def test_none_is_the_default_and_integers_of_numpy_are_integers(work):
    with work.pipeline(max_ops=None, max_bytes=None, fuse=None, trace=None, progress=None):
        kept = work.ops.double(work.array(1))
        assert work.ran == []
    with work.pipeline(max_ops=np.int64(2)):
        kept = [work.ops.double(work.array(1)) for _ in range(3)]
        assert work.ran == ["double"] * 3
    assert kept


def test_the_step_that_reaches_max_ops_is_run_with_the_others(work):
    with work.pipeline(max_ops=3) as pipe:
        kept = [work.ops.double(work.array(1)) for _ in range(2)]
        assert work.ran == []
        kept.append(work.ops.double(work.array(1)))
        assert work.ran == ["double"] * 3
        kept.append(work.ops.double(work.array(1)))
        assert pipe.stats().flushes == 1
    assert len(work.ran) == 4


def test_max_ops_counts_waiting_steps(work):
    """Steps that were run for a value in between no longer wait."""
    with work.pipeline(max_ops=3):
        first = work.ops.double(work.array(1))
        second = work.ops.double(first)
        assert second.result() == [4]
        third = work.ops.double(second)
        fourth = work.ops.double(third)
        assert work.ran == ["double"] * 2
        fifth = work.ops.double(fourth)
        assert work.ran == ["double"] * 5
    assert fifth


def test_max_bytes_counts_the_sum_of_the_results(work):
    """The predecessors compared the last result alone."""
    with work.pipeline(max_bytes=10):
        kept = [work.ops.double(work.array(1, 2, 3)) for _ in range(3)]
        # The private arrays' dtypes have no size, and count as one byte an element.
        assert work.ran == []
        kept.append(work.ops.both(work.array(1)))
        assert work.ran == ["double"] * 3 + ["both"]
        kept.append(work.ops.double(work.array(*range(9))))
        assert len(work.ran) == 4
        kept.append(work.ops.add_(work.tensor(1), work.tensor(2)))
        assert len(work.ran) == 4
    assert len(work.ran) == 6


def test_an_error_at_a_limit_is_raised_by_the_call_that_reaches_it(work):
    work.fail_with(ValueError("no"))
    with work.pipeline(max_ops=2):
        bad = work.ops.call(work.array(1))
        with pytest.raises(ValueError, match="no"):
            work.ops.double(work.array(1))
        good = work.ops.double(work.array(1))
    assert good.result() == [2]
    assert bad


def test_trace_prints_each_step_as_it_runs(work, capsys):
    with work.pipeline(trace=True):
        first = work.ops.double(work.array(1, 2))
        second = work.ops.add(first, first)
        assert capsys.readouterr().err == ""
        first.result()
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"pipeline: t::double(float64[2]), {__file__}:")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("pipeline: t::add(float64[2], float64[2]), ")
    assert second


def test_progress_may_call_operators_read_values_and_raise(work):
    seen = []

    def progress(done, total):
        seen.append((done, total))
        # Neither is recorded: nothing is while steps run.
        assert work.ops.double(work.array(4)) == [8]
        assert kept[2].result() == [1]
        assert pipe.stats().recorded == 6
        if len(seen) == 2:
            raise LookupError("enough")

    work.hook = lambda array: time.sleep(0.06)
    with work.pipeline(progress=progress) as pipe:
        kept = [work.ops.call(work.array(1))]
        for _ in range(5):
            kept.append(work.ops.call(kept[-1]))
        with pytest.raises(LookupError):
            pipe.flush()
        # The first report has itself run the two steps that it needed.
        assert seen == [(1, 6), (4, 6)]
        assert "pending" in repr(kept[4])
        work.hook = lambda array: None
    assert kept[5].result() == [1]
    assert work.ran.count("call") == 6


# Handles.


def test_a_block_may_be_entered_again_inside_itself(work):
    pipe = work.pipeline()
    with pipe:
        session = dc.current_pipeline()
        with pipe as inner:
            assert inner is pipe
            assert dc.current_pipeline() is session
            first = work.ops.double(work.array(1))
        assert work.ran == ["double"]
        assert dc.current_pipeline() is session
        second = work.ops.double(first)
        assert work.ran == ["double"]
    assert work.ran == ["double"] * 2
    assert dc.current_pipeline() is None
    assert second


def test_a_handle_may_be_used_again_and_flushed_after_its_block(work):
    pipe = work.pipeline()
    pipe.flush()
    for rounds in (1, 2):
        with pipe:
            kept = work.ops.double(work.array(1))
        assert kept.result() == [2]
        assert pipe.stats().recorded == rounds
        pipe.flush()
    assert dc.current_pipeline() is None
    assert dc.apply_masks(0) == UNMASKED


def test_leaving_a_block_that_was_not_entered_is_refused(work):
    pipe = work.pipeline()
    with pytest.raises(dc.DispatchError, match="ended already"):
        pipe.__exit__(None, None, None)
    with pipe:
        pass
    with pytest.raises(dc.DispatchError, match="ended already"):
        pipe.__exit__(None, None, None)


def test_blocks_may_end_in_any_order(work):
    first, second = work.pipeline(), work.pipeline()
    first.__enter__()
    one = work.ops.double(work.array(1))
    second.__enter__()
    two = work.ops.double(work.array(2))
    first.__exit__(None, None, None)
    assert (one.result(), work.ran) == ([2], ["double"])
    three = work.ops.double(one)
    assert second.stats().recorded == 2
    second.__exit__(None, None, None)
    assert (two.result(), three.result()) == ([4], [4])
    assert dc.current_pipeline() is None
    assert dc.apply_masks(0) == UNMASKED


def test_a_handle_entered_again_inside_its_own_block_does_not_deadlock(work):
    first, second = work.pipeline(), work.pipeline()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    with first:
        kept = work.ops.double(work.array(1))
        kept.result()
    second.__exit__(None, None, None)
    assert dc.current_pipeline() is None


def test_a_block_that_another_thread_closes_is_closed(work):
    pipe = work.pipeline()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(pipe.__enter__).result()
        pending = pool.submit(lambda: work.ops.double(work.array(1))).result()
        pipe.__exit__(None, None, None)
        assert pending.result() == [2]
        assert pool.submit(dc.current_pipeline).result() is None
        # Nothing is recorded there any more.
        assert isinstance(pool.submit(lambda: work.ops.double(work.array(1))).result(), work.toy.array)
    assert dc.current_pipeline() is None


def test_a_block_that_another_context_closes_is_closed(work):
    pipe = work.pipeline()
    context = contextvars.copy_context()
    context.run(pipe.__enter__)
    pending = context.run(lambda: work.ops.double(work.array(1)))
    with work.pipeline():
        mine = dc.current_pipeline()
        pipe.__exit__(None, None, None)
        assert dc.current_pipeline() is mine
    assert pending.result() == [2]
    assert context.run(dc.current_pipeline) is None


def test_an_outer_block_in_another_context_goes_on(work):
    with work.pipeline():
        outer = dc.current_pipeline()
        context = contextvars.copy_context()
        with work.pipeline():
            inside = contextvars.copy_context()
        assert context.run(dc.current_pipeline) is outer
        assert inside.run(dc.current_pipeline) is outer
    assert inside.run(dc.current_pipeline) is None


def test_one_handle_serves_two_threads_at_once(work):
    """Each ends its own block, in whatever order."""
    pipe, entered, left = work.pipeline(), threading.Barrier(2), threading.Event()

    def worker(first):
        with pipe:
            entered.wait(10)
            kept = work.ops.double(work.array(1))
            if not first:
                assert left.wait(10)
                assert dc.current_pipeline() is not None
        assert dc.current_pipeline() is None
        assert dc.apply_masks(0) == UNMASKED
        left.set()
        return kept.result()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(worker, [True, False])) == [[2], [2]]


def test_a_generator_may_be_suspended_inside_a_block(work):
    def steps():
        with work.pipeline():
            yield work.ops.double(work.array(1))
            yield work.ops.double(work.array(2))

    both = steps(), steps()
    one, two = next(both[0]), next(both[1])
    both[0].close()
    assert (one.result(), two.result()) == ([2], [2])
    three = next(both[1])
    assert list(both[1]) == []
    assert three.result() == [4]
    assert dc.current_pipeline() is None
    assert dc.apply_masks(0) == UNMASKED


def test_a_generator_that_is_collected_closes_its_block(work):
    def steps():
        with work.pipeline():
            yield work.ops.double(work.array(1))

    suspended = steps()
    kept = next(suspended)
    del suspended
    gc.collect()
    assert work.ran == ["double"]
    assert dc.current_pipeline() is None
    assert kept.result() == [2]


def test_blocks_in_a_stack_end_when_it_does(work):
    with pytest.raises(KeyError), ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(work.pipeline())
        kept = work.ops.double(work.array(1))
        raise KeyError
    assert kept.result() == [2]
    assert dc.apply_masks(0) == UNMASKED


# Nesting.


def test_an_inner_pipeline_uses_outer_values_and_the_outer_inner_ones(work):
    with work.pipeline() as outer:
        one = work.ops.double(work.array(1))
        with work.pipeline() as inner:
            two = work.ops.double(one)
            assert work.ran == ["double"]
            three = work.ops.double(two)
        assert work.ran == ["double"] * 3
        four = work.ops.double(three)
        assert work.ran == ["double"] * 3
    assert [each.result() for each in (one, two, three, four)] == [[2], [4], [8], [16]]
    assert (outer.stats().recorded, inner.stats().recorded) == (2, 2)


@pytest.mark.parametrize("read", [lambda work, x: work.ops.item(x), lambda work, x: work.ops.double(x)])
def test_writes_of_the_outer_pipeline_are_seen_by_the_inner_one_and_back(work, numbers, read):
    tensor = work.tensor(1)
    with work.pipeline():
        value = work.ops.double(tensor)
        work.ops.add_(tensor, work.tensor(1))
        work.ops.add_(value, work.tensor(1))
        with work.pipeline():
            found = [read(work, tensor), read(work, value)]
            work.ops.add_(tensor, work.tensor(10))
            work.ops.add_(value, work.tensor(10))
            found += [read(work, tensor), read(work, value)]
        work.ops.add_(value, work.tensor(100))
        found += [read(work, tensor), read(work, value)]
    found = [each if isinstance(each, float) else numbers(each)[0] / 2 for each in found]
    assert found == [2, 3, 12, 13, 12, 113]


def test_the_inner_block_does_not_run_the_outer_ones_steps(work):
    with work.pipeline():
        kept = work.ops.double(work.array(1))
        with work.pipeline():
            pass
        assert work.ran == []
    assert kept.result() == [2]


# Tasks.


def test_tasks_record_into_the_block_around_them_and_not_into_each_others(work):
    async def inner(value):
        with work.pipeline() as pipe:
            kept = work.ops.double(work.array(value))
            await asyncio.sleep(0)
            assert pipe.stats().recorded == 1
            return kept

    async def plain():
        return work.ops.double(work.array(5))

    async def main():
        with work.pipeline() as pipe:
            found = await asyncio.gather(inner(1), plain(), inner(2), plain())
            assert pipe.stats().recorded == 2
            return found

    found = asyncio.run(main())
    assert [each.result() for each in found] == [[2], [10], [4], [10]]


def test_a_task_that_outlives_the_block_computes_at_once(work):
    async def task(go):
        before = work.ops.double(work.array(1))
        await go.wait()
        return before, work.ops.double(before), dc.current_pipeline()

    async def main():
        go = asyncio.Event()
        with work.pipeline():
            outliving = asyncio.create_task(task(go))
            await asyncio.sleep(0)
        go.set()
        return await outliving

    before, after, session = asyncio.run(main())
    assert session is None
    assert (before.result(), after) == ([2], [4])


def test_calls_that_another_thread_records_as_the_block_ends_are_run(work, numbers):
    """A thread with the block's context may have passed the question whether it is open."""
    tensor = work.tensor(1)
    pipe = work.pipeline()
    with pipe:
        session = dc.current_pipeline()
        work.ops.add_(tensor, work.tensor(1))
        (step,) = session.steps
    session.add(copy.copy(step))
    assert session.steps == []
    assert numbers(tensor) == [2]


# Values that outlive their pipeline.


def test_a_pending_value_keeps_its_pipeline_alive_and_can_be_computed(work):
    """The block was begun in a context that is gone, and never ended."""

    def record():
        pipe = work.pipeline()
        pipe.__enter__()
        return work.ops.double(work.ops.double(work.array(1))), weakref.ref(dc.current_pipeline())

    value, gone = contextvars.Context().run(record)
    gc.collect()
    assert work.ran == []
    assert value.result() == [4]
    del value
    gc.collect()
    assert gone() is None


def test_weak_references_to_pending_values(work):
    with work.pipeline() as pipe:
        kept = work.ops.double(work.array(1))
        dropped = work.ops.double(work.array(2))
        weak, weaker = weakref.ref(kept), weakref.ref(dropped)
        del dropped
        pipe.flush()
        assert weak() is kept
        assert weaker() is None
    assert weak().result() == [2]


def test_copies_and_pickles_of_a_pending_value_are_the_arrays(work):
    with work.pipeline():
        value = work.ops.double(work.array(1))
        assert copy.deepcopy(value) == [2]
        assert copy.copy(work.ops.double(value)) == [4]
    with suppress(pickle.PicklingError):  # the arrays' class is made by a fixture, and has no name to be found by
        assert pickle.loads(pickle.dumps(value)) == [2]


def test_arrays_are_not_kept_longer_than_the_steps_that_use_them(work):
    """A long block that reads values in between holds no inputs of the computed ones."""

    class Watched(work.toy.array):
        __slots__ = ("__weakref__",)

    with work.pipeline():
        array = Watched([1])
        gone = weakref.ref(array)
        assert work.ops.double(array).result() == [2]
        del array
        assert gone() is None


def test_a_pipelines_repr_has_its_state_and_waiting_steps(work):
    pipe = work.pipeline()
    assert repr(pipe) == "<pipeline: closed, 0 steps wait>"
    with pipe:
        value = work.ops.double(work.array(1))
        assert repr(pipe) == "<pipeline: open, 1 step waits>"
    assert repr(pipe) == "<pipeline: closed, 0 steps wait>"
    assert value.result() == [2]


_press_ctrl_c = by_subscript(_thread.interrupt_main)


def _let_go(box):
    """Empty a list with an interrupt waiting, which falls where the first Python function begins."""
    _press_ctrl_c[signal.SIGINT]
    box.clear()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_where_the_handle_dies_leaves_no_pipeline_open(work):
    box = [work.pipeline()]
    box[0].__enter__()
    with suppress(KeyboardInterrupt):
        _let_go(box)
    assert dc.current_pipeline() is None


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_where_a_lock_dies_leaves_nothing_to_take_before_a_fork():
    box = [forks.forkable(forks.Order.MEMORY)]
    key = id(box[0])
    with pytest.raises(KeyboardInterrupt):
        _let_go(box)
    assert key not in forks._watched
