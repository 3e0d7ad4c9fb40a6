"""Only documented errors leave public calls, whatever their arguments are; see docs/errors.md.

``hostile_calls.py`` makes the calls, in a process of its own, and can be run for longer by hand. The calls are other ones
every day; a failure prints the seed, and ``DISPATCH_HOSTILE_SEED`` brings its calls back.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the process limits its memory by the module resource")

SCRIPT = Path(__file__).with_name("hostile_calls.py")
SEED = int(os.environ.get("DISPATCH_HOSTILE_SEED") or time.time() // 86400)


def test_only_documented_errors_leave_public_calls():
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(SCRIPT), "--seed", str(SEED), "--seconds", "6"],
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    findings = [json.loads(line) for line in done.stdout.splitlines()]
    told = "\n".join(f"{each.get('name')}{each.get('arguments')}: {each}" for each in findings)
    assert not findings, f"DISPATCH_HOSTILE_SEED={SEED}\n{told}"
    assert done.returncode == 0, f"DISPATCH_HOSTILE_SEED={SEED}\n{done.stderr}"


@pytest.fixture(scope="module")
def hostile_calls():
    spec = importlib.util.spec_from_file_location("hostile_calls", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("error", "is_found"),
    [
        (TypeError("x"), False),
        (RuntimeError("x"), False),
        (AttributeError("x"), True),
        (OverflowError("x"), True),
        (RecursionError("x"), True),
        (AssertionError("x"), True),
        (KeyError("x"), True),
        (ZeroDivisionError("x"), True),
    ],
)
def test_an_undocumented_error_is_found(hostile_calls, error, is_found):
    def call():
        raise error

    run = hostile_calls.Run(0)
    run.attempt("f", "call", call, str)
    assert bool(run.findings) == is_found


def test_every_public_function_is_called(hostile_calls):
    names = {target.name for target in hostile_calls.targets()}
    expected = "torchlike.add torchlike.tensor torchlike.nn.functional.relu torchlike.nn.Linear torchlike.optim.Adam"
    assert names >= {
        *expected.split(),
        "Tensor.view",
        "Tensor.__getitem__",
        "aten::add.Tensor",
        "dispatch_core.explain",
    }
    assert len(names) > 1400


def test_the_documented_errors_are_those_of_the_docs(hostile_calls, root):
    text = (root / "docs" / "errors.md").read_text()
    for error in hostile_calls.DOCUMENTED:
        assert f"| `{error.__name__}` |" in text
