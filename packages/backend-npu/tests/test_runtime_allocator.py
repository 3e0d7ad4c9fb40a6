"""The caching allocator: reuse, statistics, streams, and what happens where there is no room."""

import gc
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import torchlike
from dispatch_backend_npu import runtime
from dispatch_backend_npu.acl import AclError, OutOfMemoryError
from dispatch_backend_npu.runtime import allocator, chunks, memory
from dispatch_backend_npu.runtime.chunks import pad, size_class

pytestmark = pytest.mark.no_pipeline(reason="calls the runtime, and no operator")


@pytest.fixture(autouse=True)
def clean(npu):
    """An allocator with nothing in its cache."""
    gc.collect()
    runtime.empty_cache()
    runtime.reset_peak_memory_stats()


def stat(name):
    return runtime.memory_stats()[name]


def allocated_bytes():
    return stat("allocated_bytes.all.current")


@given(st.integers(0, 1 << 40))
def test_a_class_is_at_most_an_eighth_larger_than_the_request(nbytes):
    size = size_class(nbytes)
    assert size % 512 == 0 and size >= nbytes
    padded = pad(nbytes)
    assert size == 512 or size <= max(padded * 9 / 8, padded + 512)
    assert size_class(size - 32) == size


@given(st.lists(st.integers(0, 1 << 18), min_size=2, max_size=6))
def test_after_each_block_32_bytes_are_its_own(sizes):
    blocks = sorted((runtime.allocate(nbytes) for nbytes in sizes), key=lambda block: block.pointer)
    for block, after in pairwise(blocks):
        assert after.pointer - block.pointer >= -(-block.nbytes // 32) * 32 + 32


@pytest.mark.of_functions
def test_the_simulator_finds_blocks_without_them(npu, monkeypatch):
    """Kernels write past the end of their results, and refuse memory whose end is another block's beginning."""
    monkeypatch.setattr(chunks, "pad", lambda nbytes: nbytes)
    chunks.size_class.cache_clear()
    try:
        first, second = torchlike.ones(128, device="npu"), torchlike.ones(128, device="npu")
        assert second._dispatch_data.pointer - first._dispatch_data.pointer == 512
        with pytest.raises(AclError, match="the 32 bytes after the block of self are not free"):
            (first + 1, second + 1, first + 1)[2].tolist()
    finally:
        chunks.size_class.cache_clear()


def test_blocks_are_aligned_and_apart():
    blocks = [runtime.allocate(nbytes) for nbytes in (0, 1, 512, 513, 100_000, 3_000_000)]
    spans = sorted((block.pointer, block.pointer + block.size) for block in blocks)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert all(block.pointer % 32 == 0 for block in blocks)
    assert blocks[0].size == 512 and blocks[5].size >= 3_000_000
    assert repr(blocks[0]).startswith("MemoryBlock(npu:0, 0x")


def test_an_unreferenced_block_is_used_again():
    before = allocated_bytes()
    block = runtime.allocate(1000)
    assert allocated_bytes() == before + block.size
    pointer = block.pointer
    del block
    assert allocated_bytes() == before
    assert runtime.allocate(1024).pointer == pointer


MIB = 1 << 20


@pytest.fixture
def own(clean):
    """An allocator of its own, with the stream for which it allocates."""
    found = allocator.Allocator(runtime.ensure())
    stream = runtime.current().pointer
    yield lambda nbytes: found.allocate(nbytes, stream), found
    found.close()


@given(st.lists(st.tuples(st.integers(0, 30 * MIB), st.integers(0, 9)), max_size=40))
def test_large_chunks_are_split_and_merged_again(steps):
    found = allocator.Allocator(runtime.ensure())
    stream = runtime.current().pointer
    try:
        held = []
        for nbytes, gone in steps:
            held.append(found.allocate(nbytes, stream))
            if gone < 6 and held:
                del held[gone % len(held)]
            spans = sorted((block.pointer, block.pointer + pad(block.nbytes), block.size) for block in held)
            assert all(end <= after for (_, end, _), (after, _, _) in pairwise(spans))
            figures = found.stats()
            assert figures["allocated_bytes.all.current"] == sum(block.size for block in held)
            assert figures["active.all.current"] == len(held)
            for segment in found.snapshot():
                assert sum(part["size"] for part in segment["blocks"]) == segment["total_size"]
        held.clear()
        # A chunk, and what the runtime has added.
        large = [segment for segment in found.snapshot() if segment["segment_type"] == "large"]
        assert [[part["state"] for part in segment["blocks"]] for segment in large] == [["inactive"] * 2] * len(large)
        found.empty_cache()
        assert found.stats()["reserved_bytes.all.current"] == 0
    finally:
        found.close()


def test_tensors_of_varying_lengths_use_one_another_s_memory(own, simulator):
    allocate, _ = own
    before = simulator.memory().live
    for nbytes in range(300 << 10, 9 * MIB, 123_457):
        assert allocate(nbytes).nbytes == nbytes
    assert simulator.memory().live - before == 20 * MIB
    held = [allocate(nbytes) for nbytes in (MIB, 2 * MIB, 4 * MIB, 8 * MIB)]
    del held[1]
    again = allocate(2 * MIB)
    assert simulator.memory().live - before == 20 * MIB
    assert again.size == 2 * MIB + 512
    # A long chunk keeps a rest of up to 1 MiB.
    del held[1], again
    assert allocate(5 * MIB + MIB // 2).size == 6 * MIB + 1024


@pytest.mark.parametrize(
    ("nbytes", "taken"),
    [
        (512, 2),
        (2 * MIB, 20),
        (8 * MIB, 20),
        (10 * MIB - 1024, 20),
        (12 * MIB - 1024, 12),
        (12 * MIB, 14),
        (64 * MIB, 66),
    ],
)
def test_no_segment_takes_a_page_for_its_padding(own, simulator, nbytes, taken):
    """A block needs 32 bytes more, and the runtime adds 32: they are within the last page, unless the block fills it."""
    allocate, found = own
    before = simulator.memory().live
    block = allocate(nbytes)
    assert simulator.memory().live - before == taken * MIB
    assert found.stats()["reserved_bytes.all.current"] == taken * MIB
    assert block.nbytes == nbytes


def test_reserved_memory_is_counted_in_pages(own, simulator, monkeypatch):
    monkeypatch.setenv("DISPATCH_NPU_NO_MEMORY_CACHING", "1")
    uncached = allocator.Allocator(runtime.ensure())
    for each in (own[1], uncached):
        before, held = simulator.memory().live, []
        for nbytes in (1, 4000, 300_000, MIB, 2 * MIB, 5 * MIB, 16 * MIB, 20 * MIB):
            held.append(each.allocate(nbytes, runtime.current().pointer))
            assert each.stats()["reserved_bytes.all.current"] == simulator.memory().live - before
    del held
    assert uncached.stats()["reserved_bytes.all.current"] == 0


def test_a_device_that_is_nearly_full_gives_a_segment_for_the_block_alone(own, simulator):
    allocate, found = own
    simulator.set_capacity(simulator.memory().live + 6 * MIB)
    block = allocate(5 * MIB)
    assert found.stats()["reserved_bytes.all.current"] == 6 * MIB
    with pytest.raises(OutOfMemoryError, match=r"has no room for 2\.00 MiB"):
        allocate(MIB)
    del block
    assert allocate(MIB).nbytes == MIB


def test_small_blocks_come_from_few_calls(simulator):
    simulator.reset()
    blocks = [runtime.allocate(512) for _ in range(1000)]
    assert simulator.log().count("aclrtMalloc") == 1
    assert len({block.pointer for block in blocks}) == 1000


def test_steady_work_asks_the_device_for_nothing(simulator):
    def step():
        kept = [runtime.allocate(nbytes) for nbytes in (100, 5000, 1 << 20, 3 << 20)]
        del kept[1]
        kept.append(runtime.allocate(5000))

    step()
    simulator.reset()
    reserved = stat("reserved_bytes.all.current")
    for _ in range(1000):
        step()
    assert simulator.log() == [] and stat("reserved_bytes.all.current") == reserved


def test_statistics():
    before = allocated_bytes()
    large = runtime.allocate(10 << 20)
    assert stat("allocated_bytes.all.peak") == before + large.size
    assert stat("reserved_bytes.all.current") >= large.size
    del large
    assert allocated_bytes() == before and stat("allocated_bytes.all.peak") > before
    reserved = stat("reserved_bytes.all.current")
    runtime.empty_cache()
    assert stat("reserved_bytes.all.current") <= reserved - (10 << 20)
    runtime.reset_peak_memory_stats()
    assert stat("allocated_bytes.all.peak") == before
    free, total = runtime.mem_get_info()
    assert 0 < free <= total


def test_emptying_the_cache_leaves_blocks_in_use(simulator):
    kept = runtime.allocate(600)
    runtime.allocate(600), runtime.allocate(5 << 20)
    live = simulator.counts().get("device_memory", 0)
    runtime.empty_cache()
    assert simulator.counts().get("device_memory", 0) == live - 1
    memory.fill(kept.pointer, 600)
    pointer = kept.pointer
    del kept
    runtime.empty_cache()
    assert simulator.counts().get("device_memory", 0) == live - 2
    again = runtime.allocate(600)
    assert again.size == 1024 and pointer


def test_a_block_is_for_its_stream():
    other = runtime.Stream()
    block = runtime.allocate(4096)
    pointer = block.pointer
    del block
    with other:
        assert runtime.allocate(4096).pointer != pointer
    assert runtime.allocate(4096).pointer == pointer


def test_a_block_that_another_stream_works_with_is_not_used_before_that_is_done(simulator):
    other = runtime.Stream()
    block = runtime.allocate(4096)
    block.record_stream(other)
    block.record_stream(runtime.current())
    pointer = block.pointer
    simulator.reset()
    with other:
        memory.fill(block.pointer, 4096)
    del block
    first = runtime.allocate(4096)
    assert first.pointer != pointer and simulator.log().count("aclrtRecordEvent") == 1
    other.synchronize()
    assert runtime.allocate(4096).pointer == pointer


@pytest.fixture
def full(simulator):
    """A device with room for 64 MiB more."""
    simulator.set_capacity(simulator.memory().live + (64 << 20))
    yield simulator
    simulator.reset()


def test_the_cache_is_emptied_before_memory_runs_out(full):
    runtime.allocate(40 << 20)
    retries = stat("num_alloc_retries")
    block = runtime.allocate(50 << 20)
    assert stat("num_alloc_retries") == retries + 1 and block.pointer


def test_running_out_of_memory_reports_the_figures(simulator):
    kept = runtime.allocate(3 << 20)
    ooms = stat("num_ooms")
    with pytest.raises(OutOfMemoryError) as caught:
        runtime.allocate(1 << 50)
    text = str(caught.value)
    assert text.startswith("aclrtMalloc failed with 207001 (ACL_ERROR_RT_MEMORY_ALLOCATION): npu:0 has no room for ")
    assert "are free; tensors hold 3." in text and "the cache" in text
    assert stat("num_ooms") == ooms + 1
    assert caught.value.__suppress_context__  # the cache's KeyError is none of the user's business
    assert runtime.allocate(100).pointer and kept


@pytest.mark.parametrize("nbytes", [1 << 63, 1 << 64, (1 << 64) + 4])
def test_more_than_an_address_can_reach_is_no_room_either(nbytes):
    with pytest.raises(OutOfMemoryError, match="npu:0 has no room for"):
        runtime.allocate(nbytes)


def test_garbage_is_collected_before_memory_runs_out(full):
    class Node:
        pass

    node = Node()
    node.self, node.block = node, runtime.allocate(40 << 20)
    gc.disable()
    try:
        del node
        assert runtime.allocate(50 << 20).pointer
    finally:
        gc.enable()


def test_another_failure_of_the_device_is_raised_as_it_is(simulator):
    simulator.fail_nth("aclrtMalloc", 1, 507899)
    with pytest.raises(AclError, match="aclrtMalloc failed with 507899") as caught:
        runtime.allocate(7 << 20)
    assert not isinstance(caught.value, MemoryError)
    assert runtime.allocate(7 << 20).pointer


def test_memory_that_the_device_refuses_to_free_is_dropped(simulator):
    runtime.allocate(7 << 20), runtime.allocate(9 << 20)
    simulator.fail_nth("aclrtFree", 1, 507899)
    with pytest.raises(AclError, match="aclrtFree failed with 507899"):
        runtime.empty_cache()
    runtime.empty_cache()
    assert stat("reserved_bytes.all.current") < 7 << 20


def test_threads_work_at_the_same_time():
    def work(value):
        found = set()
        for _ in range(300):
            block = runtime.allocate(1000)
            memory.fill(block.pointer, 1000, value)
            found |= set(memory.copy_to_host(block.pointer, 1000).tolist())
        return found

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [{0}, {1}, {2}, {3}]


def test_without_caching_every_block_is_the_devices_own(monkeypatch, simulator):
    monkeypatch.setenv("DISPATCH_NPU_NO_MEMORY_CACHING", "1")
    uncached = allocator.Allocator(runtime.ensure())
    before = simulator.counts().get("device_memory", 0)
    block = uncached.allocate(10, runtime.current().pointer)
    second = uncached.allocate(10, runtime.current().pointer)
    assert simulator.counts().get("device_memory", 0) == before + 2
    del block, second
    assert uncached.stats()["allocated_bytes.all.current"] == 0
    assert simulator.counts().get("device_memory", 0) == before
