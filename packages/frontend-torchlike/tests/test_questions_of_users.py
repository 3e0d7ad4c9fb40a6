"""Questions that a user asks of a vendor's device as of the one accelerator of torch 2.13, with torch's answers.

| about | questions |
| --- | --: |
| devices | 19 |
| streams and events | 19 |
| memory | 8 |
| pinned memory | 8 |
| random numbers | 7 |
| precision and profiles | 5 |
| files, copies and workers | 6 |
| errors | 4 |
| names of programs for torch | 5 |
"""

from __future__ import annotations

import copy
import io
import pickle
import sys
import threading
import warnings
from collections import Counter
from pathlib import Path

import pytest
import questions_device
from paired_devices import wrong
from questions_device import NoRoomError, VendorError, state

import torchlike as torch

QUESTIONS = []
COUNTS = Counter()
AT_ONCE = pytest.mark.no_pipeline(reason="calls are launched when they run")


def asks(about, *marks):
    """Add a function to the questions of a group."""

    def add(function):
        QUESTIONS.append(pytest.param(function, id=function.__name__, marks=marks))
        COUNTS[about] += 1
        return function

    return add


@pytest.fixture(autouse=True)
def device(monkeypatch):
    monkeypatch.setenv("DISPATCH_ACCELERATOR", "twin")
    monkeypatch.setattr("torchlike.random._warned", set())
    monkeypatch.setattr("torchlike.utils.backend_registration._privateuse1_backend_name", "privateuseone")
    with questions_device.register():
        yield
        assert not wrong, wrong


# Devices.


@asks("devices")
def how_many_devices_are_there():
    assert torch.twin.device_count() == torch.accelerator.device_count() == 2


@asks("devices")
def which_is_the_current_one():
    assert torch.twin.current_device() == torch.accelerator.current_device_index() == 0
    assert torch.ones(1, device="twin").device == torch.device("twin:0")


@asks("devices")
def how_is_another_chosen():
    torch.twin.set_device(1)
    assert torch.accelerator.current_device_index() == 1
    assert torch.randn(2, 3, device="twin").device.index == 1
    torch.accelerator.set_device_index("twin:0")
    assert torch.twin.current_device() == 0


@asks("devices")
def is_it_chosen_for_a_block():
    with torch.twin.device(1):
        assert torch.ones(1, device="twin").device.index == 1
        with torch.accelerator.device_index(0):
            assert torch.ones(1, device="twin").device.index == 0
        assert torch.twin.current_device() == 1
    assert torch.twin.current_device() == 0


@asks("devices")
def does_an_error_leave_the_block():
    with pytest.raises(ValueError, match="mine"), torch.twin.device("twin:1"):
        raise ValueError("mine")
    assert torch.twin.current_device() == 0


@asks("devices")
def is_the_device_of_a_tensor_one_to_work_on():
    x = torch.ones(1, device="twin:1")
    with torch.twin.device_of(x):
        assert torch.twin.current_device() == 1
    with torch.twin.device_of(torch.ones(1)):
        assert torch.twin.current_device() == 0


@asks("devices")
def is_an_index_beyond_the_last_refused():
    for call in (torch.twin.set_device, torch.accelerator.set_device_index, torch.twin.get_device_name):
        with pytest.raises(RuntimeError, match="device"):
            call(2)
    assert torch.twin.current_device() == 0


@asks("devices")
def does_an_index_alone_name_it():
    assert torch.device(1) == torch.device("twin:1") == torch.device("twin", 1)
    assert torch.ones(2, device=0).is_twin and torch.ones(2).to(1).device.index == 1
    assert torch.zeros(2, device=torch.device(1)).device.index == 1


@asks("devices")
def do_tensors_move_by_its_name():
    x = torch.ones(2)
    assert not x.is_twin and x.twin().is_twin and x.twin().device.index == 0
    assert x.twin(1).device.index == 1 == x.twin("twin:1").device.index == x.twin(torch.device("twin:1")).device.index
    y = x.twin()
    assert y.twin() is y and y.twin(1) is not y and y.cpu().device.type == "cpu"
    with pytest.raises(RuntimeError, match="Invalid device, must be twin device"):
        x.twin("cpu")


@asks("devices")
def do_modules_move_by_its_name():
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    assert net.twin(1) is net
    assert {each.device for each in (*net.parameters(), *net.buffers())} == {torch.device("twin:1")}
    assert net.to("twin:0")[0].weight.is_twin and net.cpu()[0].weight.device.type == "cpu"


@asks("devices")
def is_a_parameter_the_same_object_after_a_move():
    net = torch.nn.Linear(2, 2)
    weight = net.weight
    net.twin()
    assert net.weight is weight and weight.is_leaf and weight.is_twin


