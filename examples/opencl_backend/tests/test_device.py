"""The parts of the device that the conformance kit does not compare; ``dispatch verify opencl`` has the rest."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from opencl_backend import driver, nest

import dispatch_core as dc
import torchlike


@pytest.fixture
def grid():
    return torchlike.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], device="opencl")


def test_the_device_is_found_by_its_name_alone():
    assert dc.backends()["opencl"].distribution == "opencl-backend"
    assert dc.current_accelerator() == dc.Device("opencl")
    assert (torchlike.ones(2, device="opencl") + 1).tolist() == [2, 2]


FUNCTIONS = {
    "arithmetic": lambda x: (x * 2 - x / 4).exp(),
    "a mean over rows": lambda x: x.mean(1, keepdim=True),
    "a matrix product": lambda x: x @ x.T,
    "softmax of a transposed view": lambda x: x.T.softmax(0),
    "indices": lambda x: x[torchlike.tensor([0, -1], device=x.device), 1:],
    "sorting": lambda x: x.reshape(-1).sort(descending=True)[1],
}


@pytest.mark.filterwarnings("ignore:The operator .* will fall back to run on the cpu:UserWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_eager_calls_and_pipelines_agree_with_the_cpu(name, both_modes):
    both_modes(FUNCTIONS[name], np.linspace(-1, 1, 6).reshape(2, 3))


def test_a_mask_is_read_and_written_with_a_warning_at_the_users_line(grid):
    with pytest.warns(UserWarning, match="'aten::nonzero' .* will fall back") as caught:
        assert grid[grid > 3].tolist() == [4, 5]
    assert caught[0].filename == __file__
    grid[grid > 3] = 0.0
    assert grid.tolist() == [[0, 1, 2], [3, 0, 0]]


def chain(x, w):
    y = ((x * 2 + w).sigmoid() - 0.5).relu()
    y.add_(1)
    y.mul_(w)
    return y, (y > 0.6).sum(0)


def test_a_chain_is_one_kernel_whose_bits_are_those_of_its_calls():
    x, w = torchlike.randn(70, 3).to("opencl"), torchlike.randn(3).to("opencl")
    expected = chain(x, w)
    with torchlike.pipeline() as pipe:
        found = chain(x, w)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.numpy(force=True), other.numpy(force=True))
    assert pipe.stats().fused == 10


def test_equal_chains_are_compiled_once():
    x = torchlike.ones(5, device="opencl")
    for sizes in (2, 3):
        y = torchlike.ones(sizes, 5, device="opencl")
        with torchlike.pipeline():
            (y.sum(0) + x).exp().sin()
            z = (y + x).exp().sin()
        assert z.shape == (sizes, 5)
        if sizes == 2:
            compiled = nest._build.cache_info().misses
    assert nest._build.cache_info().misses == compiled


@pytest.mark.parametrize("size", [1, 63, 64, 65, 1025])
def test_the_last_work_group_writes_no_element_too_many(size):
    whole = torchlike.zeros(2048, device="opencl")
    whole[:size].add_(1)
    assert whole.sum().item() == size


def train(device, way):
    """Train a small classifier for ten steps, and return its losses and weights."""
    generator = torchlike.Generator().manual_seed(0)
    torchlike.manual_seed(0)
    model = torchlike.nn.Sequential(torchlike.nn.Linear(16, 32), torchlike.nn.ReLU(), torchlike.nn.Linear(32, 4))
    model.to(device)
    optimizer = torchlike.optim.Adam(model.parameters(), lr=0.01)

    def step(x, y):
        loss = torchlike.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    run, losses = torchlike.capture(step) if way == "capture" else step, []
    for _ in range(10):
        x = torchlike.randn(24, 16, generator=generator)
        y = x[:, :4].argmax(1)
        with torchlike.pipeline() if way == "pipeline" else contextlib.nullcontext():
            losses.append(run(x.to(device), y.to(device)))
    return [each.item() for each in losses], [each.detach().cpu().numpy() for each in model.parameters()]


@pytest.mark.parametrize("way", ["eager", "pipeline", "capture"])
def test_training_gives_the_values_of_the_cpu(way):
    (losses, weights), (expected, others) = train("opencl", way), train("cpu", "eager")
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    for one, other in zip(weights, others, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def test_two_devices_compute_by_themselves_and_share_a_model():
    """A step with each half of a batch on its own device, by hand: the gradients together are those of the whole batch."""
    torchlike.manual_seed(0)
    data = torchlike.randn(8, 3)
    layer = torchlike.nn.Linear(3, 2)
    layer(data).square().sum().backward()
    expected, total = layer.weight.grad, torchlike.zeros(2, 3)
    for index, half in enumerate(data.chunk(2)):
        replica = torchlike.nn.Linear(3, 2).to(f"opencl:{index}")
        replica.load_state_dict(layer.state_dict())
        loss = replica(half.to(f"opencl:{index}")).square().sum()
        loss.backward()
        assert loss.device == torchlike.device("opencl", index)
        total += replica.weight.grad.cpu()
    np.testing.assert_allclose(total.numpy(), expected.numpy(), rtol=1e-5)


def test_a_stream_waits_for_the_streams_whose_memory_it_reads(grid):
    streams = [dc.Stream("opencl:0") for _ in range(3)]
    x = grid.sum()
    for step in range(60):
        with streams[step % 3]:
            x = x + 1
    assert x.item() == 75


def test_events_measure_the_time_between_them(grid):
    start, end = (dc.Event("opencl", enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(10):
        grid = grid + 1
    end.record()
    end.synchronize()
    assert dc.Stream("opencl").query()
    assert 0 < start.elapsed_time(end) < 10_000


def test_memory_is_counted_given_back_and_refused():
    memory = driver_interface().memory
    before = memory.stats(0)["allocated_bytes.all.current"]
    tensor = torchlike.ones(1 << 18, device="opencl")
    assert memory.stats(0)["allocated_bytes.all.current"] == before + (1 << 20)
    del tensor
    assert memory.stats(0)["allocated_bytes.all.current"] == before
    driver_interface().empty_cache()
    stats = memory.stats(0)
    assert stats["reserved_bytes.all.current"] == stats["allocated_bytes.all.current"]
    with pytest.raises(MemoryError, match=r"bytes left, of which \d+ were wanted"):
        torchlike.empty(1 << 45, device="opencl")
    assert (torchlike.ones(2, device="opencl") + 1).tolist() == [2, 2]


def driver_interface():
    from opencl_backend.plugin import INTERFACE

    return INTERFACE


def test_pinned_memory_is_a_buffer_that_can_be_written_to():
    pinned = np.frombuffer(driver_interface().host_allocator(64), np.float32)
    pinned[:] = 3
    assert torchlike.tensor(pinned, device="opencl").sum().item() == 48
    rows = torchlike.arange(6.0).reshape(2, 3).pin_memory()
    assert rows.is_pinned()
    for each in (rows, rows.T, rows[:, 1]):
        assert each.to("opencl", non_blocking=True).tolist() == each.tolist()
        back = each.to("opencl").to("cpu", non_blocking=True)
        torchlike.opencl.synchronize()
        assert back.is_pinned() and back.stride() == each.to("opencl").stride() and torchlike.equal(back, each)


def test_copies_between_devices_and_to_the_host_are_in_the_order_of_the_streams(grid):
    first, second = dc.Stream("opencl:0"), dc.Stream("opencl:1")
    with first, second:
        for _ in range(20):
            grid = grid + 1
        there = grid.t().to("opencl:1")
        grid.zero_()
        for _ in range(20):
            there = there + 1
        found = there.to("cpu", non_blocking=True)
    second.synchronize()
    assert there.device == torchlike.device("opencl", 1) and grid.sum().item() == 0
    assert found.is_pinned() and found.t().tolist() == [[40.0, 41.0, 42.0], [43.0, 44.0, 45.0]]


def test_a_wrong_index_is_an_error_where_the_host_reads_and_of_its_results_alone(grid):
    wrong = grid[torchlike.tensor([5], device="opencl")] + 1
    for _ in range(2):
        with pytest.raises(dc.AsyncDeviceError, match=r"index.Tensor failed .* index 5 is out of bounds") as caught:
            wrong.tolist()
        assert isinstance(caught.value.__cause__, IndexError)
    grid[torchlike.tensor([0, 9], device="opencl")] = 7.0
    with pytest.raises(dc.AsyncDeviceError, match="aten::index_put_ failed"):
        dc.synchronize("opencl")
    with pytest.raises(dc.AsyncDeviceError, match="ZeroDivisionError"):
        (torchlike.ones(3, device="opencl").int() // 0).tolist()
    assert torchlike.ones(3, device="opencl").sum().item() == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_is_refused_instead_of_waiting_for_ever(grid):
    assert driver.is_open()
    child = os.fork()
    if not child:
        try:
            grid + 1
        except dc.BackendError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


TORCH_PROGRAM = """
import torch
for dtype in torch.float16, torch.float32, torch.int64, torch.bool:
    x = torch.ones(2, 3, dtype=dtype).to("opencl")
    assert x.dtype is dtype and (x.t() * 1).cpu().tolist() == torch.ones(3, 2, dtype=dtype).tolist(), dtype
gradients = []
for device in "cpu", "opencl":
    x = torch.linspace(-1, 1, 6).reshape(2, 3).to(device).requires_grad_()
    y = ((x * 2).exp() @ x.t())[torch.tensor([1, 0], device=device)]
    y.softmax(1)[0].sum().add(y.amax(0).sum()).backward()
    gradients.append(x.grad.cpu())
print(x.device, x.dtype, torch.allclose(*gradients))
"""


def test_a_program_written_for_torch_runs_on_the_device():
    command = [sys.executable, "-m", "torchlike", "run", "-c", TORCH_PROGRAM]
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "opencl:0 torch.float32 True\n"), done.stderr


def test_two_devices_learn_the_digits_as_one_does():
    pytest.importorskip("sklearn", reason="the example reads its images from scikit-learn")
    program = Path(__file__).parents[2] / "train_on_two_devices.py"
    command = [sys.executable, program, "--device", "opencl", "--epochs", "2"]
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert float(re.search(r"difference to one device: (\S+) of the loss", done.stdout)[1]) < 1e-5
