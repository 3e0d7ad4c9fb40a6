"""Every call of a program that uses all of the runtime fails in turn: one clear error, no leak, and the next run works."""

import gc

import numpy as np
import pytest

from dispatch_backend_npu import arrays, runtime
from dispatch_backend_npu.acl import AclError
from dispatch_backend_npu.runtime import memory

pytestmark = pytest.mark.no_pipeline(reason="calls the runtime, and no operator")


def program():
    """Use streams, events, pinned memory, the cache and a second device."""
    block = runtime.allocate(1000)
    memory.copy_to_device(np.zeros(1000, np.uint8), block.pointer)
    other = runtime.Stream()
    host = memory.allocate_pinned(1000)
    host.array()[:] = 3
    with other:
        memory.copy_to_device(host, block.pointer, other)
        memory.fill(block.pointer, 10, 4)
        block.record_stream(other)
    event = other.record_event()
    runtime.current().wait_event(event)
    found = memory.copy_to_host(block.pointer, 1000, memory.allocate_pinned(1000), runtime.current())
    runtime.current().synchronize()
    assert found[:10].tolist() == [4] * 10 and found[10:].tolist() == [3] * 990
    del block
    large = [runtime.allocate(300 << 10) for _ in range(2)]
    del large
    runtime.empty_cache()
    if runtime.device_count() > 1:
        with runtime.guard(1):
            assert arrays.to_numpy(arrays.from_numpy(np.arange(5))).tolist() == [0, 1, 2, 3, 4]
    first, second = runtime.Event(enable_timing=True), runtime.Event(enable_timing=True)
    first.record()
    second.record()
    second.synchronize()
    assert event.query() and other.query() and first.elapsed_time(second) >= 0


@pytest.fixture
def counted(simulator):
    """How many calls the program makes from opening to closing; and a closed runtime."""
    gc.collect()
    runtime.finalize(force=True)
    simulator.reset()
    program()
    runtime.finalize(force=True)
    gc.freeze()  # what the program has loaded need not be looked through after every call
    yield simulator.calls()
    simulator.reset()
    runtime.finalize(force=True)


@pytest.mark.long
def test_every_call_may_fail(simulator, counted):
    assert counted > 50
    told = []
    for n in range(1, counted + 1):
        simulator.reset()
        simulator.fail_nth("", n)
        try:
            program()
            runtime.finalize(force=True)
        except AclError as error:
            told.append(str(error))
        simulator.reset()
        gc.collect()
        program()
        runtime.finalize(force=True)
        assert simulator.counts() == {}, n
    # A query for a second device fails without an error.
    assert len(told) > 50
    assert [text for text in told if "failed with 507899 (ACL_ERROR_RT_DRV_INTERNAL_ERROR)" not in text] == []


@pytest.mark.parametrize("name", ["aclrtMemcpyAsync", "aclrtSynchronizeStream", "aclrtMalloc", "aclrtMallocHost"])
def test_a_fault_names_its_function(simulator, counted, name):
    simulator.fail_nth(name, 1)
    with pytest.raises(AclError, match=f"{name} failed with 507899"):
        program()