@asks("devices")
def what_is_it_called_and_how_large():
    assert torch.twin.get_device_name(1) == "Twin card 1" and torch.twin.get_device_name() == "Twin card 0"
    found = torch.twin.get_device_properties("twin:1")
    assert (found.name, found.total_memory, found.cores) == ("Twin card 1", 64 << 20, 64)


@asks("devices")
def where_is_its_module():
    module = torch.get_device_module()
    assert module is torch.get_device_module("twin") is torch.get_device_module(torch.device("twin:1")) is torch.twin
    assert module.firmware() == "1.2"


@asks("devices")
def is_it_the_accelerator():
    assert torch.accelerator.is_available() and torch.twin.is_available()
    assert torch.accelerator.current_accelerator() == torch.device("twin")
    assert torch.accelerator.current_accelerator(check_available=True).type == "twin"
    assert torch.accelerator.current_accelerator().index is None


@asks("devices")
def which_dtypes_does_it_have():
    for place in (None, "twin:1", 0):
        found = torch.accelerator.get_device_capability(place)["supported_dtypes"]
        assert isinstance(found, set) and {torch.float32, torch.int64, torch.bool} <= found


@asks("devices")
def is_it_a_default_for_a_block():
    with torch.device("twin:1"):
        x, layer = torch.ones(2), torch.nn.Linear(1, 1)
        assert x.device == layer.weight.device == torch.device("twin:1")
        assert torch.ones(1, device="cpu").device.type == "cpu"
        assert torch.get_default_device() == torch.device("twin:1")
    assert torch.ones(2).device.type == "cpu"


@asks("devices")
def is_it_a_default_for_the_program():
    torch.set_default_device("twin")
    try:
        assert torch.ones(2).device == torch.arange(2).device == torch.tensor([1]).device == torch.device("twin:0")
        assert torch.get_default_device() == torch.device("twin:0")
    finally:
        torch.set_default_device(None)


@asks("devices")
def is_it_opened_at_the_first_use():
    assert not torch.twin.is_initialized() and torch.twin.memory_allocated() == 0
    torch.ones(1, device="twin")
    assert torch.twin.is_initialized()
    torch.twin.init()
    torch.twin.synchronize()


@asks("devices")
def does_each_thread_have_its_own():
    torch.twin.set_device(1)
    found = []
    thread = threading.Thread(target=lambda: found.append((torch.twin.current_device(), torch.ones(1, device="twin"))))
    thread.start()
    thread.join()
    torch.twin.set_device(0)
    assert found[0][0] == 0 and found[0][1].device.index == 0


# Streams and events.


@asks("streams and events")
def what_is_a_new_stream_s_device():
    assert torch.Stream().device == torch.Stream("twin").device == torch.twin.Stream().device == torch.device("twin:0")
    for stream in (torch.Stream("twin:1"), torch.Stream(1), torch.twin.Stream(1), torch.twin.Stream(device="twin:1")):
        assert (stream.device_index, stream.device.type) == (1, "twin")
    assert isinstance(torch.twin.Stream(), torch.Stream) and isinstance(torch.twin.Event(), torch.Event)


@asks("streams and events")
def which_stream_is_current():
    assert torch.twin.current_stream() == torch.twin.default_stream() == torch.accelerator.current_stream()
    stream = torch.Stream("twin:1")
    with stream as entered:
        assert entered is stream == torch.accelerator.current_stream() and torch.twin.current_device() == 1
    assert torch.twin.current_stream(1) == torch.twin.default_stream(1) != stream
    assert torch.twin.current_device() == 0


@asks("streams and events")
def does_the_module_s_block_enter_it():
    outer, inner = torch.twin.Stream(), torch.twin.Stream()
    with torch.twin.stream(outer), torch.twin.stream(None):
        with torch.twin.stream(inner):
            assert torch.twin.current_stream() == inner
        assert torch.twin.current_stream() == outer
    with torch.twin.StreamContext(outer):
        assert torch.twin.current_stream() == outer


@asks("streams and events")
def does_set_stream_last():
    before, stream = torch.accelerator.current_stream(), torch.Stream("twin:0")
    torch.accelerator.set_stream(stream)
    assert torch.accelerator.current_stream().stream_id == stream.stream_id
    torch.twin.set_stream(torch.twin.default_stream(1))
    assert torch.twin.current_device() == 1 and torch.twin.current_stream(0) == stream
    torch.twin.set_stream(before)
    assert torch.accelerator.current_stream() == before and torch.twin.current_device() == 0


@asks("streams and events")
def is_a_stream_done():
    stream, x = torch.Stream(), torch.ones(2, device="twin")
    assert stream.query()
    with stream:
        y = x + 1
    assert not stream.query()
    stream.synchronize()
    assert stream.query() and y.tolist() == [2.0, 2.0]


