"""``torchlike.npu``: the runtime as programs use it."""

import gc

import pytest

import torchlike
from torchlike import npu as module

pytestmark = pytest.mark.usefixtures("npu")


def test_devices():
    assert torchlike.npu is module
    assert torchlike.npu.is_available() is True and torchlike.npu.availability().reason == ""
    assert torchlike.npu.device_count() >= 1
    torchlike.npu.init()
    assert torchlike.npu.is_initialized()
    torchlike.npu.set_device("npu:0")
    torchlike.npu.set_device(None)
    assert torchlike.npu.current_device() == 0
    with pytest.raises(ValueError, match="Expected a npu device, but got: cpu"):
        torchlike.npu.synchronize("cpu")
    torchlike.npu.synchronize()
    torchlike.npu.synchronize(torchlike.device("npu:0"))


def test_an_index_out_of_range_is_refused():
    count = torchlike.npu.device_count()
    here = torchlike.ones(2, device="npu")
    for use in (lambda place: torchlike.ones(2, device=place), lambda place: torchlike.ones(2).to(place), here.to):
        with pytest.raises(
            RuntimeError, match=rf"There is no device 'npu:{count}': of the devices of dispatch-backend-npu"
        ):
            use(f"npu:{count}")


def test_the_simulator_announces_itself(simulator):
    assert "simulator" in torchlike.npu.get_device_name()


def test_streams_and_events():
    default = torchlike.npu.default_stream()
    assert torchlike.npu.current_stream() == default
    other = torchlike.npu.Stream()
    with torchlike.npu.stream(other):
        assert torchlike.npu.current_stream() == other
        x = torchlike.ones(3, device="npu") + 1
        event = other.record_event()
    with torchlike.npu.stream(None):
        assert torchlike.npu.current_stream() == default
    default.wait_event(event)
    event.synchronize()
    assert event.query() and x.tolist() == [2.0] * 3
    torchlike.npu.set_stream(other)
    torchlike.npu.set_stream(None)
    assert torchlike.npu.current_stream() == other
    torchlike.npu.set_stream(default)
    start, end = torchlike.npu.Event(enable_timing=True), torchlike.npu.Event(enable_timing=True)
    start.record()
    x + x
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(AttributeError, match="no attribute 'Fly'"):
        torchlike.npu.Fly  # noqa: B018  # asking is what fails


@pytest.mark.no_pipeline(reason="a pipeline takes memory later")
def test_a_tensor_records_that_another_stream_works_with_it(simulator):
    x, other = torchlike.ones(3, device="npu"), torchlike.npu.Stream()
    other.wait_stream(torchlike.npu.current_stream())
    with torchlike.npu.stream(other):
        y = x + 1
    x.record_stream(other)
    with torchlike.pipeline():
        z = x + 2
        z.record_stream(other)
    del x, z
    simulator.reset()
    torchlike.ones(3, device="npu")
    assert simulator.log().count("aclrtRecordEvent") == 2
    torchlike.npu.current_stream().wait_stream(other)
    assert y.tolist() == [2.0] * 3
    with pytest.raises(ValueError, match="Expected a tensor on npu, but got one on cpu"):
        torchlike.ones(1).record_stream(other)


@pytest.mark.no_pipeline(reason="a pipeline takes memory later")
def test_memory():
    gc.collect()
    torchlike.npu.synchronize()
    before = torchlike.npu.memory_allocated()
    torchlike.npu.reset_peak_memory_stats()
    x = torchlike.empty(1 << 20, device="npu")
    held = torchlike.npu.memory_allocated()
    assert held >= before + (4 << 20)
    assert torchlike.npu.max_memory_allocated() >= held
    assert torchlike.npu.max_memory_reserved() >= torchlike.npu.memory_reserved() >= held
    del x
    assert torchlike.npu.memory_allocated() == before
    torchlike.npu.empty_cache()
    assert torchlike.npu.memory_reserved() < held
    assert torchlike.npu.memory_stats()["num_ooms"] >= 0
    free, total = torchlike.npu.mem_get_info()
    assert 0 < free <= total


@pytest.mark.no_pipeline(reason="a pipeline takes memory later")
def test_a_pinned_tensor_is_copied_when_the_stream_reaches_it(simulator):
    x = torchlike.arange(4.0).pin_memory("npu")
    assert x.is_pinned("npu") and x[1:].is_pinned()
    simulator.reset()
    moved = x[1:].to("npu", non_blocking=True)
    assert "aclrtMemcpyAsync" in simulator.log() and "aclrtMemcpy" not in simulator.log()
    x.fill_(7)  # which a program must not do before the stream has reached the copy
    assert moved.tolist() == [7.0] * 3
    assert torchlike.ones(2).to("npu", non_blocking=True).tolist() == [1.0] * 2
    assert torchlike.arange(4.0).reshape(2, 2).t().pin_memory("npu").to("npu", non_blocking=True).tolist() == [
        [0, 2],
        [1, 3],
    ]


@pytest.mark.no_pipeline(reason="a pipeline copies later")
def test_a_copy_to_pinned_memory_is_done_when_the_stream_reaches_it(simulator):
    x = torchlike.arange(6.0, device="npu").reshape(2, 3) + 1
    torchlike.npu.synchronize()
    simulator.reset()
    found = x[1:].to("cpu", non_blocking=True)
    assert "aclrtMemcpyAsync" in simulator.log() and "aclrtMemcpy" not in simulator.log()
    assert found.is_pinned("npu") and not torchlike.npu.current_stream().query()
    torchlike.npu.synchronize()
    assert found.tolist() == [[4.0, 5.0, 6.0]]
    kept = torchlike.zeros(3, 2).pin_memory("npu")
    assert kept.copy_(x.t().contiguous(), non_blocking=True) is kept
    turned = x.t().to("cpu", non_blocking=True)
    torchlike.npu.current_stream().synchronize()
    assert kept.tolist() == turned.tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]] and turned.stride() == (1, 3)


@pytest.mark.no_pipeline(reason="a pipeline takes memory later")
def test_running_out_of_memory_is_an_error_of_both_kinds(simulator):
    with pytest.raises(MemoryError) as caught:
        torchlike.empty(1 << 45, device="npu")
    assert isinstance(caught.value, torchlike.OutOfMemoryError) and "npu:0 has no room for" in str(caught.value)


def test_bfloat16_which_numpy_does_not_have_is_read_all_the_same():
    a = torchlike.arange(4.0, device="npu").bfloat16() / 4
    assert (a.tolist(), a.sum().item(), bool(a.amax() < 1)) == ([0.0, 0.25, 0.5, 0.75], 1.5, True)
    assert repr(a[:2]) == "tensor([0.0000, 0.2500], device='npu:0', dtype=torchlike.bfloat16)"
    with pytest.raises(TypeError, match="can't convert npu:0"):
        a.numpy()
