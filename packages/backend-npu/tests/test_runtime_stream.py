"""Streams and events."""

import gc
import threading

import pytest

import dispatch_core as dc
from dispatch_backend_npu import runtime
from dispatch_backend_npu.runtime import memory, stream

pytestmark = pytest.mark.usefixtures("npu")


def test_threads_share_a_devices_default_stream():
    found = []
    thread = threading.Thread(target=lambda: found.append(runtime.current()))
    thread.start()
    thread.join()
    assert found == [runtime.default()] == [runtime.current()]


def test_a_block_chooses_a_stream_for_its_thread():
    before, chosen = runtime.current(), runtime.Stream()
    with chosen as entered:
        assert entered is chosen and runtime.current() is chosen
        with runtime.Stream() as inner:
            assert runtime.current() is inner
        assert runtime.current() is chosen
    assert runtime.current() is before
    runtime.set_stream(chosen)
    assert runtime.current() is chosen
    runtime.set_stream(before)


def test_a_stream_of_another_device_brings_its_device():
    if runtime.device_count() < 2:
        pytest.skip("one device only")
    other = runtime.Stream(1)
    assert runtime.current_device() == 0
    with other:
        assert runtime.current_device() == 1 and runtime.current() is other
    assert runtime.current_device() == 0 and runtime.current().device == 0
    other.synchronize()
    assert other.query() and runtime.current_device() == 0


def test_devices_of_streams_are_named_as_users_name_them():
    for device in (None, 0, "npu:0", "npu", dc.Device("npu", 0)):
        assert runtime.Stream(device).device == 0
    with pytest.raises(dc.BackendError, match="expected an npu device, but got cpu"):
        runtime.Stream("cpu")
    with pytest.raises(dc.BackendError, match="there is no device npu:64"):
        runtime.Stream("npu:64")


def test_a_priority_is_refused_where_it_would_mean_nothing():
    assert runtime.Stream(priority=0).query()
    with pytest.raises(dc.BackendError, match="a stream of priority -1 was asked for"):
        runtime.Stream(priority=-1)


def test_another_object_than_a_stream_is_refused_by_name():
    for use in (runtime.set_stream, runtime.Event().record):
        with pytest.raises(TypeError, match=r"expected a stream of an npu \(got str\)"):
            use("npu:0")


def test_a_stream_is_busy_from_its_use_to_its_synchronisation():
    taken = runtime.current()
    assert taken.is_busy
    taken.synchronize()
    assert not taken.is_busy and not stream.peek().is_busy
    runtime.current()
    assert taken.is_busy
    runtime.synchronize()
    assert not taken.is_busy


def test_handles_are_used_again(simulator):
    gc.collect()
    first = runtime.Stream()
    pointer, streams = first.pointer, simulator.counts().get("streams", 0)
    del first
    second = runtime.Stream()
    assert second.pointer == pointer and simulator.counts().get("streams", 0) == streams
    events = simulator.counts().get("events", 0)
    for _ in range(10):
        second.record_event()
    assert simulator.counts().get("events", 0) <= events + 1


def test_streams_are_equal_by_handle():
    assert runtime.default() == runtime.default() and len({runtime.default(), runtime.default()}) == 1
    assert runtime.Stream() != runtime.default() and runtime.default() != 3
    assert repr(runtime.default()).startswith("<torchlike.npu.Stream device=npu:0 npu_stream=0x")


def test_an_event_that_was_never_recorded_is_done():
    event = runtime.Event()
    assert event.query()
    event.synchronize()
    event.wait()
    assert repr(event) == "<torchlike.npu.Event uninitialized>"


def test_streams_wait_for_events_of_others():
    block = runtime.allocate(64)
    first, second = runtime.Stream(), runtime.Stream()
    with first:
        memory.fill(block.pointer, 64, 7)
    second.wait_stream(first)
    with second:
        assert set(memory.copy_to_host(block.pointer, 64).tolist()) == {7}
    event = first.record_event()
    second.wait_event(event)
    second.synchronize()
    assert event.query()


def test_time_is_measured_between_events_created_for_it():
    first, second = runtime.Event(enable_timing=True), runtime.Event(enable_timing=True)
    with pytest.raises(dc.BackendError, match="both events must be recorded"):
        first.elapsed_time(second)
    first.record()
    second.record()
    second.synchronize()
    assert first.elapsed_time(second) >= 0
    plain = runtime.Stream().record_event()
    with pytest.raises(dc.BackendError, match="created for it") as caught:
        first.elapsed_time(plain)
    assert "enable_timing=True" in str(caught.value)


def test_an_event_stays_on_its_device():
    if runtime.device_count() < 2:
        pytest.skip("one device only")
    event = runtime.Event()
    event.record()
    with pytest.raises(dc.BackendError, match="an event of npu:0 cannot be recorded in"):
        event.record(runtime.Stream(1))


def test_an_event_that_is_recorded_again_elsewhere_is_waited_for_as_it_was():
    first, second = runtime.Stream(), runtime.Stream()
    block, other = runtime.allocate(1000), runtime.allocate(1000)
    for value in (1, 2, 3):
        memory.fill(block.pointer, 1000, value, first)
        # Each pair waits by the same handle, which is free again as soon as the wait is queued.
        second.wait_stream(first)
        memory.copy_on_device(other.pointer, block.pointer, 1000, second)
        first.wait_stream(second)
    second.synchronize()
    first.synchronize()
    assert set(memory.copy_to_host(other.pointer, 1000)) == {3}
