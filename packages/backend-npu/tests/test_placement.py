"""Arrays on two devices, each of which computes with its own."""

import subprocess
import sys

import pytest

import dispatch_core as dc
import torchlike
from dispatch_aten.operators import ATEN, KIND_OF
from dispatch_backend_npu import runtime
from dispatch_backend_npu.placement import takes_device
from dispatch_core.schema import FunctionSchema


@pytest.fixture
def two(npu):
    """Arrays of the devices 0 and 1."""
    if runtime.device_count() < 2:
        pytest.skip("one device only")
    return torchlike.ones(2, 3, device="npu:0"), torchlike.ones(2, 3, device="npu:1")


def test_factories_work_where_they_are_asked_to(two):
    first, second = two
    assert (first.device.index, second.device.index) == (0, 1)
    assert torchlike.npu.current_device() == 0
    assert torchlike.tensor([1.0], device="npu:1").device.index == 1
    assert torchlike.zeros_like(second).device.index == 1
    with torchlike.npu.device(1):
        assert torchlike.zeros(2, device="npu").device.index == 1
    assert torchlike.zeros(2, device="npu").device.index == 0


def test_operators_work_where_their_arrays_lie(two):
    _, second = two
    results = second + second, second.sum(), second @ second.t(), second[0], second.relu_(), torchlike.cat([second])
    assert {result.device.index for result in results} == {1}
    assert results[0].tolist() == [[2.0] * 3] * 2 and results[1].item() == 6.0
    x = torchlike.ones(3, device="npu:1", requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3 and x.grad.device.index == 1


def test_arrays_of_two_devices_are_refused_by_name(two):
    first, second = two
    with pytest.raises(
        dc.DeviceMismatchError, match=r"aten::add\.Tensor: .* found at least two devices, npu:0 and npu:1"
    ):
        first + second
    with pytest.raises(dc.DeviceMismatchError, match="aten::cat"):
        torchlike.cat([second, first])


def test_copies_go_from_one_device_to_another(two):
    first, second = two
    assert second.to("npu:0").device.index == 0 and first.to("npu:1").tolist() == [[1.0] * 3] * 2
    assert second.cpu().device.type == "cpu"
    first.copy_(second * 5)
    assert first.tolist() == [[5.0] * 3] * 2 and first.device.index == 0
    x = torchlike.ones(3, device="npu:1", requires_grad=True)
    x.to("npu:0").sum().backward()
    assert x.grad.device.index == 1


def test_results_of_a_pipeline_lie_on_its_device(two):
    first, second = two
    with torchlike.pipeline():
        results = first + first, second + second
    assert [result.device.index for result in results] == [0, 1]
    assert [result.sum().item() for result in results] == [12.0, 12.0]


def test_a_pending_value_knows_its_device(npu):
    with torchlike.pipeline():
        pending = torchlike.ones(2, device="npu") + 1
        assert pending.device == torchlike.device("npu:0")


def test_a_second_device_ends_recording(two):
    code = """
import dispatch_core as dc
import torchlike
with torchlike.pipeline() as pipe:
    first = torchlike.ones(2, device="npu") + 1
    assert first._pending and first.device.index == 0
    second = torchlike.ones(2, device="npu:1") + 1
    assert not first._pending and not second._pending
    try:
        first + second
    except dc.DeviceMismatchError as error:
        assert "found at least two devices, npu:0 and npu:1" in str(error)
    else:
        raise SystemExit("it was not refused")
assert (first.device.index, second.device.index) == (0, 1)
assert {why for _, why in pipe.stats().eager} == {"several devices are open"}
"""
    # In a process of its own, because a device stays open.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_only_some_kinds_of_operators_take_a_device():
    named = {
        each.name
        for each in ATEN
        if any(str(argument.type) == "Device?" for argument in FunctionSchema.parse(each.schema).arguments)
    }
    assert {name for name in KIND_OF if takes_device(name)} == named