@asks("streams and events", AT_ONCE)
def are_copies_between_indices_ordered():
    x, first, second = (
        torch.arange(6.0, device="twin:0").reshape(2, 3).t(),
        torch.Stream("twin:0"),
        torch.Stream("twin:1"),
    )
    order = [(each.native_handle, other.native_handle) for each, other in ((first, second), (second, first))]
    for copy_over in (
        lambda: x.to("twin:1"),
        lambda: torch.zeros(3, 2, device="twin:1").copy_(x),
        lambda: x.to(1, non_blocking=True),
    ):
        state.waits.clear(), state.crossed.clear()
        with first, second:
            y = copy_over()
        assert state.crossed == [(0, 1)] and state.waits == order
        assert y.device.index == 1 and y.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    assert x.to(1).stride() == x.stride() and x.to(1, torch.float64).dtype is torch.float64 and x.twin(1).is_twin


@asks("streams and events")
def do_copies_between_indices_pass_gradients_and_wait_in_pipelines():
    leaf = torch.ones(3, device="twin:0", requires_grad=True)
    (leaf.to("twin:1") * 3).sum().backward()
    assert leaf.grad.device.index == 0 and leaf.grad.tolist() == [3.0, 3.0, 3.0]
    with torch.pipeline():
        x = leaf.detach() + 1
        y = x.to("twin:1")
        x.add_(1)
        z = y * 2
    assert z.tolist() == [4.0, 4.0, 4.0] and z.device.index == 1 and x.tolist() == [3.0, 3.0, 3.0]

    @torch.capture
    def move(value):
        return value.to("twin:1") * 2

    for shift in range(3):
        assert move(leaf.detach() + shift).tolist() == [2.0 * (1 + shift)] * 3


@asks("streams and events")
def does_a_stream_wait_for_another():
    first, second = torch.Stream(), torch.Stream("twin:1")
    second.wait_stream(first)
    event = first.record_event()
    second.wait_event(event)
    event.wait(second)
    assert [pair for pair in state.waits if pair == (first.native_handle, second.native_handle)] == state.waits
    assert len(state.waits) == 3


@asks("streams and events")
def when_is_an_event_done():
    event, stream, x = torch.Event(), torch.Stream(), torch.ones(2, device="twin")
    assert event.query() and event.event_id == 0
    with stream:
        y = x * 2
        event.record()
    assert not event.query() and event.event_id != 0
    event.synchronize()
    assert event.query() and y.sum().item() == 4.0


@asks("streams and events")
def what_is_an_event_s_device():
    assert torch.Event(device="twin:1").device == torch.Event().device == torch.device("twin")
    event = torch.Stream("twin:1").record_event()
    assert event.device == torch.device("twin:1")
    with pytest.raises(RuntimeError, match="does not match recording stream's device"):
        event.record(torch.Stream("twin:0"))


@asks("streams and events")
def how_long_did_it_take():
    start, end = (torch.twin.Event(enable_timing=True) for _ in range(2))
    x = torch.ones(2, device="twin")
    start.record()
    y = x + x
    end.record()
    torch.twin.synchronize()
    assert start.elapsed_time(end) == 1.0 and y is not None
    with pytest.raises(ValueError, match=r"Both events must be created with argument 'enable_timing=True'\."):
        torch.Event().elapsed_time(torch.Event())
    with pytest.raises(ValueError, match="Both events must be recorded before calculating elapsed time"):
        start.elapsed_time(torch.Event(enable_timing=True))


@asks("streams and events")
def are_the_times_those_of_completed_events():
    start, end = torch.Event(enable_timing=True), torch.Event(enable_timing=True)
    start.record()
    y = torch.ones(2, device="twin") + 1
    end.record()
    with pytest.raises(RuntimeError, match="Both events must be completed before calculating elapsed time"):
        start.elapsed_time(end)
    assert y is not None


@asks("streams and events")
def is_memory_kept_for_another_stream():
    stream, x = torch.Stream(), torch.ones(3, device="twin")
    x.record_stream(stream)
    assert state.recorded == [((3,), stream.native_handle)]
    with pytest.raises(TypeError, match="must be Stream"):
        x.record_stream(3)


@asks("streams and events")
def do_streams_have_a_priority():
    stream = torch.twin.Stream(priority=-1)
    assert stream.native_handle.priority == -1 and torch.Stream("twin", priority=-1).native_handle.priority == -1


@asks("streams and events")
def are_streams_equal_and_keys():
    stream = torch.Stream()
    with stream:
        assert torch.accelerator.current_stream() == stream and hash(torch.accelerator.current_stream()) == hash(stream)
    assert stream != torch.Stream() and stream != 3 and {stream: 1}[stream] == 1


