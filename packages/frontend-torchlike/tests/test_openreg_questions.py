"""What the tests of torch's own example of a device, ``openreg``, ask of it, asked of a device here (source: its tests).

Left out: quantized tensors, which have tests of their own; fake tensors and named dimensions, which are not here; memory
shared between processes, and metadata of a backend in files, for which there is no part; the fork that openreg refuses,
where devices here decide.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import questions_device
from paired_devices import wrong
from questions_device import state

import torchlike as torch
from torchlike import nn
from torchlike.profiler import profile, record_function

at_once = pytest.mark.no_pipeline(reason="calls are launched when they run")


@pytest.fixture(autouse=True)
def device(monkeypatch):
    monkeypatch.setenv("DISPATCH_ACCELERATOR", "twin")
    with questions_device.register():
        yield
        assert not wrong, wrong


def test_devices_of_threads_that_work_at_once():
    barrier, found = threading.Barrier(4), []

    def work(number):
        barrier.wait()
        for _ in range(20):
            torch.accelerator.set_device_index(number % 2)
            x = torch.randn(4, 4, device="twin")
            total = (x @ torch.randn(4, 4, device="twin")).sum()
            found.append(
                (torch.accelerator.current_device_index(), x.device.index, total.device.index) == (number % 2,) * 3
            )
        torch.accelerator.set_device_index(0)

    with ThreadPoolExecutor(4) as pool:
        for each in [pool.submit(work, number) for number in range(4)]:
            each.result()
    assert len(found) == 80 and all(found)


def test_devices_after_errors_in_nested_blocks():
    with pytest.raises(RuntimeError, match="inner"), torch.accelerator.device_index(1):
        assert torch.accelerator.current_device_index() == 1
        with torch.accelerator.device_index(0):
            assert torch.accelerator.current_device_index() == 0
            raise RuntimeError("inner")
    with torch.accelerator.device_index(None):
        assert torch.accelerator.current_device_index() == 0


SPAWNED = """
import sys
sys.path[:0] = {path!r}
import questions_device, torchlike as torch
with questions_device.register():
    torch.accelerator.set_device_index(1)
    x = torch.ones(10, 10, device="twin")
    print((x @ x).sum().item(), x.device)
