"""Trainings of random networks give the same with compiled parts and without, to the bit, whichever way their steps run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

if "DISPATCH_TEST_NATIVE" not in os.environ:
    pytest.importorskip("dispatch_backend_cpu_native._loops", reason="the extension is not built: run nox -s native")
pytest.importorskip("ml_dtypes")

from training_programs import run_training

from dispatch_backend_cpu.ops.support.compiled_kernels import LOOPS
from dispatch_core.calls.native import find_front

FRONT = find_front()
#: Those that are there and on; the front is another package.
COMPILED = [each for each in (LOOPS, FRONT) if each is not None]
pytestmark = [
    pytest.mark.no_pipeline(reason="some programs open one"),
    pytest.mark.skipif(LOOPS is None, reason="compiled kernels are turned off"),
]
TRAININGS = int(os.environ.get("DISPATCH_NATIVE_PROGRAMS", "2000")) // 10
PARTS = 20


def train(seed, *, compiled):
    try:
        for each in COMPILED:
            each.serve(compiled)
        return run_training(seed)
    finally:
        for each in COMPILED:
            each.serve(True)


@pytest.mark.parametrize("part", range(PARTS))
def test_trainings_leave_the_same(part):
    seeds = range(part, TRAININGS, PARTS)
    served, errors = LOOPS.counts()[0], 0
    for seed in seeds:
        order = (True, False) if seed % 2 else (False, True)
        shown = {compiled: train(seed, compiled=compiled) for compiled in order}
        assert len(shown[True]) == len(shown[False]), seed
        for place, (with_them, without) in enumerate(zip(shown[True], shown[False], strict=True)):
            assert with_them == without, (seed, place)
        errors += any(each[0] == "error" for each in shown[True])
    assert LOOPS.counts()[0] > served
    assert errors * 4 <= max(len(seeds), 4)  # most trainings come to their end


def test_processes_with_and_without_the_packages_leave_the_same():
    """As the switch within a process, which leaves what is registered in the tables."""
    text = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from training_programs import run_training\n"
        f"for seed in range(50_000, 50_000 + {max(TRAININGS // 2, 20)}): print(seed, run_training(seed))\n"
    )
    found = []
    for value in ("0", "1"):
        environment = {**os.environ, "DISPATCH_NATIVE": value}
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=900, env=environment
        )
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.splitlines())
    without, with_them = found
    assert len(without) == max(TRAININGS // 2, 20)
    for one, other in zip(without, with_them, strict=True):
        assert one == other, one.partition(" ")[0]
