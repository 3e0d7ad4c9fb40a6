"""Blocks of streams: in several threads at once, and where a function of the device's interface fails."""

from __future__ import annotations

import contextvars
import sys
import threading

import pytest
import racing_device
from racing_device import NAME, Racing, register

import dispatch_core as dc
import torchlike as t
from dispatch_core.runtime import current_stream, default_stream, set_stream
from dispatch_pipelines.run.stream_changes import OwnStreams

pytestmark = pytest.mark.no_pipeline(reason="recorded calls are launched when they run")


@pytest.fixture
def racing():
    with register():
        yield Racing


def observers():
    from torchlike.history.graph_settings import node_observers

    return node_observers.get()


def test_threads_that_share_a_stream_leave_their_own_blocks(racing, monkeypatch):
    here = threading.local()

    def current(index):
        return getattr(here, "stream", None) or Racing.lanes[index]

    def exchange(index, stream):
        before, here.stream = current(index), stream
        return before

    monkeypatch.setattr(racing_device.Streams, "current", current)
    monkeypatch.setattr(racing_device.Streams, "exchange", exchange)
    shared, found = dc.Stream(NAME), {}
    entered = [threading.Event(), threading.Event()]
    left = threading.Event()

    def first():
        with shared:
            entered[0].set()
            entered[1].wait(10)
        found["first"] = current_stream(NAME)
        left.set()

    def second():
        entered[0].wait(10)
        own = dc.Stream(NAME)
        with own:
            with shared:
                entered[1].set()
                left.wait(10)
            found["second"] = current_stream(NAME) == own

    threads = [threading.Thread(target=each) for each in (first, second)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {"first": default_stream(NAME), "second": True}


@pytest.mark.parametrize("enter", [lambda stream: stream.__enter__(), set_stream])
def test_where_a_stream_cannot_be_made_current_nothing_has_changed(enter, racing, monkeypatch):
    stream = dc.Stream(f"{NAME}:1")
    assert Racing.index == 0

    def fail(index, stream):
        raise OSError("the driver is gone")

    with monkeypatch.context() as patch:
        patch.setattr(racing_device.Streams, "exchange", fail)
        with pytest.raises(OSError, match="the driver is gone") as caught:
            enter(stream)
    assert caught.value.__notes__ == ["Raised by streams.exchange in the DeviceInterface of device 'racing:1'"]
    assert Racing.index == 0
    assert observers() == ()


def test_where_a_block_cannot_restore_the_stream_it_restores_the_rest(racing, monkeypatch):
    stream = dc.Stream(f"{NAME}:1")

    def fail(index, stream):
        raise OSError("the driver is gone")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="gone") as caught, stream:
        patch.setattr(racing_device.Streams, "exchange", fail)
    assert "Raised by streams.exchange in the DeviceInterface of device 'racing:1'" in caught.value.__notes__
    assert Racing.index == 0
    assert observers() == ()
    with stream:
        assert current_stream(f"{NAME}:1") == stream


def test_a_block_inside_its_own(racing):
    stream, other = dc.Stream(NAME), dc.Stream(NAME)
    with stream:
        with other, stream:
            pass
        assert current_stream(NAME) == stream
    assert current_stream(NAME) == default_stream(NAME)


def test_transforms_know_the_arrays_of_a_device_that_is_registered_again():
    for _ in range(2):
        with register():
            x, other = t.tensor([1.0, 2.0], device=f"{NAME}:1"), t.tensor([1.0], device=NAME)
            with dc.Stream(f"{NAME}:1"):
                assert t.vmap(lambda row: row * row)(x).tolist() == [1.0, 4.0]
                assert t.func.grad(lambda row: (row * row).sum())(x).tolist() == [2.0, 4.0]
            assert other.tolist() == [1.0]


def test_threads_in_one_pipeline_work_on_their_own_streams(racing):
    streams, x = [dc.Stream(NAME) for _ in range(3)], t.tensor([0.1, 0.2, 0.3], device=NAME)
    for stream in streams:
        stream.wait_stream(default_stream(NAME))
    found = {}

    def work(number):
        with streams[number]:
            value = x
            for _ in range(20):
                value = value.exp() * 0.1 if number else value.tanh() + 1
            found[number] = value

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(5):
            with dc.pipeline():
                contexts = [contextvars.copy_context() for _ in streams]
                threads = [
                    threading.Thread(target=each.run, args=(work, number)) for number, each in enumerate(contexts)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            for number, stream in enumerate(streams):
                default_stream(NAME).wait_stream(stream)
                assert found[number].isfinite().all()
    finally:
        sys.setswitchinterval(interval)
    counts = [(each.native_handle.launched.count("tanh"), each.native_handle.launched.count("exp")) for each in streams]
    assert counts == [(100, 0), (0, 100), (0, 100)]
    assert racing.races == []


@pytest.mark.parametrize("how", ["block", "set_stream"])
def test_another_thread_enters_a_block_while_one_is_left(how, racing, monkeypatch):
    first, second, x = dc.Stream(NAME), dc.Stream(NAME), t.tensor([0.1, 0.2, 0.3], device=NAME)
    for stream in (first, second):
        stream.wait_stream(default_stream(NAME))
    made, leave = [], OwnStreams._leave

    def work():
        with second:
            made.append(x.exp())

    def leave_and_let_another_enter(guard):
        leave(guard)
        monkeypatch.undo()
        thread = threading.Thread(target=contextvars.copy_context().run, args=(work,))
        thread.start()
        thread.join()

    with dc.pipeline():
        if how == "block":
            with first:
                made.append(x.tanh())
                monkeypatch.setattr(OwnStreams, "_leave", leave_and_let_another_enter)
        else:
            set_stream(first)
            made.append(x.tanh())
            monkeypatch.setattr(OwnStreams, "_leave", leave_and_let_another_enter)
            set_stream(default_stream(NAME))
    assert (first.native_handle.launched, second.native_handle.launched) == (["tanh"], ["exp"])
    assert len(made) == 2
    assert racing.races == []


def test_a_value_that_another_thread_reads_is_made_on_the_stream_of_its_call(racing):
    stream, x, found = dc.Stream(NAME), t.tensor([0.1, 0.2, 0.3], device=NAME), []
    stream.wait_stream(default_stream(NAME))
    with dc.pipeline() as pipe, stream:
        pipe.flush()
        value = x.exp()
        thread = threading.Thread(target=lambda: found.append(value.tolist()))
        thread.start()
        thread.join()
        assert "exp" in stream.native_handle.launched
    x.exp()
    assert "exp" in racing.lanes[0].launched


def test_calls_after_a_block_are_launched_where_they_were_recorded(racing):
    stream, x = dc.Stream(NAME), t.tensor([0.1, 0.2, 0.3], device=NAME)
    stream.wait_stream(default_stream(NAME))
    with dc.pipeline() as pipe:
        with stream:
            inside = x.exp()
            pipe.flush()
        outside = x.tanh()
    assert (stream.native_handle.launched, "tanh" in racing.lanes[0].launched) == (["exp"], True)
    assert inside is not outside
