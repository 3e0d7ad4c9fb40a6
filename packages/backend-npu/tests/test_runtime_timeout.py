"""A device that does not finish within the time limit: an error, nothing of it freed, and no more work for it.

Each test is a process of its own: what is given up stays so for as long as the process lives.
"""

import os
import subprocess
import sys
import textwrap

import pytest

import dispatch_core as dc
from dispatch_backend_npu import runtime
from dispatch_backend_npu.acl import AclError, DeviceTimeoutError
from dispatch_backend_npu.runtime import memory, waiting

pytestmark = pytest.mark.no_pipeline(reason="its programs run in processes of their own")

START = """
import gc, time
import numpy as np
import dispatch_core as dc, torchlike
from concurrent.futures import ThreadPoolExecutor
from dispatch_backend_npu import runtime
from dispatch_backend_npu.acl import DeviceTimeoutError
from dispatch_backend_npu.runtime import memory
from dispatch_backend_npu.simulator import Simulator

simulator = Simulator()
RELEASING = ("aclrtDestroy", "aclDestroy", "aclrtFree", "aclrtReset", "aclFinalize")

def refused(action):
    try:
        action()
    except DeviceTimeoutError as error:
        return error
    raise AssertionError(f"{action} was not refused")

def released():
    return [name for name in simulator.log() if name.startswith(RELEASING)]
"""


def run(folder, code, **environment):
    """Run a program that begins with START, and return the words that it prints."""
    environment = {
        "PYTHONPATH": ":".join(sys.path),
        "PATH": os.environ["PATH"],
        "ASCEND_HOME_PATH": str(folder),
    } | environment
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", START + textwrap.dedent(code)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


WAITS = {
    "stream": "runtime.current().synchronize()",
    "device": "torchlike.npu.synchronize()",
    "event": "event.synchronize()",
    "values": "x.tolist()",
    "cache": "runtime.empty_cache()",
    "pipeline": """
with dc.pipeline():
    y = x * 2
y.tolist()
""",
}


@pytest.mark.parametrize("wait", WAITS)
def test_a_device_that_hangs_is_an_error_and_does_no_more(simulator, wait):
    run(
        simulator.folder,
        f"""
        torchlike.npu.set_sync_timeout(0.2)
        assert torchlike.npu.sync_timeout() == 0.2
        with dc.pipeline():
            kept = torchlike.ones(3, device="npu") * 3
        pinned = memory.allocate_pinned(64)
        stream = runtime.default()
        scratch = torchlike.ones(1 << 18, device="npu") + 1
        torchlike.npu.synchronize()
        simulator.reset()
        del scratch
        simulator.hang_task()
        x = torchlike.ones(3, device="npu") + 1
        event = runtime.Event()
        event.record()
        memory.copy_to_device(pinned, x._dispatch_data.block.pointer, runtime.current())
        begun = time.monotonic()
        try:
            exec({WAITS[wait]!r})
        except DeviceTimeoutError as error:
            first = error
        assert 0.1 < time.monotonic() - begun < 30
        assert isinstance(first, (TimeoutError, RuntimeError)) and isinstance(first, dc.BackendError)
        assert first.device == 0 and first.code in (507046, 507047) and "WithTimeout failed with 5070" in str(first)
        assert "npu:0 did not finish its work in time, and does no more in this process" in str(first)

        # It does no more work for any caller.
        before = simulator.calls()
        work = {{
            "operator": lambda: x + 1,
            "factory": lambda: torchlike.zeros(3, device="npu"),
            "copy to": lambda: torchlike.ones(3).to("npu"),
            "copy from": lambda: kept.tolist(),
            "stream": lambda: runtime.Stream(),
            "event": lambda: runtime.Event().record(),
            "old event": lambda: event.query(),
            "wait": lambda: torchlike.npu.synchronize(),
            "memory": lambda: runtime.memory_stats(0),
            "cache": lambda: runtime.empty_cache(),
            "pinned": lambda: memory.copy_to_device(pinned, 64, stream),
            "fill": lambda: memory.fill(64, 1, stream=stream),
        }}
        with ThreadPoolExecutor(1) as pool:
            for name, action in work.items():
                for error in (refused(action), pool.submit(refused, action).result()):
                    assert str(error).startswith(str(first).partition(" (")[0]), name
                    assert "Hint: start a new process" in str(error)
        with dc.pipeline() as pipe:
            later = refused(lambda: (kept + 1).tolist())
        assert simulator.calls() == before

        # Nothing of it is freed when its objects are collected, nor at the end.
        del x, kept, event, pinned, work, action, stream, first, error, later
        gc.collect()
        runtime.finalize(force=True)
        assert released() == [], released()
        refused(lambda: torchlike.zeros(3, device="npu"))
        """,
    )


