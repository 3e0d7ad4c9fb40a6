"""Start a program in several processes of this machine: ``python -m torchlike.distributed.run`` (source: ``torchrun``).

Each gets ``RANK``, ``LOCAL_RANK``, ``WORLD_SIZE``, ``LOCAL_WORLD_SIZE``, ``MASTER_ADDR`` and ``MASTER_PORT``, by which
`init_process_group` finds the others. Where one fails, the others are ended, and its exit status is the command's.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic, sleep
from types import FrameType
from typing import Final

from dispatch_aten.collectives import KEY_VARIABLE, find_port

__all__ = ["main"]

_PAUSE: Final = 0.05
#: How many seconds processes have to end themselves, of those that one's failure leaves or that a signal ends.
_GRACE: Final = 5.0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m torchlike.distributed.run", description="Start a program in several processes of this machine."
    )
    add = parser.add_argument
    add(
        "--nproc-per-node", "--nproc_per_node", default="1", help="the number of processes: a number, or cpu, auto, gpu"
    )
    add("--nnodes", default="1", help="the number of machines, which is 1")
    add("--standalone", action="store_true", help="choose a free port, as is done without --master-port, too")
    add("--master-addr", "--master_addr", default="127.0.0.1", help="the address of rank 0")
    add("--master-port", "--master_port", type=int, default=0, help="the port of rank 0; 0 is a free one")
    add("--node-rank", "--node_rank", type=int, default=0, help="the number of this machine, which is 0")
    add("-m", "--module", action="store_true", help="the program is a module, as in python -m")
    add("--no-python", "--no_python", action="store_true", help="the program is started by itself, without Python")
    add("program", help="the path of the program")
    add("arguments", nargs=argparse.REMAINDER, help="the program's own arguments")
    found = parser.parse_args(arguments)
    if found.nnodes not in ("1", "1:1") or found.node_rank:
        parser.error("it starts processes on one machine; mpirun does on several")
    return found


def _count(text: str) -> int:
    if text in ("cpu", "auto"):
        return os.cpu_count() or 1
    if not text.isdigit() or not int(text):
        raise SystemExit(f"--nproc-per-node is {text!r}: a number from 1, cpu or auto")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Start the processes that a command line asks for, wait for them, and return the exit status."""
    asked = _parse(arguments)
    size = _count(asked.nproc_per_node)
    port = 0 if asked.standalone else asked.master_port
    start = [] if asked.no_python else [sys.executable, "-u", *(["-m"] if asked.module else [])]
    shared = {
        "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(size),
        "GROUP_RANK": "0",
        "MASTER_ADDR": asked.master_addr,
        "MASTER_PORT": str(port or find_port(asked.master_addr)),
        "TORCHELASTIC_RUN_ID": secrets.token_hex(8),
        KEY_VARIABLE: os.environ.get(KEY_VARIABLE) or secrets.token_hex(),
    }
    if size > 1:
        shared["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", "1")
    return _run([*start, asked.program, *asked.arguments], shared, size)


def _run(command: Sequence[str], shared: Mapping[str, str], size: int) -> int:
    children: list[subprocess.Popen[bytes]] = []
    caught: list[int] = []

    def catch(number: int, _: FrameType | None) -> None:
        caught.append(number)

    before = {each: signal.signal(each, catch) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        for rank in range(size):
            own = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            children.append(subprocess.Popen(command, env={**os.environ, **shared, **own}))
        while not caught:
            states = [each.poll() for each in children]
            failed = next((rank for rank, each in enumerate(states) if each), None)
            if failed is not None:
                status = states[failed] or 0
                sys.stderr.write(f"rank {failed} of {size} has failed with exit status {status}\n")
                return status if status > 0 else 128 - status
            if None not in states:
                return 0
            sleep(_PAUSE)
        return 128 + caught[0]
    finally:
        _end(children)
        for each, handler in before.items():
            signal.signal(each, handler)


def _end(children: Sequence[subprocess.Popen[bytes]]) -> None:
    """End processes that still run: by a request, and those that do not follow it by force."""
    for each in children:
        if each.poll() is None:
            with suppress(OSError):
                each.terminate()
    deadline = monotonic() + _GRACE
    while any(each.poll() is None for each in children) and monotonic() < deadline:
        sleep(_PAUSE)
    for each in children:
        if each.poll() is None:
            each.kill()
        each.wait()


if __name__ == "__main__":
    sys.exit(main())
