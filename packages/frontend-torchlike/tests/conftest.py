"""Programs of torch in one process in which torchlike stands in for torch: a process of its own takes each a second."""

import json
import subprocess
import sys

import pytest

DRIVER = """
import contextlib, io, json, sys
programs = json.load(sys.stdin)
outcomes = {}
for name, code in programs.items():
    error = ""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            exec(compile(f"import torch\\n{code}", name, "exec"), {"__name__": "__main__"})
        except Exception as caught:
            error = f"{type(caught).__name__}: {caught}"
    outcomes[name] = printed.getvalue().strip(), error
print("OUTCOMES" + json.dumps(outcomes))
"""


@pytest.fixture(scope="session")
def run_programs():
    """A function of programs by name that returns what each printed, and its error as text; warnings are errors."""

    def run(programs):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "torchlike", "run", "-c", DRIVER],
            input=json.dumps(programs),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert "OUTCOMES" in done.stdout, done.stderr
        return {name: tuple(each) for name, each in json.loads(done.stdout.rpartition("OUTCOMES")[2]).items()}

    return run