"""


def test_a_process_of_its_own_uses_it():
    done = subprocess.run(
        [sys.executable, "-c", SPAWNED.format(path=sys.path)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout == "1000.0 twin:1\n", done.stderr


def test_events_differ_and_are_used_again():
    stream = torch.Stream("twin:1")
    first, second = stream.record_event(), stream.record_event()
    assert 0 not in (first.event_id, second.event_id) and first.event_id != second.event_id
    for _ in range(2):
        first.record(stream)
        stream.synchronize()
        assert first.query()


@at_once
def test_several_streams_wait_for_one_event():
    streams = [torch.Stream("twin:0") for _ in range(3)]
    assert len({each.stream_id for each in streams}) == 3
    x = torch.ones(3, 3, device="twin:0")
    event = streams[0].record_event()
    for stream in streams[1:]:
        stream.wait_event(event)
    found = []
    for stream in streams[1:]:
        with stream:
            found.append(x @ x)
    torch.accelerator.synchronize()
    assert event.query() and [each.sum().item() for each in found] == [27.0, 27.0]
    assert state.waits[:2] == [(streams[0].native_handle, each.native_handle) for each in streams[1:]]


def test_a_stream_is_made_of_its_number():
    stream = torch.Stream("twin:1")
    again = torch.Stream(stream_id=stream.stream_id, device_type=stream.device_type, device_index=stream.device_index)
    assert again == stream and again.native_handle is stream.native_handle
    default = torch.twin.default_stream(1)
    assert torch.Stream(stream_id=default.stream_id, device_type="twin", device_index=1) == default
    with pytest.raises(RuntimeError, match="no stream"):
        torch.Stream(stream_id=7, device_type="twin", device_index=1)


def test_set_stream_changes_the_device():
    try:
        for index in (0, 1):
            stream = torch.Stream(f"twin:{index}")
            torch.accelerator.set_stream(stream)
            assert torch.accelerator.current_stream() == stream and torch.accelerator.current_device_index() == index
    finally:
        for index in (1, 0):
            torch.accelerator.set_stream(torch.twin.default_stream(index))


@at_once
@pytest.mark.parametrize("how", ["plain", "copies", "views", "writes", "gradients"])
def test_memory_is_free_after_work(how):
    def work():
        x = torch.ones(100, device="twin", requires_grad=how == "gradients")
        if how == "copies":
            return x.cpu().to("twin").clone()
        if how == "views":
            return x.view(10, 10), x[10:20], x.reshape(20, 5)
        if how == "writes":
            return x.add_(1).mul_(2).div_(2).sub_(1)
        if how == "gradients":
            return (x * x).sum().backward()
        return x

    work()
    gc.collect()
    before = torch.twin.memory_allocated()
    for _ in range(20):
        work()
    gc.collect()
    assert torch.twin.memory_allocated() == before


def test_memory_is_that_of_each_device():
    kept = [torch.empty(100, device=f"twin:{index}") for index in (0, 1, 1)]
    torch.accelerator.synchronize()
    assert [each.device.index for each in kept] == [0, 1, 1]
    assert torch.twin.memory_allocated(1) == 2 * torch.twin.memory_allocated(0) == 800


def test_views_and_writes_share_memory():
    x = torch.ones(100, device="twin")
    y, z = x.view(10, 10), x[10:20]
    x.fill_(5.0)
    assert y.sum().item() == 500.0 and z.sum().item() == 50.0
    assert y.untyped_storage() == x.untyped_storage() and x.storage().size() == 100
    x.resize_(50)
    assert x.resize_(100).numel() == 100
    assert torch.empty(2, 3, 4, 4, device="twin", memory_format=torch.channels_last).is_contiguous(
        memory_format=torch.channels_last
    )


def test_data_is_replaced_by_that_of_another_device():
    x, y = torch.ones(4, 4), torch.zeros(4, 4, device="twin")
    x.data = y
    assert x.is_twin and x.sum().item() == 0.0
    x.data = torch.ones(4, 4)
    assert x.is_cpu and x.sum().item() == 16.0


def test_a_part_of_pinned_memory_is_pinned():
    pinned = torch.arange(10.0).pin_memory()
    part = torch.tensor((), dtype=torch.float32).set_(
        pinned.untyped_storage()[4:], size=(5,), stride=(1,), storage_offset=0
    )
    assert part.is_pinned() and part.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert torch.tensor((), dtype=torch.float32).set_(pinned.untyped_storage()[2:], 0, (5,), (1,)).shape == (5,)


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x.abs(),
        lambda x: x.t().abs(),
        lambda x: torch.abs(x, out=torch.empty_like(x)),
        lambda x: x.masked_select(x > 0),
        lambda x: x[:1].expand(4, 3),
        lambda x: x.as_strided((2, 2), (3, 1), 1),
        lambda x: torch._foreach_add([x, x], [x, x])[1],
        lambda x: torch.maximum(x, -x),
        lambda x: torch.minimum(x, -x, out=torch.empty_like(x)),
        lambda x: x[torch.tensor([1, 0], device=x.device), torch.tensor([1, 0], device=x.device)],
        lambda x: torch.empty_like(x).set_(x),
        lambda x: torch.empty(2, 3, device=x.device).set_(x.storage(), 0, (2, 3)),
        lambda x: torch.full((3, 4), 5.0, device=x.device),
        lambda x: torch.triu_indices(3, 3, device=x.device),
        lambda x: x.double().copy_(x, non_blocking=True),
        lambda x: nn.functional.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True),
        lambda x: torch.empty_strided((3, 4), (4, 1), device=x.device).fill_(2.0),
        torch.from_dlpack,
    ],
)
def test_operators_give_the_cpus_values(compute):
    host = torch.tensor([[-1.0, 2.0, -3.0], [4.0, -5.0, 6.0]])
    found, expected = compute(host.to("twin:1")), compute(host)
    assert found.device == torch.device("twin:1")
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert torch.allclose(found.cpu(), expected)


@pytest.mark.parametrize("options", [{}, {"num_layers": 2}, {"bidirectional": True}, {"batch_first": True}])
def test_recurrent_layers_give_the_cpus_values(options):
    layer, x = nn.LSTM(4, 5, **options), torch.randn(3, 2, 4)
    expected = layer(x)
    output, (hidden, cell) = layer.twin()(x.twin())
    assert {each.device.type for each in (output, hidden, cell)} == {"twin"}
    for found, wanted in ((output, expected[0]), (hidden, expected[1][0]), (cell, expected[1][1])):
        assert torch.allclose(found.cpu(), wanted, atol=1e-5)


def test_a_packed_sequence_runs_on_it():
    packed = nn.utils.rnn.pack_sequence([torch.randn(length, 4) for length in (5, 3, 1)]).to("twin")
    output, (hidden, _) = nn.LSTM(4, 5).to("twin")(packed)
    assert output.is_twin and output.data.is_twin and hidden.is_twin


def test_seeds_that_are_drawn_differ():
    torch.twin.seed_all()
    first = torch.twin.initial_seed()
    torch.twin.seed_all()
    assert torch.twin.initial_seed() != first
    with torch.twin.device(1):
        second = torch.twin.initial_seed()
    assert second == torch.twin.initial_seed()


def test_autocast_refuses_float32():
    with (
        pytest.warns(UserWarning, match="autocast, but the target dtype is not supported"),
        torch.autocast("twin", dtype=torch.float32),
    ):
        assert not torch.is_autocast_enabled("twin")


@at_once
def test_profiles_of_a_training_step_on_two_streams(tmp_path):
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to("twin")
    optimizer, loss = torch.optim.SGD(net.parameters(), lr=0.1), nn.MSELoss()
    x, target, stream = torch.randn(3, 4, device="twin"), torch.randn(3, 2, device="twin"), torch.Stream("twin")
    with profile(use_device="twin", record_shapes=True) as found:
        with record_function("forward"):
            output = net(x)
        stream.wait_stream(torch.accelerator.current_stream())
        with record_function("loss"), stream:
            error = loss(output, target)
        error.backward()
        with record_function("step"):
            optimizer.step()
            optimizer.zero_grad()
    names = [each.name for each in found.function_events]
    assert {"forward", "loss", "step"} <= {*names} and any("linear" in name or "addmm" in name for name in names)
    averages = found.key_averages(group_by_input_shape=True)
    assert sum(each.self_device_time_total for each in averages) > 0
    assert isinstance(found.key_averages().table(sort_by="cpu_time_total", row_limit=10), str)
    found.export_chrome_trace(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def test_a_profile_outlives_an_error():
    with pytest.raises(ValueError, match="mine"), profile(use_device="twin") as found:
        raise ValueError("mine")
    assert list(found.events()) == []
    with profile(False) as found:
        torch.ones(1, device="twin")
    with pytest.raises(AssertionError, match="Profiler must be initialized"):
        found.events()
