"""Shared parts of the tests that cross packages."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

collect_ignore = [] if importlib.util.find_spec("torch") else ["parity"]


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return Path(__file__).parents[1]


@contextmanager
def install(name, site):
    """Install a backend of this folder as a plugin that the loader finds."""
    import dispatch_core as dc  # late, as whatever only some tests need

    folder = site / f"{name}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: dispatch-core\n"
    )
    (folder / "entry_points.txt").write_text(f"[dispatch_core.backends]\n{name} = {name}_backend\n")
    (site / f"{name}_backend.py").write_text(Path(__file__).with_name(f"{name}_backend.py").read_text())
    sys.path.insert(0, str(site))
    dc.refresh()
    yield
    sys.path.remove(str(site))


@pytest.fixture(scope="module")
def frozen_backend(tmp_path_factory):
    """The thirty-line backend whose arrays cannot be written to."""
    with install("frozen", tmp_path_factory.mktemp("site")):
        yield


@pytest.fixture(scope="module")
def late_backend(tmp_path_factory):
    """The backend whose arrays are computed late."""
    with install("late", tmp_path_factory.mktemp("site")):
        yield


@pytest.fixture(scope="module")
def sparing_backend(tmp_path_factory):
    """The backend that has the required kernels only."""
    with install("sparing", tmp_path_factory.mktemp("site")):
        yield


@pytest.fixture(scope="module")
def strideless_backend(tmp_path_factory):
    """The backend that has what arrays without strides that cannot be written need, and no more."""
    with install("strideless", tmp_path_factory.mktemp("site")):
        yield


@pytest.fixture
def run_isolated():
    """Run code in a fresh interpreter that sees installed packages only; return its output, line by line."""

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
