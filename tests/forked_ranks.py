"""A program that imports the packages once, and forks the ranks of each scenario, which tell what they have found.

``python forked_ranks.py NAME...`` prints as JSON what each rank of the named scenarios told, by default of all, with the
exit statuses, the seconds that it took, and the shared memory that was left behind.
"""

import json
import os
import socket
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path

import collective_failures as failures
import collective_programs as programs
import placed_programs

LIMIT = 40.0


#: Scenario → the number of its ranks, and environment variables.
SCENARIOS = {
    programs.reductions: (4, {}),
    programs.moves: (2, {}),
    programs.views: (2, {}),
    programs.messages: (2, {}),
    programs.refusals: (2, {}),
    programs.streams: (2, {}),
    programs.progress: (2, {}),
    programs.gradients: (2, {}),
    programs.record_calls: (2, {}),
    programs.asynchronous: (2, {}),
    placed_programs.train: (2, {}),
    placed_programs.networks: (2, {}),
    failures.another_shape: (2, {}),
    failures.another_dtype: (2, {}),
    failures.another_function: (2, {}),
    failures.another_message: (2, {}),
    failures.kill_last: (3, {}),
    failures.killed_before: (3, {}),
    failures.master_killed: (2, {}),
    failures.kill_one_that_a_device_waits_for: (2, {}),
    failures.late: (2, {"HCCL_EXEC_TIMEOUT": "1"}),
    failures.functions: (1, {}),
}


def meet(rank, path):
    """Return the store of a scenario's ranks: rank 0 writes its port to a file."""
    from dispatch_aten.collectives import TCPStore

    if rank == 0:
        store = TCPStore("127.0.0.1", 0, is_master=True, timeout=20)
        with socket.create_server(("127.0.0.1", 0)) as other:
            store.set("port", str(other.getsockname()[1]))
        path.with_suffix(".new").write_text(str(store.port), encoding="utf-8")
        path.with_suffix(".new").rename(path)
    else:
        while not path.exists():
            time.sleep(0.005)
        store = TCPStore("127.0.0.1", int(path.read_text(encoding="utf-8")), timeout=20)
    store.enter(rank)
    return store


def run_rank(scenario, rank, size, path):
    """Run a scenario in this process, and write what it returns."""
    import dispatch_core as dc
    import torchlike
    from dispatch_aten.collectives import ProcessGroup

    store = meet(rank, path.with_name(f"{scenario.__name__}-port")) if size > 1 else None
    group = ProcessGroup(rank, size, store, timeout=20)
    found = scenario(torchlike, dc.ops.dispatch, group)
    path.write_text(json.dumps(found), encoding="utf-8")
    with suppress(Exception):  # the group may have failed
        if store is not None:
            store.set_timeout(5)
            if store.add("left", 1) == size:
                store.set("all left", "")
            store.wait(["all left"], 5)
    if rank == 0 and scenario.__module__ == failures.__name__:
        time.sleep(0.3)  # the store goes with this process, and others may still ask
    group.close()


def run_scenario(scenario, size, environment, folder):
    """Fork the ranks of a scenario; return what each has told, and its exit status."""
    os.environ.update({"HCCL_EXEC_TIMEOUT": "4", "HCCL_CONNECT_TIMEOUT": "15"} | environment)
    children = []
    for rank in range(size):
        path = Path(folder, f"{scenario.__name__}-{rank}")
        child = os.fork()
        if not child:
            status = 1
            try:
                run_rank(scenario, rank, size, path)
                status = 0
            except BaseException:  # noqa: BLE001  # the parent prints it
                path.write_text(json.dumps({"error": traceback.format_exc()}), encoding="utf-8")
            finally:
                # The runtime is closed as at the end of a program.
                with suppress(Exception):
                    from dispatch_backend_npu import runtime

                    runtime.finalize(force=True)
                os._exit(status)
        children.append((child, path))
    deadline, statuses = time.monotonic() + LIMIT, []
    for child, _ in children:
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                statuses.append(os.waitstatus_to_exitcode(status))
                break
            if time.monotonic() > deadline:
                os.kill(child, 9)
            time.sleep(0.01)
    told = [json.loads(path.read_text(encoding="utf-8")) if path.exists() else None for _, path in children]
    return {"told": told, "statuses": statuses}


def list_left():
    """Return the names of the simulator's shared memory: files for all processes, and what this process still has open."""
    links = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the listing's own
            links.append(each.readlink())
    return [str(each) for each in (*Path("/dev/shm").iterdir(), *links) if "aclsim" in str(each)]


def main(names):
    import dispatch_aten.collectives  # noqa: F401  # once for all ranks
    import torchlike
    import torchlike.distributed.process_groups
    from torchlike import nn

    # Everything that ranks use is loaded once; the device itself is opened after the fork.
    nn.Linear(2, 2)(torchlike.ones(1, 2)).sum().backward()
    found, times = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for scenario, (size, environment) in SCENARIOS.items():
            if not names or scenario.__name__ in names:
                started = time.monotonic()
                found[scenario.__name__] = run_scenario(scenario, size, environment, folder)
                times[scenario.__name__] = round(time.monotonic() - started, 2)
    print(json.dumps({"found": found, "times": times, "left": list_left()}))


if __name__ == "__main__":
    main(sys.argv[1:])
