"""Memory by torch_npu's names: raw allocations, the process's share, segments, pinned memory."""

import gc

import pytest

import torchlike
from dispatch_backend_npu.runtime.memory import allocate_pinned
from dispatch_torch_npu import npu

pytestmark = pytest.mark.usefixtures("npu")


def test_raw_allocations_are_counted_until_they_are_deleted():
    torchlike.npu.init()
    before = torchlike.npu.memory_allocated()
    pointer = npu.caching_allocator_alloc(1 << 20, 0, torchlike.npu.Stream())
    assert pointer and torchlike.npu.memory_allocated() >= before + (1 << 20)
    npu.caching_allocator_delete(pointer)
    assert torchlike.npu.memory_allocated() == before
    with pytest.raises(ValueError, match="no memory of caching_allocator_alloc"):
        npu.caching_allocator_delete(pointer)
    with pytest.raises(TypeError, match=r"stream is a torch\.npu\.Stream, not int"):
        npu.caching_allocator_alloc(8, stream=5)


def test_a_process_takes_its_share_of_memory(simulator):
    torchlike.npu.empty_cache()
    assert npu.get_per_process_memory_fraction() == 1.0
    total = torchlike.npu.mem_get_info()[1]
    share = (torchlike.npu.memory_reserved() + (8 << 20)) / total
    npu.set_per_process_memory_fraction(share, "npu:0")
    try:
        assert npu.get_per_process_memory_fraction(0) == share
        held = torchlike.empty(1 << 20, device="npu")
        with pytest.raises(torchlike.OutOfMemoryError, match=r"this process may reserve .* of it\nHint: delete"):
            torchlike.empty(2 << 20, device="npu")
        del held
        assert torchlike.empty(1 << 20, device="npu").numel() == 1 << 20
    finally:
        npu.set_per_process_memory_fraction(1.0)
    assert torchlike.empty(2 << 20, device="npu").numel() == 2 << 20
    with pytest.raises(TypeError, match="must be `float`, not int"):
        npu.set_per_process_memory_fraction(1)
    with pytest.raises(ValueError, match="Allowed range: 0~1"):
        npu.set_per_process_memory_fraction(1.5)


def test_segments_are_made_up_of_their_parts():
    gc.collect()
    torchlike.npu.empty_cache()
    held = [torchlike.empty(2000, device="npu") for _ in range(3)] + [torchlike.empty(1 << 20, device="npu")]
    del held[1]
    found = npu.memory_snapshot()
    assert sum(segment["total_size"] for segment in found) == torchlike.npu.memory_reserved()
    assert sum(segment["allocated_size"] for segment in found) == torchlike.npu.memory_allocated()
    for segment in found:
        ends = [block["address"] + block["size"] for block in segment["blocks"]]
        assert [block["address"] for block in segment["blocks"]] == [segment["address"], *ends[:-1]]
        assert ends[-1] == segment["address"] + segment["total_size"]
    assert {segment["segment_type"] for segment in found} == {"small", "large"}


def test_pinned_memory_is_counted():
    gc.collect()
    torchlike.npu.init()
    allocate_pinned(1)
    gc.collect()
    npu.host_empty_cache()
    before = npu.host_memory_stats()
    first = allocate_pinned(400)
    after = npu.host_memory_stats()
    assert {name: after[name] - before[name] for name in after if name.endswith("current")} == {
        "active_bytes.current": 512,
        "active_requests.current": 1,
        "allocated_bytes.current": 512,
        "allocations.current": 1,
    }
    del first
    gc.collect()
    kept = npu.host_memory_stats_as_nested_dict()
    assert kept["active_requests"]["current"] == before["active_requests.current"]
    assert kept["allocations"]["current"] == before["allocations.current"] + 1
    npu.host_empty_cache()
    assert npu.host_memory_stats()["allocations.current"] == before["allocations.current"]
    npu.reset_accumulated_host_memory_stats()
    npu.reset_peak_host_memory_stats()
    counts = npu.host_memory_stats_as_nested_dict()["allocated_bytes"]
    assert counts["allocated"] == counts["freed"] == 0 and counts["peak"] == counts["current"]
    assert allocate_pinned(8).array().size == 8


def test_older_names():
    x = torchlike.ones(1000, device="npu")
    assert npu.memory_cached() == torchlike.npu.memory_reserved() <= npu.max_memory_cached(x.device)
    npu.reset_max_memory_cached()
    npu.reset_max_memory_allocated()
    assert torchlike.npu.max_memory_allocated() == torchlike.npu.memory_allocated()
    assert npu.get_allocator_backend() == "native" and npu.empty_virt_addr_cache() is None
