"""Pipelines and threads, forked processes and the interpreter's end: nothing is lost, computed twice, or waited for."""

from __future__ import annotations

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

import dispatch_core as dc
from dispatch_pipelines.run.lock import PipelineLock

SECONDS = 1.0
WAIT = 20


@pytest.fixture
def switch_often():
    """Make threads take turns a hundred times as often as usual."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    yield
    sys.setswitchinterval(interval)


def in_threads(*works):
    """Run functions at once, each in a thread of its own, and return their results; a thread that hangs fails the test."""
    barrier = threading.Barrier(len(works))

    def run(function):
        barrier.wait(WAIT)
        return function()

    pool = ThreadPoolExecutor(len(works))
    try:
        return [future.result(WAIT) for future in [pool.submit(run, each) for each in works]]
    finally:
        pool.shutdown(wait=False)


def test_each_thread_has_its_own_pipeline(work):
    with work.pipeline() as pipe:
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(dc.current_pipeline).result(WAIT) is None
            assert pool.submit(lambda: work.ops.double(work.array(1))).result(WAIT) == [2]
        assert pipe.stats().recorded == 0


def test_a_value_is_computed_once_by_whoever_needs_it_first(work):
    work.hook = lambda array: time.sleep(0.05)
    with work.pipeline():
        value = work.ops.call(work.array(1))
        results = in_threads(*[value.result] * 6)
    assert all(result is results[0] for result in results)
    assert work.ran == ["call"]


def test_another_thread_may_use_a_pending_value_as_an_argument(work):
    def use():
        eager = work.ops.double(value)
        with work.pipeline():
            deferred = work.ops.double(value)
        return eager, deferred.result()

    with work.pipeline():
        value = work.ops.double(work.array(1))
        assert in_threads(use, use) == [([4], [4])] * 2
    assert work.ran.count("double") == 5


def test_the_error_of_a_step_reaches_every_thread(work):
    work.fail_with(ValueError("no"))

    def read():
        with pytest.raises(ValueError, match="no") as caught:
            value.result()
        return caught.value

    with work.pipeline():
        value = work.ops.call(work.array(1))
        errors = in_threads(*[read] * 4)
    assert len(set(map(id, errors))) == 1


def test_two_threads_that_read_each_others_values(work):
    """Each thread's kernel asks for a value of the other's pipeline, which is running."""
    values, both = {}, threading.Barrier(2)

    def thread(mine, other):
        def run():
            with work.pipeline():
                array = work.array(mine)
                hooks[id(array)] = other
                asking = work.ops.call(array)
                values[mine] = work.ops.double(work.array(mine))
                both.wait(WAIT)
                asking.result()
                both.wait(WAIT)
                return values[mine].result()

        return run

    hooks, running = {}, threading.Barrier(2)

    def hook(array):
        running.wait(WAIT)
        values[hooks[id(array)]].result()

    work.hook = hook
    assert in_threads(thread(1, 2), thread(2, 1)) == [[2], [4]]


def test_a_circle_of_three_threads_and_one_that_looks_on(work):
    locks = [PipelineLock() for _ in range(3)]
    inside, order = threading.Barrier(3), []

    def member(number):
        def run():
            with locks[number]:
                inside.wait(WAIT)
                with locks[(number + 1) % 3]:
                    order.append(number)

        return run

    def onlooker():
        inside_or_later = time.monotonic() + 0.05
        while time.monotonic() < inside_or_later:
            with locks[0]:
                pass

    in_threads(*map(member, range(3)), onlooker)
    assert sorted(order) == [0, 1, 2]
    # All are free again.
    for lock in locks:
        in_threads(lambda lock=lock: lock.__enter__())


def test_a_turn_excludes_others_and_lets_its_holder_in_again():
    lock, inside = PipelineLock(), []

    def worker():
        for _ in range(2000):
            with lock, lock:
                inside.append(1)
                assert len(inside) == 1
                inside.pop()

    in_threads(*[worker] * 4)


def test_a_step_that_asks_for_its_own_result_gets_an_error(work):
    with work.pipeline():
        value = work.ops.call(work.array(1))
        work.hook = lambda array: value.result()
        with pytest.raises(RuntimeError, match=r"has begun and not ended(.|\n)*Hint"):
            value.result()


def test_kernels_may_call_operators_and_flush_and_open_pipelines(work):
    seen = []

    def hook(array):
        if seen:
            return
        seen.append(work.ops.double(array))
        seen.append(work.ops.double(other))
        pipe.flush()
        with work.pipeline() as inner:
            kept = work.ops.double(other)
            assert inner.stats().recorded == 1
        seen.append(kept.result())

    work.hook = hook
    with work.pipeline() as pipe:
        other = work.ops.double(work.array(10))
        value = work.ops.call(work.array(1))
        later = work.ops.call(value)
        assert value.result() == [1]
        assert seen == [[2], [40], [40]]
        assert pipe.stats().recorded == 3
    assert later.result() == [1]
    assert work.ran.count("call") == 2


def test_no_step_is_lost_or_run_twice_while_others_read_values(work, switch_often):
    """One thread records, six ask for its values; every step runs once, and in-place updates in their order."""
    until = time.monotonic() + SECONDS
    shared, count = [], 4

    def owner():
        written, results = work.tensor(0), []
        with work.pipeline() as pipe:
            number = 0
            while time.monotonic() < until:
                number += 1
                value = work.ops.double(work.array(number))
                shared[-20:] = [*shared[-19:], value]
                work.ops.add_(written, work.tensor(1))
                results.append((number, value, work.ops.add(value, value)))
                if number % 50 == 0:
                    results.append((number, None, work.ops.double(written)))
                if number % 97 == 0:
                    pipe.flush()
                if number % 31 == 0:
                    assert work.ops.item(written) == number
        for place, value, result in results:
            if value is None:
                assert result._dispatch_data.result() == [2 * place]
            else:
                assert value.result() == [2 * place]
                assert result.result() == [4 * place]
        stats = pipe.stats()
        assert stats.executed == stats.recorded
        assert stats.dropped == 0
        return number

    def reader():
        reads = 0
        while time.monotonic() < until:
            for value in shared[:]:
                result = value.result()
                assert result.a.size == 1
                reads += 1
        return reads

    number, *reads = in_threads(owner, *[reader] * count)
    assert number > 50
    assert min(reads) > 50
    assert work.ran.count("add_") == number


def test_many_pipelines_at_once_with_values_of_each_other(work, switch_often):
    until = time.monotonic() + SECONDS
    last = {}

    def worker(mine):
        def run():
            total = 0
            while time.monotonic() < until:
                with work.pipeline(max_ops=7), suppress(KeyError):
                    values = [work.ops.double(work.array(total))]
                    for other in list(last.values()):
                        values.append(work.ops.add(other, values[0]))
                    last[mine] = values[-1]
                    if total % 3 == 0:
                        assert values[0].result() == [2 * total]
                total += 1
            return total

        return run

    assert min(in_threads(*map(worker, range(4)))) > 5


# Forked processes.


def in_child(function):
    """Run a function in a forked process; return whether it returned true there, within the time."""
    child = os.fork()
    if not child:
        status = 2
        try:
            status = 0 if function() else 1
        finally:
            os._exit(status)
    until = time.monotonic() + WAIT
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.005)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


forking = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork"),
    # From 3.12 on, Python warns of forks beside threads, which these tests are about.
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]


@pytest.mark.parametrize("generation", [pytest.param(1, marks=forking)])
def test_both_processes_compute_values_that_were_pending_at_a_fork(work, generation):
    with work.pipeline():
        value = work.ops.double(work.array(1))
        assert in_child(lambda: value.result() == [2] and dc.current_pipeline() is not None)
        assert work.ran == []
        assert value.result() == [2]


@pytest.mark.parametrize(("op", "outcome"), [pytest.param("call", "computes", marks=forking)])
def test_a_fork_while_another_thread_runs_steps(work, op, outcome):
    """The child has no such thread. Its unfinished steps are computed again, without waiting."""
    running, go_on = threading.Event(), threading.Event()
    parent = os.getpid()

    def hook(array):
        if os.getpid() == parent:
            running.set()
            assert go_on.wait(WAIT)

    work.hook = hook
    with work.pipeline(), ThreadPoolExecutor(1) as pool:
        first = work.ops.double(work.array(1))
        value = work.ops.call(first)
        later = work.ops.double(value)
        forced = pool.submit(later.result)
        assert running.wait(WAIT)
        try:
            assert in_child(lambda: later.result() == [4] and value.result() == [2] and first.result() == [2])
        finally:
            go_on.set()
        assert forced.result(WAIT) == [4]


@pytest.mark.parametrize("generation", [pytest.param(1, marks=forking)])
def test_a_fork_while_another_thread_writes_raises_in_the_child(work, generation):
    """Nobody can say in the child whether the write was made."""
    running, go_on = threading.Event(), threading.Event()
    parent = os.getpid()

    def hook(array):
        if os.getpid() == parent:
            running.set()
            assert go_on.wait(WAIT)

    def child():
        try:
            after.result()
        except RuntimeError as error:
            return "the process was forked while another thread ran it" in str(error)
        return False

    work.hook = hook
    with work.pipeline(), ThreadPoolExecutor(1) as pool:
        value = work.ops.double(work.array(1))
        work.ops.call_(value)
        after = work.ops.double(value)
        forced = pool.submit(after.result)
        assert running.wait(WAIT)
        try:
            assert in_child(child)
        finally:
            go_on.set()
        assert forced.result(WAIT) == [4]


@pytest.mark.parametrize("generation", [pytest.param(1, marks=forking)])
def test_a_fork_inside_a_kernel(work, generation):
    forked = []

    def hook(array):
        if not forked:
            forked.append(True)
            forked.append(in_child(lambda: other.result() == [4]))

    work.hook = hook
    with work.pipeline():
        other = work.ops.double(work.array(2))
        value = work.ops.call(work.array(1))
        assert value.result() == [1]
    assert forked == [True, True]
