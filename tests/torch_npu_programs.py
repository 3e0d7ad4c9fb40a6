"""Runs programs that import torch_npu on torchlike, as ``python -m torchlike run`` does, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

#: The checkout, or an unpacked source distribution of the backend.
_ROOT = Path(__file__).parents[1]
_BACKEND = _ROOT / "packages" / "backend-npu"
PROJECT = tomllib.loads(((_BACKEND if _BACKEND.is_dir() else _ROOT) / "pyproject.toml").read_text("utf-8"))["project"]


def write_metadata(folder: Path) -> Path:
    """Write the distribution's entry points as an installer would: the installed ones may be older."""
    found = folder / f"{PROJECT['name'].replace('-', '_')}-{PROJECT['version']}.dist-info"
    found.mkdir(parents=True, exist_ok=True)
    (found / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PROJECT['name']}\nVersion: {PROJECT['version']}\n")
    lines = [
        line
        for group, points in PROJECT["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (found / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder


def run(program: str, folder: Path, *options: str, status: int = 0) -> str:
    """Run a program and return what it printed; fail where it ends otherwise."""
    script = folder / "program.py"
    script.write_text(program, encoding="utf-8")
    path = os.pathsep.join([str(write_metadata(folder / "metadata")), *filter(None, sys.path)])
    ended = subprocess.run(
        [sys.executable, *options, "-m", "torchlike", "run", str(script)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == status, ended.stdout + ended.stderr
    return ended.stdout if not status else ended.stdout + ended.stderr
