"""Where ``to("npu")`` puts a tensor: a name without an index means the current device."""

from __future__ import annotations

import pytest

torchlike = pytest.importorskip("torchlike", reason="the frontend's tensors are moved")


def test_a_tensor_on_the_current_device_stays_itself(npu):
    base = torchlike.ones(2, 2, device="npu")
    for tensor in (base, base[0], base.t(), base.detach()):
        assert tensor.to("npu") is tensor and tensor.to("npu:0") is tensor


def test_a_tensor_on_another_device_is_moved_to_the_current_one(npu):
    if torchlike.npu.device_count() < 2:
        pytest.skip("there is one device")
    tensor = torchlike.ones(2, device="npu:0")
    with torchlike.npu.device(1):
        moved = tensor.to("npu")
    assert (str(moved.device), moved.tolist()) == ("npu:1", [1, 1])
    assert tensor.to("npu") is tensor
