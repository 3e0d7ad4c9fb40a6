"""The runtime's life: opening, threads, devices, closing."""

import gc
import os
import subprocess
import sys
import threading

import pytest

import dispatch_core as dc
from dispatch_backend_npu import runtime
from dispatch_backend_npu.acl import AclError
from dispatch_backend_npu.acl.library import call
from dispatch_backend_npu.runtime import device, memory

pytestmark = pytest.mark.no_pipeline(reason="calls the runtime, and no operator")


def in_thread(function):
    """Return the result of a function in another thread."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def names(simulator, *wanted):
    return [name for name in simulator.log() if name in wanted]


@pytest.fixture
def closed(simulator):
    """A closed runtime, and a simulator with an empty log."""
    gc.collect()
    runtime.finalize(force=True)
    simulator.reset()
    yield simulator
    simulator.reset()
    runtime.finalize(force=True)


def test_the_first_use_opens_runtime_and_device_once(closed):
    assert not runtime.is_initialized()
    assert runtime.ensure() == runtime.ensure() == 0
    assert runtime.is_initialized()
    opening = ("aclInit", "aclrtSetDevice", "aclrtSetCurrentContext", "aclrtGetCurrentContext")
    assert names(closed, *opening) == ["aclInit", "aclrtSetDevice", "aclrtGetCurrentContext"]


def test_other_threads_take_the_devices_context(closed):
    runtime.ensure()
    contexts = in_thread(lambda: (runtime.ensure(), runtime.ensure(), dict(device.ensure_session().contexts))[-1])
    assert contexts == device.ensure_session().contexts
    assert names(closed, "aclrtSetDevice", "aclrtSetCurrentContext") == ["aclrtSetDevice", "aclrtSetCurrentContext"]


def test_a_thread_without_a_device_is_refused_by_the_runtime_and_gets_one_by_ensure(closed):
    runtime.ensure()

    def without():
        with pytest.raises(AclError) as caught:
            call("aclrtSynchronizeDevice")
        runtime.ensure()
        call("aclrtSynchronizeDevice")
        return caught.value

    error = in_thread(without)
    assert error.symbol == "ACL_ERROR_RT_CONTEXT_NULL" and "runtime.device.ensure()" in str(error)


def test_devices_are_chosen_by_thread(npu):
    if runtime.device_count() < 2:
        pytest.skip("one device only")
    with runtime.guard(1) as number:
        assert number == runtime.current_device() == runtime.current().device == 1
        assert in_thread(runtime.ensure) == 0
    assert runtime.ensure() == runtime.current().device == 0
    runtime.set_current(1)
    assert runtime.ensure() == 1 and runtime.allocate(1).device == 1
    runtime.set_current(0)


def test_a_guard_opens_no_device_but_its_own(closed):
    if runtime.device_count() < 2:
        pytest.skip("one device only")
    with runtime.guard(1):
        pass
    assert device.opened_devices() == [1]
    assert runtime.ensure() == 0


@pytest.mark.parametrize("number", [-1, 64])
def test_a_device_that_is_not_there_is_named_with_those_that_are(npu, number):
    with pytest.raises(dc.BackendError, match=f"there is no device npu:{number}: this machine has [0-9]+ ") as caught:
        runtime.ensure(number)
    assert "npu:0" in str(caught.value)
    assert runtime.ensure() == 0


def test_a_runtime_that_must_be_open_to_count_devices_is_opened_for_it(closed):
    count = runtime.device_count()
    assert not runtime.is_initialized()
    closed.fail_nth("aclrtGetDeviceCount", 1, 100001)
    assert runtime.device_count() == count and runtime.is_initialized()


@pytest.mark.parametrize("code", [507899, 207004])
def test_a_driver_that_does_not_answer_is_no_device(closed, code):
    closed.fail_nth("aclrtGetDeviceCount", 1, code)
    assert runtime.device_count() == 0
    closed.fail_nth("aclrtGetDeviceCount", 1, code)
    assert f"finds no device: aclrtGetDeviceCount returned {code} (ACL_ERROR_RT_" in runtime.unavailable_reason()
    assert runtime.unavailable_reason() == ""


def test_references_are_counted(closed):
    runtime.init()
    runtime.init()
    assert runtime.ensure() == 0
    assert runtime.finalize() is False and runtime.is_initialized()
    assert runtime.finalize() is True and not runtime.is_initialized()
    assert runtime.finalize() is True
    assert names(closed, "aclInit", "aclFinalize") == ["aclInit", "aclFinalize"]


def test_closing_destroys_everything_in_order(closed):
    stream, event, block = runtime.Stream(), runtime.Event(), runtime.allocate(100)
    event.record(stream)
    host = memory.allocate_pinned(100)
    runtime.finalize(force=True)
    order = "aclrtDestroyEvent aclrtDestroyStream aclrtFree aclrtFreeHost aclrtResetDevice aclFinalize".split()
    assert list(dict.fromkeys(names(closed, *order))) == order
    assert closed.counts() == {}
    # The remaining objects are collected without an error.
    del stream, event, block, host
    runtime.ensure()
    assert closed.counts().get("streams", 0) == 0


def test_objects_of_a_closed_runtime_say_so(closed):
    stream, event = runtime.Stream(), runtime.Event()
    event.record(stream)
    runtime.finalize(force=True)
    with pytest.raises(dc.BackendError, match="belongs to a runtime that was closed"):
        stream.synchronize()
    assert event.query() is True
    event.record()
    event.synchronize()


def test_other_threads_open_again_after_closing(closed):
    runtime.ensure()
    go, done = threading.Event(), threading.Event()
    seen = []

    def worker():
        seen.append(runtime.allocate(8).device)
        done.set()
        go.wait(10)
        seen.append(runtime.allocate(8).device)

    thread = threading.Thread(target=worker)
    thread.start()
    done.wait(10)
    runtime.finalize(force=True)
    go.set()
    thread.join()
    assert seen == [0, 0] and runtime.is_initialized()


def test_a_runtime_that_another_library_opened_is_not_closed(closed):
    call("aclInit", None)
    runtime.ensure()
    runtime.finalize(force=True)
    assert names(closed, "aclInit", "aclFinalize") == ["aclInit", "aclInit"]
    call("aclFinalize")


@pytest.mark.parametrize("name", ["aclInit", "aclrtGetDeviceCount", "aclrtSetDevice", "aclrtGetCurrentContext"])
def test_an_opening_that_failed_is_tried_again(closed, name):
    runtime.finalize(force=True)
    closed.reset()
    closed.fail_nth(name, 1, 507899)
    with pytest.raises(AclError, match=f"{name} failed with 507899"):
        runtime.ensure()
    assert runtime.ensure() == 0
    runtime.finalize(force=True)
    assert closed.counts() == {}


@pytest.mark.parametrize(
    "name", "aclrtSynchronizeDevice aclrtDestroyEvent aclrtDestroyStream aclrtFree aclrtResetDevice aclFinalize".split()
)
def test_a_closing_that_failed_is_reported_and_closes_all_the_same(closed, name):
    runtime.Stream().record_event()
    runtime.allocate(8)
    closed.reset()
    closed.fail_nth(name, 1, 507899)
    with pytest.raises(AclError, match=f"{name} failed with 507899"):
        runtime.finalize(force=True)
    assert not runtime.is_initialized()
    assert closed.counts() == {}


def run(code):
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_interpreters_end_closes_the_runtime(npu):
    code = """
import atexit
from dispatch_backend_npu.acl import library
@atexit.register
def last():
    print("initialised:", library.bind("aclrtSynchronizeDevice")() == 0)
from dispatch_backend_npu import runtime
from dispatch_backend_npu.runtime import memory
kept = runtime.allocate(100), runtime.Stream(), memory.allocate_pinned(10), runtime.Event()
kept[3].record(kept[1])
"""
    assert run(code) == "initialised: False\n"


def test_a_forked_child_is_refused_and_its_parent_goes_on(npu):
    code = """
import os
from dispatch_backend_npu import runtime
block = runtime.allocate(100)
child = os.fork()
if not child:
    del block
    try:
        runtime.allocate(100)
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
runtime.synchronize()
print(runtime.allocate(100).device)
"""
    printed = run(code)
    assert printed.startswith("the NPU was opened before this process was forked") and printed.endswith("\n0\n")
    assert "spawn" in printed
