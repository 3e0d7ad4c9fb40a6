"""Every failure is reported: by the error of the call, or by a warning where it belongs to no call."""

import gc
import os
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_backend_npu import runtime
from dispatch_backend_npu.acl import AclError, AclWarning, OutOfMemoryError, codes, reports
from dispatch_backend_npu.acl.prototypes import COLLECTIVES, prototypes
from dispatch_backend_npu.aclnn import calls, pools
from dispatch_backend_npu.aclnn.descriptors import Descriptors
from dispatch_backend_npu.arrays import from_numpy
from dispatch_backend_npu.kernels import KERNELS
from dispatch_backend_npu.plan import graph
from dispatch_backend_npu.runtime import memory

CODE = 561103
#: Functions that only return information: where they fail, there is none.
QUIET = {"aclrtGetDeviceCount", "aclrtGetVersion"}


def program():
    """Use every function of the runtime and of the descriptors, eagerly and in pipelines, from opening to closing."""
    runtime.device_count()
    runtime.versions()
    runtime.device_name()
    x = torchlike.tensor([[1.0, -2.0], [3.0, 4.0]], device="npu")
    Descriptors().add("const aclBoolArray*", (True, False))  # No operator takes any so far.
    for number in (2, 3):  # A prepared call gets another number.
        (x + x * number).relu_()
    torchlike.cat([x, x]).sum(dim=0).any()
    x.to("npu:1")
    torchlike.var_mean(x, dim=[0, 1])
    x.clone().index_put_([torchlike.tensor([0], device="npu")], x[0])
    for number in (2.0, 3.0, 3.0):  # A new plan, one with another number, which no graph takes, and a repeated one.
        with dc.pipeline():
            y = torchlike.nn.functional.leaky_relu(x, number) + 1
            y[0] = 2
            found = (y.exp() + x).sum()
        found.item()
    for _ in range(3 if os.environ.get(graph.VARIABLE) else 0):  # A new plan, a captured one, and its model.
        with dc.pipeline():
            y = (x + x).relu().tanh()
        y.tolist()
    other = runtime.Stream()
    host = memory.allocate_pinned(100)
    block = runtime.allocate(100)
    with other:
        memory.copy_to_device(host, block.pointer, other)
        memory.fill(block.pointer, 10)
        block.record_stream(other)
    first, second = runtime.Event(enable_timing=True), runtime.Event(enable_timing=True)
    first.record(other)
    runtime.current().wait_event(first)
    second.record(other)
    second.synchronize()
    assert first.query() and other.query() and first.elapsed_time(second) >= 0
    runtime.current().synchronize()
    runtime.mem_get_info()
    runtime.set_op_timeout(60_000)
    runtime.init_dump()
    try:
        runtime.set_dump(__file__)
    finally:
        runtime.finalize_dump()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(runtime.ensure).result()  # The other thread sets the device's context.
    del block, host
    runtime.empty_cache()
    runtime.synchronize()
    del x, y, found
    gc.collect()
    pools.clear()
    runtime.finalize(force=True)


@pytest.fixture
def closed(simulator):
    gc.collect()
    runtime.finalize(force=True)
    simulator.reset()
    reports.reset()
    yield simulator
    simulator.reset()
    runtime.finalize(force=True)


@pytest.mark.of_functions
@pytest.mark.long
@pytest.mark.no_pipeline(reason="it opens pipelines of its own")
@pytest.mark.parametrize("limit", [None, 60.0])
def test_every_failure_is_reported(closed, monkeypatch, limit):
    monkeypatch.setattr(runtime.waiting, "_limit", limit and int(limit * 1000))
    monkeypatch.setattr(runtime.device, "is_deterministic", lambda: True)
    monkeypatch.setenv(graph.VARIABLE, "1")
    program()
    closed.reset()
    program()
    gc.freeze()  # what the program has loaded need not be looked through after every call
    names = closed.log()
    waits = {name for name in prototypes() if name.startswith("aclrtSynchronize")}
    limited = {name for name in waits if name.endswith("WithTimeout")}
    # Those of HCCL have tests of their own, between processes.
    of_runtime = {name for name, row in prototypes().items() if row.library != COLLECTIVES}
    assert of_runtime - {*names, "aclGetRecentErrMsg"} == (limited if limit is None else waits - limited)
    silent = []
    for name in sorted({*names} - {"aclrtGetSocName", "aclGetRecentErrMsg"}):
        for n in range(1, names.count(name) + 1):
            closed.reset()
            closed.fail_nth(name, n, CODE)
            told = []
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    program()
                    runtime.finalize(force=True)
                except AclError as error:
                    told.append(error)
            told += [each.message for each in caught]
            closed.reset()
            gc.collect()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                program()
            assert closed.counts() == {}, (name, n)
            if [(each.function, each.code) for each in told] != [(name, CODE)] and name not in QUIET:
                silent.append((name, n, [str(each) for each in told]))
    assert silent == []


def test_a_failure_of_no_call_is_reported_once_for_each_code(closed):
    def destroyed(code, count=3):
        for _ in range(count):
            closed.fail_nth("aclDestroyIntArray", 1, code)
            Descriptors().add("const aclIntArray*", (1, 2))
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                pools.clear()
            yield from caught

    [first] = destroyed(561103)
    assert first.category is AclWarning
    assert (first.message.function, first.message.code) == ("aclDestroyIntArray", 561103)
    assert "aclDestroyIntArray failed with 561103 (ACLNN_ERR_INNER_NULLPTR): [simulator]" in str(first.message)
    [second] = destroyed(161002)
    assert second.message.symbol == codes.error_name(161002) == "ACLNN_ERR_PARAM_INVALID"
    runtime.ensure()
    runtime.finalize(force=True)
    assert len([*destroyed(561103)]) == 1


def test_a_warning_that_is_an_error_leaves_nothing_behind(closed):
    made = Descriptors()
    for _ in range(5):
        made.add("const aclIntArray*", (1, 2))
    closed.fail_nth("aclDestroyIntArray", 2, CODE)
    del made
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(AclWarning, match="aclDestroyIntArray failed with 561103"):
            pools.clear()
    assert closed.counts() == {}


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="it opens pipelines of its own")
def test_executors_that_cannot_be_repeated_are_reported_once_and_work_all_the_same(closed):
    def run():
        with dc.pipeline():
            y = (torchlike.ones(3, device="npu") + 1) * 2
        return y.tolist()

    for n in range(1, 13):
        closed.fail_nth("aclSetAclOpExecutorRepeatable", n, 561102)
    with pytest.warns(AclWarning, match=r"aclSetAclOpExecutorRepeatable failed with 561102 \(ACLNN_\w+\)") as caught:
        assert [run() for _ in range(4)] == [[4.0] * 3] * 4
    assert len(caught) == 1


@pytest.mark.of_functions
def test_an_error_is_not_hidden_by_a_failure_that_it_leads_to(closed, monkeypatch):
    a = from_numpy(np.arange(64, dtype=np.float32).reshape(8, 8))
    result = KERNELS["sort"](a)

    def no_room(nbytes):
        if closed.log()[-1].endswith("GetWorkspaceSize"):
            raise OutOfMemoryError("aclrtMalloc", 207001)
        return result[0].block

    monkeypatch.setattr(calls.allocator, "allocate", no_room)
    closed.fail_nth("aclDestroyAclOpExecutor", 1, CODE)
    with pytest.raises(OutOfMemoryError):
        KERNELS["sort"](a)
    monkeypatch.undo()
    with pytest.warns(AclWarning, match="aclDestroyAclOpExecutor failed with 561103"):
        pools.clear()