@asks("streams and events")
def how_are_they_printed():
    stream, event = torch.Stream(device="twin:1"), torch.Event("twin")
    assert repr(stream) == f"torch.Stream device_type=twin, device_index=1, stream_id={stream.stream_id}"
    assert repr(event) == "torch.Event device_type=twin, device_index=-1, event_flag=0, event_id=0"
    assert repr(stream.record_event()).startswith("torch.Event device_type=twin, device_index=1, event_flag=0")


@asks("streams and events")
def are_streams_kept_in_a_pipeline():
    stream, x = torch.Stream(), torch.ones(2, device="twin")
    with torch.pipeline():
        y = x + 1
        stream.wait_stream(torch.accelerator.current_stream())
        with stream:
            z = y * 2
            event = stream.record_event()
        torch.accelerator.current_stream().wait_event(event)
        w = z + y
    assert stream.native_handle.given >= 1 and w.tolist() == [6.0, 6.0]


@asks("streams and events", AT_ONCE)
def does_backward_use_the_streams_of_forward():
    stream, x = torch.Stream(), torch.ones(2, device="twin", requires_grad=True)
    stream.wait_stream(torch.accelerator.current_stream())
    with stream:
        y = (x * x).sum()
    given = stream.native_handle.given
    y.backward()
    assert stream.native_handle.given > given
    assert (stream.native_handle, state.defaults[0]) in state.waits and x.grad.tolist() == [2.0, 2.0]


@asks("streams and events")
def does_a_captured_function_run_on_the_caller_s_stream():
    double = torch.capture(lambda x: x * 2 + 1)
    stream, x = torch.Stream(), torch.ones(2, device="twin")
    for _ in range(3):
        double(x)
    with stream:
        given = stream.native_handle.given
        y = double(x)
    assert y.tolist() == [3.0, 3.0] and stream.native_handle.given > given


# Memory.


@asks("memory", AT_ONCE)
def how_much_memory_do_tensors_hold():
    before = torch.twin.memory_allocated()
    x = torch.ones(1024, device="twin")
    assert torch.twin.memory_allocated() - before == 4096 == torch.accelerator.memory_allocated() - before
    assert torch.twin.memory_allocated(1) == 0
    view = x[2:]
    assert torch.twin.memory_allocated() - before == 4096
    del x, view
    assert torch.twin.memory_allocated() == before


@asks("memory", AT_ONCE)
def how_much_did_they_hold_at_most():
    x = torch.ones(1024, device="twin")
    del x
    assert torch.twin.max_memory_allocated() >= 4096
    torch.twin.reset_peak_memory_stats()
    assert torch.twin.max_memory_allocated() == torch.twin.memory_allocated()
    torch.accelerator.reset_peak_memory_stats("twin:1")
    assert torch.accelerator.max_memory_allocated(1) == torch.accelerator.max_memory_reserved(1) == 0


@asks("memory")
def which_statistics_are_there():
    x = torch.ones(2, device="twin")
    stats = torch.twin.memory_stats()
    assert stats["allocated_bytes.all.current"] == torch.twin.memory_reserved() and stats["num_ooms"] == 0
    assert stats == torch.accelerator.memory_stats(0) and list(stats) == sorted(stats) and x is not None


@asks("memory")
def is_there_a_summary():
    torch.ones(2, device="twin")
    summary = torch.twin.memory_summary()
    assert "memory summary" in summary and "OOMs: 0" in summary
    assert len(torch.twin.memory_summary(abbreviated=True)) <= len(summary)


@asks("memory", AT_ONCE)
def how_much_is_free():
    x = torch.ones(1024, device="twin:1")
    assert torch.twin.mem_get_info(1) == ((64 << 20) - 4096, 64 << 20) == torch.accelerator.get_memory_info("twin:1")
    assert x is not None


@asks("memory")
def is_unused_memory_given_back():
    for call in (torch.twin.empty_cache, torch.accelerator.empty_cache, torch.accelerator.empty_host_cache):
        assert call() is None
    torch.accelerator.reset_accumulated_memory_stats()


@asks("memory", AT_ONCE)
def is_want_of_memory_an_error_that_programs_catch():
    small = torch.ones(4, device="twin")
    with pytest.raises(torch.OutOfMemoryError) as caught:
        torch.empty(1 << 26, device="twin")
    assert isinstance(caught.value, RuntimeError) and isinstance(caught.value.__cause__, NoRoomError)
    assert "64" in str(caught.value) or "268435456" in str(caught.value)
    assert torch.twin.memory_stats()["num_ooms"] >= 1 and (small + 1).tolist() == [2.0] * 4
    assert torch.twin.OutOfMemoryError is torch.OutOfMemoryError


# Pinned memory.


