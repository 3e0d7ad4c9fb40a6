"""Tests with eight devices of JAX, in a process of their own: JAX counts its devices once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")

_FOLDER = Path(__file__).parent / "eight_devices"


def test_with_eight_devices():
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    chosen = [] if os.environ.get("DISPATCH_DRAWN_SHARE") == "1" else ["-m", "not long"]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *chosen, str(_FOLDER)],
        env=os.environ | {"XLA_FLAGS": flags.strip(), "JAX_PLATFORMS": "cpu", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-8000:] + found.stderr[-2000:]
    assert " passed" in found.stdout
    assert "skipped" not in found.stdout
