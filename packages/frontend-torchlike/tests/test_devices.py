"""Devices found as plugins, tensors on two of them, and an NPU that is not there."""

import os
import subprocess
import sys

import pytest

import torchlike
from torchlike import tensor


@pytest.fixture
def cpu():
    return torchlike.ones(3)


@pytest.fixture
def meta():
    return torchlike.ones(3, device="meta")


def test_tensors_of_two_devices_are_refused_by_name(cpu, meta):
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device") as caught:
        cpu + meta
    assert "cpu" in str(caught.value) and "meta" in str(caught.value) and "aten::add.Tensor" in str(caught.value)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torchlike.cat([cpu, meta])


def test_numbers_on_the_cpu_go_everywhere(meta):
    assert (tensor(2.0) * meta).device.type == "meta"
    assert (meta + tensor(2.0)).shape == (3,)
    assert torchlike.where(meta > 0, tensor(1.0), meta).is_meta
    assert meta.add_(tensor(1.0)) is meta


def test_a_number_on_the_cpu_is_not_written_from_elsewhere(meta):
    number = tensor(2.0)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        number.add_(meta)
    assert number.item() == 2.0 and number._version == 0


def test_copies_and_indices_cross_devices(cpu, meta):
    assert meta.copy_(cpu) is meta
    with pytest.raises(RuntimeError, match="no data"):
        cpu.copy_(meta)
    assert meta[tensor([0, 1])].shape == (2,)
    meta[tensor([0])] = tensor(5.0)


def test_gradients_cross_devices(cpu):
    x = torchlike.ones(3, requires_grad=True)
    moved = x.to("meta")
    assert moved.requires_grad
    y = torchlike.ones(3, device="meta", requires_grad=True)
    (y * 2).sum().backward()
    assert y.grad.is_meta and y.grad.shape == (3,)


def test_meta_computes_shapes_and_nothing_else(meta):
    out = torchlike.nn.Linear(3, 5, device="meta")(meta.expand(4, 3))
    assert out.shape == (4, 5) and out.is_meta and out.requires_grad
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        torchlike.ones(2, 3, device="meta") @ torchlike.ones(2, 3, device="meta")


def test_an_unknown_device_is_named_with_what_there_is():
    with pytest.raises(RuntimeError, match="'nowhere'") as caught:
        torchlike.ones(1, device="nowhere")
    assert "cpu" in str(caught.value)


NO_NPU = """
import torchlike
assert torchlike.npu.is_available() is False and torchlike.npu.device_count() == 0
assert torchlike.npu.is_initialized() is False and torchlike.npu.memory_allocated() == 0
torchlike.npu.empty_cache()
try:
    torchlike.ones(1, device="npu")
except RuntimeError as error:
    assert torchlike.npu.availability().reason in str(error)
    print(error)
"""


def test_the_npu_says_why_it_is_not_available():
    if torchlike.npu.is_available():
        pytest.skip("there is an NPU, or a simulator of one")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", NO_NPU], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "cannot be opened on this machine" in done.stdout


def test_devices_compare_and_print():
    assert str(torchlike.device("npu", 1)) == "npu:1"
    assert torchlike.device("npu:1") == torchlike.device("npu", 1)
    assert torchlike.ones(1, device=torchlike.device("cpu:0")).is_cpu
    with pytest.raises(TypeError, match="must not include an index"):
        torchlike.device("npu:1", 1)
    with pytest.raises(TypeError, match="Invalid device"):
        torchlike.device("npu:x")
    assert torchlike.ones(1).device == torchlike.device("cpu")
    assert repr(torchlike.ones(1).device) == "device(type='cpu')"


def test_every_index_of_the_cpu_is_the_cpu(cpu):
    place = torchlike.device("cpu")
    for made in (
        torchlike.ones(3, device="cpu:3"),
        cpu.to("cpu:1"),
        torchlike.tensor([1.0], device=torchlike.device("cpu", 7)),
        torchlike.zeros_like(cpu, device="cpu:2"),
    ):
        assert made.device == place
        assert (made + cpu).device == place
    assert torchlike.Generator("cpu:2").device == place
    assert torchlike.rand(3, generator=torchlike.Generator("cpu:1"), device="cpu:4").device == place


@pytest.mark.parametrize("index", ["x", 1.5, True, -1])
def test_what_is_no_index_is_refused(index, cpu):
    with pytest.raises(TypeError, match="index must"):
        torchlike.device("cpu", index)
    with pytest.raises(TypeError, match="Invalid device"):
        cpu.to(f"cpu:{index}")