@asks("pinned memory")
def is_a_tensor_pinned():
    x = torch.randn(10)
    assert not x.is_pinned()
    pinned = x.pin_memory()
    assert pinned.is_pinned() and pinned[2:5].is_pinned() and pinned.pin_memory() is pinned and torch.equal(pinned, x)
    assert torch.tensor([1.0], pin_memory=True).is_pinned() and not torch.ones(3, pin_memory=False).is_pinned()
    assert torch.tensor([1.0], pin_memory=True, requires_grad=True).requires_grad
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        torch.ones(2, device="twin").pin_memory()


@asks("pinned memory")
def does_a_copy_from_it_go_on_by_itself():
    pinned = torch.arange(4.0).pin_memory()
    y = pinned.to("twin:1", non_blocking=True)
    z = pinned.twin(non_blocking=True)
    assert state.uploads == 2 and y.device.index == 1 and z.device.index == 0
    torch.accelerator.synchronize(1)
    assert y.tolist() == z.tolist() == [0.0, 1.0, 2.0, 3.0]
    turned = torch.arange(6.0).reshape(2, 3).pin_memory().t()
    moved = turned.to("twin:1", non_blocking=True)
    assert state.uploads == 3 and moved.stride() == (1, 3) and moved.tolist() == turned.tolist()


@asks("memory")
def where_is_a_tensor():
    x = torch.arange(6.0, device="twin").reshape(2, 3)
    assert x.data_ptr() and x[1].data_ptr() == x.data_ptr() + 12 and x[1].untyped_storage().data_ptr() == x.data_ptr()
    assert torch.empty(0, device="twin").data_ptr() == 0 and x.clone().data_ptr() != x.data_ptr()
    with torch.pipeline():
        y = x + 1
        x.mul_(2)
        assert x.data_ptr() == x.detach().data_ptr() != y.data_ptr()


@asks("pinned memory", AT_ONCE)
def does_a_copy_to_the_host_go_on_by_itself():
    x = torch.arange(6.0, device="twin:1").reshape(2, 3).t()
    stream = torch.twin.current_stream(1)
    found = x.to("cpu", non_blocking=True)
    assert found.is_pinned() and found.stride() == x.stride() and state.downloads == 1 and not stream.query()
    assert not found.any()  # nothing has arrived
    stream.synchronize()
    assert found.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    half = x.to("cpu", torch.float64, non_blocking=True)
    torch.accelerator.synchronize(1)
    assert half.dtype is torch.float64 and half.is_pinned() and torch.equal(half, found.double())
    kept = torch.zeros(3, 2, pin_memory=True)
    version = kept._version
    assert kept.copy_(x, non_blocking=True) is kept and kept._version == version + 1 and not kept.any()
    event = torch.twin.Event()
    event.record(stream)
    event.synchronize()
    assert torch.equal(kept, found) and state.downloads == 3


@asks("pinned memory", AT_ONCE)
def do_other_copies_to_the_host_wait():
    x = torch.ones(3, device="twin")
    for found in (x.cpu(), x.to("cpu"), torch.zeros(3).copy_(x, non_blocking=True), torch.zeros(3).copy_(x)):
        assert found.tolist() == [1.0, 1.0, 1.0] and not found.is_pinned()
    assert torch.empty(0, device="twin").to("cpu", non_blocking=True).shape == (0,) and state.downloads == 0
    leaf = torch.ones(3, device="twin", requires_grad=True)
    moved = leaf.to("cpu", non_blocking=True)
    (moved * 2).sum().backward()
    torch.accelerator.synchronize()
    assert moved.is_pinned() and leaf.grad.tolist() == [2.0, 2.0, 2.0] and state.downloads == 1


@asks("pinned memory", AT_ONCE)
def does_a_copy_into_pinned_memory_come_from_there():
    pinned, x = torch.arange(3.0).pin_memory(), torch.zeros(3, device="twin")
    x.copy_(pinned, non_blocking=True)
    assert state.uploads == 1 and x.tolist() == [0.0, 1.0, 2.0]
    x.copy_(pinned)
    assert state.uploads == 1


@asks("pinned memory")
def does_a_loader_pin():
    data = torch.utils.data.TensorDataset(torch.arange(6.0), torch.arange(6))
    for values, labels in torch.utils.data.DataLoader(data, batch_size=3, pin_memory=True):
        assert values.is_pinned() and labels.is_pinned() and values.to(1, non_blocking=True).device.index == 1


@asks("pinned memory")
def are_storages_pinned():
    x = torch.randn(10)
    assert not x.storage().is_pinned("twin") and x.storage().pin_memory("twin").is_pinned("twin")
    assert not x.untyped_storage().is_pinned() and x.untyped_storage().pin_memory().is_pinned()
    assert x.pin_memory().untyped_storage().is_pinned("twin")


@asks("pinned memory")
def do_factories_pin():
    assert torch.empty(3, pin_memory=True).is_pinned()
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.empty(3, device="twin", pin_memory=True)