def test_other_devices_go_on(simulator):
    run(
        simulator.folder,
        """
        torchlike.npu.set_sync_timeout(0.2)
        other = torchlike.ones(3, device="npu:1") + 1
        shared = memory.allocate_pinned(64)
        torchlike.npu.synchronize(1)
        mine = torchlike.ones(3, device="npu:0") * 2
        memory.copy_to_device(shared, mine._dispatch_data.block.pointer, runtime.current())
        address = shared.pointer
        del shared
        simulator.hang_task()
        assert refused(lambda: mine.tolist()).device == 0
        gc.collect()
        simulator.reset()
        assert (other + 1).tolist() == [3.0] * 3 and torchlike.npu.device_count() == 2
        for _ in range(3):
            with runtime.guard(1):
                block = memory.allocate_pinned(64)
                memory.copy_to_device(block, other._dispatch_data.block.pointer, runtime.default(1))
            assert block.pointer != address
            del block
        torchlike.npu.synchronize(1)
        refused(lambda: mine + 1)
        runtime.finalize(force=True)
        assert "aclrtResetDevice" in simulator.log() and "aclFinalize" not in simulator.log()
        assert simulator.log().count("aclrtResetDevice") == 1 and "aclrtFreeHost" not in simulator.log()
        # After reopening, one device works, and the other does not.
        assert (torchlike.ones(3, device="npu:1") + 1).tolist() == [2.0] * 3
        refused(lambda: torchlike.ones(3, device="npu:0"))
        """,
    )


def test_a_device_that_answers_later_stays_refused(simulator):
    run(
        simulator.folder,
        """
        torchlike.npu.set_sync_timeout(0.1)
        simulator.hang_task()
        x = torchlike.ones(3, device="npu") + 1
        refused(lambda: x.tolist())
        simulator.reset()  # It goes on.
        refused(lambda: x.tolist())
        """,
    )


def test_the_end_of_a_program_does_not_wait_for_longer(simulator):
    begun = run(
        simulator.folder,
        """
        simulator.hang_task()
        x = torchlike.ones(3, device="npu") + 1
        print("done")
        """,
        DISPATCH_NPU_SYNC_TIMEOUT="0.2",
    )
    assert begun == "done\n"


def test_without_a_limit_the_functions_without_one_are_called(simulator):
    runtime.ensure()
    assert runtime.sync_timeout() is None
    simulator.reset()
    event = runtime.Event()
    event.record()
    event.synchronize()
    runtime.current().synchronize()
    runtime.synchronize()
    waits = [name for name in simulator.log() if "Synchronize" in name]
    assert waits == ["aclrtSynchronizeEvent", "aclrtSynchronizeStream", "aclrtSynchronizeDevice"]


def test_a_limit_that_is_not_reached_changes_nothing(simulator, monkeypatch):
    monkeypatch.setattr(waiting, "_limit", None)
    runtime.set_sync_timeout(60)
    runtime.ensure()
    simulator.reset()
    simulator.fail_task(1)
    block = runtime.allocate(10)
    memory.fill(block.pointer, 10)
    with pytest.raises(AclError, match="aclrtSynchronizeStreamWithTimeout failed with 507015") as caught:
        runtime.current().synchronize()
    assert not isinstance(caught.value, DeviceTimeoutError)
    runtime.current().synchronize()
    assert runtime.sync_timeout() == 60.0
    runtime.set_sync_timeout(None)
    assert runtime.sync_timeout() is None


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), 1e9, "soon", []])
def test_a_limit_that_is_no_time_is_refused(value, monkeypatch):
    monkeypatch.setattr(waiting, "_limit", None)
    with pytest.raises(dc.BackendError, match="where a number of seconds above 0 is expected"):
        runtime.set_sync_timeout(value)
    assert runtime.sync_timeout() is None
    monkeypatch.setattr(waiting, "_is_set", False)
    monkeypatch.setenv(waiting.VARIABLE, str(value))
    with pytest.raises(dc.BackendError, match=f"{waiting.VARIABLE} of "):
        runtime.sync_timeout()


def test_the_environment_sets_a_limit(monkeypatch):
    monkeypatch.setattr(waiting, "_limit", None)
    monkeypatch.setattr(waiting, "_is_set", False)
    monkeypatch.setenv(waiting.VARIABLE, "1.5")
    assert runtime.sync_timeout() == 1.5
