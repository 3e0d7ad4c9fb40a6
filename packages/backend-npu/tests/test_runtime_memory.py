"""Copies between host and device, and pinned memory."""

import gc

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_backend_npu import runtime
from dispatch_backend_npu.acl import AclError
from dispatch_backend_npu.runtime import memory

pytestmark = pytest.mark.usefixtures("npu")


def test_bytes_go_to_the_device_and_come_back():
    array = np.arange(1000, dtype=np.int32)
    block, other = runtime.allocate(4000), runtime.allocate(4000)
    memory.copy_to_device(array, block.pointer)
    memory.copy_on_device(other.pointer, block.pointer, 4000)
    back = memory.copy_to_host(other.pointer, 4000).view(np.int32)
    assert (back == array).all()
    memory.fill(other.pointer + 4, 4)
    assert memory.copy_to_host(other.pointer, 12).view(np.int32).tolist() == [0, 0, 2]


def test_an_empty_array_copies_nothing():
    assert memory.copy_to_host(0, 0).size == 0
    memory.fill(0, 0)


def test_an_array_with_gaps_is_refused():
    with pytest.raises(dc.BackendError, match="only contiguous arrays"):
        memory.copy_to_device(np.zeros((4, 4))[:, 1], runtime.allocate(100).pointer)


def test_a_copy_out_of_bounds_is_refused(simulator):
    block = runtime.allocate(100)
    with pytest.raises(AclError) as caught:
        memory.copy_to_device(np.zeros(4 << 20, np.uint8), block.pointer)
    assert caught.value.function == "aclrtMemcpy"


def test_a_copy_waits_for_the_stream_only_where_it_is_busy(simulator):
    block = runtime.allocate(64)
    runtime.synchronize()
    simulator.reset()
    memory.copy_to_device(np.zeros(64, np.uint8), block.pointer)
    memory.copy_to_host(block.pointer, 64)
    assert simulator.log() == ["aclrtMemcpy", "aclrtMemcpy"]
    memory.fill(block.pointer, 64, 1)
    memory.copy_to_host(block.pointer, 64)
    assert simulator.log()[2:] == ["aclrtMemsetAsync", "aclrtSynchronizeStream", "aclrtMemcpy"]


def test_pinned_memory_is_copied_by_the_stream():
    up, down, block = memory.allocate_pinned(256), memory.allocate_pinned(256), runtime.allocate(256)
    up.array()[:] = np.arange(256)
    stream = runtime.current()
    memory.copy_to_device(up, block.pointer, stream)
    found = memory.copy_to_host(block.pointer, 256, down, stream)
    stream.synchronize()
    assert (found == np.arange(256)).all()
    memory.copy_to_device(up, block.pointer)
    assert (memory.copy_to_host(block.pointer, 256, down) == np.arange(256)).all()


def test_an_array_keeps_its_pinned_memory():
    array = memory.allocate_pinned(64).array()
    gc.collect()
    others = [memory.allocate_pinned(64) for _ in range(10)]
    assert array.__array_interface__["data"][0] not in {other.pointer for other in others}


def test_pinned_memory_is_used_again_when_the_stream_is_done(simulator):
    block, stream = runtime.allocate(64), runtime.current()
    for _ in range(20):
        memory.copy_to_device(memory.allocate_pinned(64), block.pointer, stream)
        stream.synchronize()
    gc.collect()
    assert simulator.counts()["host_memory"] < 20