# Random numbers.


def _draw(index=0):
    return torch.rand(3, device=f"twin:{index}").tolist()


@asks("random numbers")
def does_one_seed_make_both_draw_the_same():
    torch.manual_seed(7)
    first = _draw(0), _draw(1)
    assert first[0] == first[1] != _draw(0)
    torch.twin.manual_seed_all(7)
    assert _draw(0) == _draw(1) == first[0] and torch.twin.initial_seed() == 7


@asks("random numbers")
def does_manual_seed_seed_the_current_one():
    torch.twin.manual_seed_all(1)
    with torch.twin.device(1):
        torch.twin.manual_seed(2)
        assert torch.twin.initial_seed() == 2
    assert torch.twin.initial_seed() == 1 and _draw(0) != _draw(1)


@asks("random numbers")
def is_the_state_of_an_index_read_and_set():
    state_of_1 = torch.twin.get_rng_state(1)
    assert state_of_1.dtype is torch.uint8 and state_of_1.device.type == "cpu"
    drawn = _draw(1)
    torch.twin.set_rng_state(state_of_1, "twin:1")
    assert _draw(1) == drawn
    states = torch.twin.get_rng_state_all()
    drawn = _draw(0), _draw(1)
    torch.twin.set_rng_state_all(states)
    assert len(states) == 2 and (_draw(0), _draw(1)) == drawn


@asks("random numbers")
def does_fork_rng_restore_it():
    torch.manual_seed(3)
    expected = _draw(0), _draw(1)
    torch.manual_seed(3)
    with torch.random.fork_rng(devices=[0, 1], device_type="twin"):
        _draw(0), _draw(1)
    assert (_draw(0), _draw(1)) == expected
    torch.manual_seed(3)
    with torch.random.fork_rng(devices=[0]):
        _draw(0)
    assert _draw(0) == expected[0]


@asks("random numbers")
def does_fork_rng_warn_of_several_devices():
    with pytest.warns(UserWarning, match="TWIN reports that you have 2 available devices"), torch.random.fork_rng():
        drawn = _draw(1)
    assert _draw(1) == drawn


@asks("random numbers")
def does_a_checkpoint_draw_the_same_again():
    x, drawn = torch.ones(8, device="twin:1", requires_grad=True), []

    def part(x):
        drawn.append(torch.nn.functional.dropout(x, 0.5))
        return drawn[-1] * x

    for is_reentrant in (True, False):
        torch.utils.checkpoint.checkpoint(part, x, use_reentrant=is_reentrant).sum().backward()
        assert drawn[-2].tolist() == drawn[-1].tolist()
    indices, states = torch.utils.checkpoint.get_device_states(x, [3])
    after = _draw(1)
    torch.utils.checkpoint.set_device_states(indices, states, device_type="twin")
    assert indices == [1] and _draw(1) == after


@asks("random numbers")
def does_a_generator_belong_to_an_index():
    generator = torch.Generator(device="twin:1").manual_seed(42)
    assert generator.device == torch.device("twin:1") and generator.initial_seed() == 42
    drawn = torch.rand(3, device="twin:1", generator=generator).tolist()
    assert torch.rand(3, device="twin:1", generator=generator.manual_seed(42)).tolist() == drawn
    with pytest.raises(RuntimeError, match="device type"):
        torch.rand(3, device="twin", generator=torch.Generator())


# Precision and profiles.


@asks("precision and profiles")
def does_autocast_work_on_it():
    x, y = torch.randn(2, 3, device="twin"), torch.randn(3, 3, device="twin")
    with torch.autocast("twin", dtype=torch.float16):
        assert torch.is_autocast_enabled("twin") and torch.mm(x, y).dtype is torch.float16
        assert torch.mm(x, y).exp().dtype is torch.float32
    assert torch.mm(x, y).dtype is torch.float32 and not torch.is_autocast_enabled("twin")


@asks("precision and profiles")
def which_dtype_does_autocast_use():
    assert torch.get_autocast_dtype("twin") is torch.float16
    torch.set_autocast_dtype("twin", torch.bfloat16)
    try:
        with torch.autocast("twin"):
            assert torch.mm(*[torch.ones(2, 2, device="twin")] * 2).dtype is torch.bfloat16
    finally:
        torch.set_autocast_dtype("twin", torch.float16)


@asks("precision and profiles")
def does_a_scaler_scale_and_skip():
    weight = torch.ones(2, device="twin", requires_grad=True)
    optimizer, scaler = torch.optim.SGD([weight], lr=1.0), torch.amp.GradScaler("twin", init_scale=8.0)
    scaler.scale((weight * 0.5).sum()).backward()
    assert weight.grad.tolist() == [4.0, 4.0]
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [0.5, 0.5]
    weight.grad = torch.full((2,), float("inf"), device="twin")
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [0.5, 0.5] and scaler.get_scale() == 4.0


