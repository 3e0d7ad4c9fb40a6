"""A switch of pipelines is an edit of two files, as CONTRIBUTING says: it is tried in a copy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dispatch_core
import dispatch_pipelines

#: File → a line of it, and the lines that take its place.
EDITS = {
    "run/handle.py": (
        '    "trace": (False, ',
        '    "plans": (True, lambda value: value if isinstance(value, bool) else None, "a bool"),\n    "trace": (False, ',
    ),
    "run/executors.py": (
        'self.allows_plans = not options["trace"]',
        'self.allows_plans = options["plans"] and not options["trace"]',
    ),
}
PROGRAM = """
import dispatch_core as dc, torchlike
def count(**options):
    with dc.pipeline(**options) as pipe:
        found = (torchlike.ones(3) * 2.0 + 1.0).exp()
    return found.tolist(), pipe.stats().cache_misses + pipe.stats().cache_hits
with_plans, without = count(), count(plans=False)
assert with_plans[0] == without[0]
print(with_plans[1] > 0, without[1])
try:
    dc.pipeline(plans=3)
except dc.ArgumentError as error:
    print(error)
"""


@pytest.fixture
def copies(tmp_path):
    for package in (dispatch_core, dispatch_pipelines):
        folder = Path(package.__file__).parent
        shutil.copytree(folder, tmp_path / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run(folder):
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, check=False, text=True, timeout=120
    )


def test_a_switch_is_an_edit_of_two_files(copies):
    for file, (before, after) in EDITS.items():
        path = copies / "dispatch_pipelines" / file
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1
        path.write_text(text.replace(before, after), encoding="utf-8")
    done = run(copies)
    assert done.returncode == 0, done.stderr
    first, *error = done.stdout.splitlines()
    assert first == "True 0"
    assert "option 'plans' must be a bool or None, not 3" in error[0]


def test_without_the_edits_there_is_no_such_switch(copies):
    done = run(copies)
    assert done.returncode == 1
    assert "unexpected option 'plans'" in done.stderr
