"""What the tests that cross packages share."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

collect_ignore = [] if importlib.util.find_spec("torch") else ["parity"]


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return Path(__file__).parents[1]


@pytest.fixture
def run_isolated():
    """Run code in a fresh interpreter that sees installed packages only; return what it prints, line by line."""

    def run(code: str, *, timeout: float = 120) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-I", "-c", code],
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    return run