@asks("precision and profiles", AT_ONCE)
def is_it_an_activity_of_the_profiler():
    from torchlike.profiler import ProfilerActivity, profile, supported_activities

    assert ProfilerActivity.TWIN is ProfilerActivity.PrivateUse1

    assert ProfilerActivity.PrivateUse1 in supported_activities()
    x = torch.ones(2, device="twin")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as found:
        x + x
    rows = {row.key: row for row in found.key_averages()}
    assert rows["aten::add"].self_device_time_total == 1000.0
    assert "Device" in found.key_averages().table(sort_by="device_time_total")


@asks("precision and profiles")
def does_a_profile_name_the_device():
    with torch.profiler.profile(use_device="twin") as found:
        torch.ones(2, device="twin") + 1
    assert any(row.key.startswith("aten::add") for row in found.key_averages())


# Files, copies and workers.


def _save(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


@asks("files, copies and workers")
def where_is_a_tensor_after_loading():
    file = _save(torch.arange(3.0, device="twin:1"))
    places = {None: "twin:1", "twin:0": "twin:0", "cpu": "cpu", "twin": "twin:0"}
    for place, expected in places.items():
        file.seek(0)
        loaded = torch.load(file, map_location=place)
        assert loaded.device == torch.device(expected) and loaded.tolist() == [0.0, 1.0, 2.0]
    file.seek(0)
    assert torch.load(file, map_location={"twin:1": "twin:0"}).device.index == 0


@asks("files, copies and workers")
def do_tensors_share_memory_after_loading():
    x = torch.zeros(4, device="twin")
    first, second = torch.load(_save([x, x[1:3]]), map_location="twin:1")
    first[1] = 5.0
    assert second.tolist() == [5.0, 0.0] and second.device.index == 1
    net = torch.nn.Linear(2, 2).twin(1)
    other = torch.nn.Linear(2, 2)
    other.load_state_dict(torch.load(_save(net.state_dict())))
    assert torch.equal(other.weight, net.weight.cpu())


@asks("files, copies and workers")
def is_a_copy_on_the_same_device():
    x = torch.arange(3.0, device="twin:1", requires_grad=True)
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert other.device == x.device and other.requires_grad and other.tolist() == x.tolist() and other is not x
    net = copy.deepcopy(torch.nn.Linear(1, 1).twin(1))
    assert net.weight.device.index == 1


@asks("files, copies and workers")
def are_storages_tagged_with_it():
    storage = torch.UntypedStorage(4, device="twin")
    assert torch.serialization.location_tag(storage) == "twin:0"
    assert torch.serialization.location_tag(torch.UntypedStorage(4, device=torch.device("twin:1"))) == "twin:1"
    moved = torch.serialization.default_restore_location(torch.empty(4).storage(), "twin:1")
    assert moved.is_twin and moved.device == torch.device("twin:1")


@asks("files, copies and workers")
def do_copies_cross_devices():
    x = torch.arange(3.0, device="twin:0")
    y = torch.empty(3, device="twin:1")
    assert y.copy_(x).tolist() == [0.0, 1.0, 2.0] and x.to("twin:1").device.index == 1
    host = torch.empty(3).copy_(y)
    assert host.tolist() == [0.0, 1.0, 2.0] and x.to("twin:0") is x and x.to("twin:0", copy=True) is not x


@asks("files, copies and workers")
def do_workers_load_for_it():
    data = torch.utils.data.TensorDataset(torch.arange(4.0))
    loader = torch.utils.data.DataLoader(data, batch_size=2, num_workers=1)
    assert [values.twin(1).sum().item() for (values,) in loader] == [1.0, 5.0]


# Errors.


@asks("errors")
def are_two_indices_in_one_call_refused():
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device") as caught:
        torch.ones(2, device="twin:0") + torch.ones(2, device="twin:1")
    assert "twin:0" in str(caught.value) and "twin:1" in str(caught.value)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.ones(2, device="twin") + torch.ones(2)
    assert (torch.ones(2, device="twin:1") + torch.tensor(1.0)).tolist() == [2.0, 2.0]


@asks("errors", AT_ONCE)
def when_does_a_late_error_come():
    x = torch.ones(2, device="twin")
    torch.twin.break_next()
    y = x + x
    with pytest.raises(RuntimeError, match=r"aten::add\.Tensor failed on twin after it had been launched") as caught:
        torch.twin.synchronize()
    assert isinstance(caught.value.__cause__, VendorError)
    assert isinstance(caught.value, torch.AcceleratorError)
    assert (x * 3).tolist() == [3.0, 3.0] and y is not None


@asks("errors", AT_ONCE)
def does_the_host_compute_what_is_missing():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = torch.linalg.eigvalsh(torch.eye(2, device="twin:1"))
    assert found.device == torch.device("twin:1") and found.tolist() == [1.0, 1.0]
    assert any("twin" in str(each.message) for each in caught)


@asks("errors")
def is_the_device_usable_after_an_error():
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        torch.ones(5, 5, device="twin:1") @ torch.ones(3, 3, device="twin:1")
    assert torch.twin.current_device() == 0 and torch.ones(2, device="twin").sum().item() == 2.0


# Names of programs for torch.


@asks("names of programs for torch")
def is_the_backend_renamed_once():
    torch.utils.rename_privateuse1_backend("twin")
    torch.utils.rename_privateuse1_backend("twin")
    with pytest.raises(RuntimeError, match="has already been set"):
        torch.utils.rename_privateuse1_backend("other")


@asks("names of programs for torch")
def are_methods_generated():
    for owner in (torch.Tensor, torch.TypedStorage, torch.UntypedStorage):
        assert hasattr(owner, "is_twin") and hasattr(owner, "twin"), owner
    assert callable(torch.nn.Linear(1, 1).twin)
    storage = torch.ones(4, 4).storage()
    assert not storage.is_twin and storage.twin().is_twin and storage.untyped().twin(1).device.index == 1


@asks("names of programs for torch")
def do_packed_sequences_move():
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(3, 2), torch.ones(1, 2)])
    assert not packed.is_twin and packed.twin().is_twin and packed.twin(1).data.device.index == 1


