"""Random programs give the same with compiled kernels and without: values to the bit, layouts, errors and warnings."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("dispatch_backend_cpu_native._loops", reason="the extension is not built: run nox -s native")
pytest.importorskip("ml_dtypes")

from dispatch_backend_cpu.ops.support.compiled_kernels import LOOPS

if LOOPS is None:
    pytest.skip("compiled kernels are turned off", allow_module_level=True)

from cpu_programs import Program

pytestmark = pytest.mark.no_pipeline(reason="some programs open one")
PROGRAMS = int(os.environ.get("DISPATCH_NATIVE_PROGRAMS", "2000"))
STATEMENTS = 25
PARTS = 20


@pytest.mark.parametrize("part", range(PARTS))
def test_programs_give_the_same_with_compiled_kernels_and_without(part):
    served = LOOPS.counts()[0]
    errors = statements = 0
    for seed in range(part, PROGRAMS, PARTS):
        accounts = []
        for on in (True, False):
            was = LOOPS.serve(on)
            try:
                accounts.append(Program(seed).run(STATEMENTS))
            finally:
                LOOPS.serve(was)
        assert len(accounts[0]) == len(accounts[1]), seed
        for place, (with_them, without) in enumerate(zip(*accounts, strict=True)):
            assert with_them == without, (seed, place)
        statements += len(accounts[0])
        errors += sum(isinstance(each, tuple) and isinstance(each[0], str) for each in accounts[0])
    assert LOOPS.counts()[0] - served > PROGRAMS // PARTS * 5
    # Both kinds of statements are there.
    assert PROGRAMS < 1000 or 0.05 < errors / statements < 0.6


def digest(seeds):
    found = hashlib.sha256()
    for seed in seeds:
        found.update(repr(Program(seed).run(STATEMENTS)).encode())
    return found.hexdigest()


def test_processes_with_and_without_the_extension_give_the_same():
    """As the switch within a process, which leaves the objects in the tables."""
    text = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import hashlib\nfrom cpu_programs import Program\nfound = hashlib.sha256()\n"
        f"for seed in range(90_000, 90_100): found.update(repr(Program(seed).run({STATEMENTS})).encode())\n"
        "from dispatch_backend_cpu.ops.support.compiled_kernels import LOOPS\n"
        "print(found.hexdigest(), LOOPS is not None)\n"
    )
    found = {}
    for value in ("0", "1"):
        environment = {**os.environ, "DISPATCH_NATIVE": value}
        command = [sys.executable, "-c", text]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
        assert done.returncode == 0, done.stderr
        found[value] = done.stdout.split()
    assert [on for _, on in found.values()] == ["False", "True"]
    assert found["0"][0] == found["1"][0] == digest(range(90_000, 90_100))
