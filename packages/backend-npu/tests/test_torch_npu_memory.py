"""Memory by torch_npu's names: raw allocations, the process's share, segments, pinned memory."""

import ctypes
import gc
import subprocess

import pytest
import torch_npu_programs as programs

import torchlike
from dispatch_backend_npu.runtime.memory import allocate_pinned
from dispatch_backend_npu.simulator import compiler
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


@pytest.mark.no_pipeline(reason="a pipeline allocates later")
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


@pytest.mark.no_pipeline(reason="a pipeline allocates later")
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


SOURCE = """
#include <stddef.h>
#include <sys/types.h>
int aclrtMalloc(void **memory, size_t size, int policy);
int aclrtFree(void *memory);
long counts[2];
void *give(ssize_t size, int device, void *stream) {
    void *memory = NULL;
    counts[0]++;
    return size > 1 << 30 || aclrtMalloc(&memory, size, 0) ? NULL : memory;
}
void take(void *memory, size_t size, void *stream) { counts[1] += !aclrtFree(memory); }
"""

PLUGGED = """
import ctypes
import torch
import torch_npu

library = {library!r}
torch.npu.change_current_allocator(torch.npu.NPUPluggableAllocator(library, "give", "take"))
counts = (ctypes.c_long * 2).in_dll(ctypes.CDLL(library), "counts")
x = torch.ones(1000, device="npu")
y = x + 1
print(counts[0] >= 2, y.sum().item(), torch.npu.memory_allocated() > 0)
before = counts[1]
del x, y
torch.npu.empty_cache()
print(counts[1] >= before + 2)
try:
    torch.empty(1 << 29, device="npu")
except torch.OutOfMemoryError:
    print("out of memory")
"""


def test_a_program_runs_on_memory_of_another_library(tmp_path, simulator_folder):
    library = build_library(tmp_path, simulator_folder)
    assert programs.run(PLUGGED.format(library=library), tmp_path) == "True 2000.0 True\nTrue\nout of memory\n"


def build_library(folder, toolkit):
    source, library = folder / "memory.c", folder / "libmemory.so"
    source.write_text(SOURCE)
    linked = [f"-L{toolkit}/lib64", f"-Wl,-rpath,{toolkit}/lib64", "-l:libascendcl.so"]
    subprocess.run([*compiler(), "-shared", "-fPIC", "-o", str(library), str(source), *linked], check=True)
    return str(library)


def test_another_library_gives_memory_until_a_device_has_given_some(tmp_path, simulator_folder):
    torchlike.ones(1, device="npu")
    library = build_library(tmp_path, simulator_folder)
    allocator = npu.NPUPluggableAllocator(library, "give", "take")
    counts = (ctypes.c_long * 2).in_dll(ctypes.CDLL(library), "counts")
    memory = allocator.allocator()
    pointer = memory.give(100, 0, 0)
    assert pointer and [*counts] == [1, 0]
    memory.take(pointer)
    assert [*counts] == [1, 1] and memory.give(1 << 31, 0, 0) == 0
    with pytest.raises(RuntimeError, match="has no function 'gave'\nHint: declare it"):
        npu.NPUPluggableAllocator(library, "gave", "take")
    with pytest.raises(RuntimeError, match=r"cannot be loaded: .*\nHint: name a shared library"):
        npu.NPUPluggableAllocator(str(tmp_path / "none.so"), "give", "take")
    with pytest.raises(RuntimeError, match="has been allocated already, so its allocator cannot be replaced\nHint: "):
        npu.change_current_allocator(allocator)


def test_a_stream_of_another_library_is_one_of_ours(simulator):
    own = torchlike.npu.Stream()
    pointer = own.native_handle.pointer
    stream = npu.ExternalStream(pointer, "npu:0")
    assert isinstance(stream, torchlike.npu.Stream) and stream == own and stream.device_index == 0
    with torchlike.npu.stream(stream):
        x = torchlike.ones(3, device="npu") * 2
        event = stream.record_event()
    torchlike.npu.current_stream().wait_event(event)
    stream.synchronize()
    assert x.tolist() == [2.0] * 3 and stream.query()
    del stream, event
    gc.collect()
    assert torchlike.npu.Stream().native_handle.pointer != pointer
    for wrong in (0, "4", None):
        with pytest.raises(TypeError, match="is the address of an aclrtStream"):
            npu.ExternalStream(wrong)
