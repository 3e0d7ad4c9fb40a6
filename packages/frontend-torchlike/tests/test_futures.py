"""Values that other threads give."""

import pickle
import threading

import pytest

import torchlike
from torchlike.futures import Future, collect_all, wait_all


def test_a_value_is_waited_for_and_set_once():
    future = Future()
    assert not future.done() and torchlike.Future is Future is torchlike.futures.Future
    with pytest.raises(RuntimeError, match="no value yet"):
        future.value()
    threading.Timer(0.02, future.set_result, ["x"]).start()
    assert future.wait() == future.value() == "x" and future.done()
    for again in (lambda: future.set_result(1), lambda: future.set_exception(ValueError())):
        with pytest.raises(RuntimeError, match="can only be marked completed once"):
            again()


def test_errors_are_raised_where_they_are_waited_for():
    future = Future()
    with pytest.raises(AssertionError, match="not an Exception"):
        future.set_exception("bad")
    future.set_exception(ValueError("bad"))
    for read in (future.wait, future.value):
        with pytest.raises(ValueError, match="bad"):
            read()
    assert future.done() and future.then(Future.done).wait() is True
    with pytest.raises(RuntimeError, match="running the callback: ValueError: bad"):
        future.then(Future.wait).wait()


def test_callbacks_run_when_the_value_is_set(caplog):
    future, seen = Future(), []
    future.add_done_callback(lambda done: seen.append(done.value()))
    future.add_done_callback(lambda done: 1 / 0)
    double = future.then(lambda done: done.value() * 2)
    assert not double.done()
    future.set_result(3)
    future.add_done_callback(lambda done: seen.append("late"))
    assert seen == [3, "late"] and double.value() == 6 and "ZeroDivisionError" in caplog.text
    with pytest.raises(TypeError, match="takes a function of the future, not int"):
        future.then(3)


def test_several_are_waited_for():
    futures = [Future() for _ in range(3)]
    whole = collect_all(futures)
    for number, each in enumerate(futures):
        assert not whole.done()
        each.set_result(number)
    assert whole.wait() == futures and wait_all(futures) == [0, 1, 2] and wait_all([]) == []
    failed = Future()
    failed.set_exception(KeyError("lost"))
    with pytest.raises(KeyError, match="lost"):
        wait_all([futures[0], failed])
    with pytest.raises(TypeError, match="a list of futures, not of int"):
        collect_all([1])


def test_a_future_stays_in_its_process():
    with pytest.raises(RuntimeError, match="Can not pickle"):
        pickle.dumps(Future())
    with pytest.raises(ValueError, match="Expected devices to have indices, got cpu"):
        Future(devices=["cpu"])
    assert Future(devices=["npu:0"]).done() is False


def test_the_libraries_that_compute_are_shown():
    from torchlike.surface import configuration

    assert "numpy" in configuration.show() and "USE_MKL=OFF" in configuration.show()
    assert "get_num_threads() : " in configuration.parallel_info() and configuration._cxx_flags() == ""