@asks("names of programs for torch")
def are_tensors_typed_by_it():
    types = {torch.float32: "Float", torch.int64: "Long", torch.bool: "Bool", torch.uint8: "Byte", torch.half: "Half"}
    for dtype, name in types.items():
        assert torch.empty(2, dtype=dtype, device="twin").type() == f"torchlike.twin.{name}Tensor"


@asks("names of programs for torch")
def is_a_function_of_its_module_found():
    torch.utils.rename_privateuse1_backend("twin")
    found = torch.utils.backend_registration._get_custom_mod_func
    assert found("device_count")() == 2
    with pytest.raises(RuntimeError, match=r"Try to call torchlike\.twin\.fly"):
        found("fly")


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answer_is_torch_s(question):
    question()


def test_the_table_counts_them():
    rows = [line.split("|")[1:3] for line in __doc__.splitlines() if line.startswith("| ")][2:]
    assert {about.strip(): int(count) for about, count in rows} == COUNTS
    assert len(QUESTIONS) >= 58


BEGIN = """
import os, sys
os.environ["DISPATCH_ACCELERATOR"] = "twin"
sys.path[:0] = {path!r}
import questions_device
with questions_device.register():
"""
PROGRAMS = {
    "types": "print(torch.ones(1).twin().type(), torch.twin.Stream.__module__, torch.twin.__name__)",
    "module": "from torch.twin import device_count; import torch.twin; print(device_count(), torch.device(1))",
    "profiler": "from torch.autograd.profiler import profile\n    with profile(use_device='twin') as found:\n"
    "        torch.ones(2, device=1) + 1\n    print(any('aten::add' in each.name for each in found.function_events))",
    "names": "torch.utils.rename_privateuse1_backend('twin')\n"
    "    torch.utils.backend_registration._get_custom_mod_func('fly')",
    "memory": "try:\n        torch.empty(1 << 26, device='twin')\n    except torch.OutOfMemoryError as error:\n"
    "        print(type(error.__cause__).__name__, torch.OutOfMemoryError.__module__)",
    "late": "x = torch.ones(2, device='twin')\n    torch.twin.break_next()\n    y = x + x\n    try:\n"
    "        torch.accelerator.synchronize()\n    except torch.AcceleratorError as error:\n"
    "        print(type(error.__cause__).__name__)",
    "training": "net = torch.nn.Linear(2, 1).twin(1); optimizer = torch.optim.Adam(net.parameters())\n"
    "    net(torch.ones(4, 2, device=1)).sum().backward(); optimizer.step(); print(net.weight.grad)",
}
PRINTED = {
    "types": "torch.twin.FloatTensor torch.twin torch.twin",
    "module": "2 twin:1",
    "profiler": "True",
    "memory": "NoRoomError torch",
    "late": "VendorError",
    "training": "tensor([[4., 4.]], device='twin:1')",
}


def test_programs_for_torch_get_the_same_answers(run_programs):
    begin = BEGIN.format(path=[str(Path(each)) for each in sys.path if each])
    found = run_programs({name: f"{begin}    {code}" for name, code in PROGRAMS.items()})
    assert found["names"][1].startswith("RuntimeError: Try to call torch.twin.fly")
    assert {name: found[name] for name in PRINTED} == {name: (text, "") for name, text in PRINTED.items()}
