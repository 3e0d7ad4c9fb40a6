"""The page for authors of frontends runs where nothing but the core is installed."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from dispatch_core.distributions import normalize


def required_by(distribution: str) -> set[str]:
    """Return the import names of an installed distribution and of those that it requires, directly or not."""
    owners = metadata.packages_distributions()
    found, todo = set(), [distribution]
    while todo:
        name = normalize(todo.pop())
        found |= {module for module, given in owners.items() if name in map(normalize, given)}
        try:
            lines = metadata.requires(name) or ()
        except metadata.PackageNotFoundError:  # for another version of Python
            continue
        todo += [re.match(r"[\w.-]+", line)[0] for line in lines if "extra ==" not in line]
    return found | {distribution.replace("-", "_")}


def test_its_examples_run_with_the_core_alone(root, tmp_path):
    for name in required_by("dispatch-core"):
        spec = importlib.util.find_spec(name)
        found = Path(spec.submodule_search_locations[0] if spec.submodule_search_locations else spec.origin)
        (tmp_path / found.name).symlink_to(found)
    page = root / "docs" / "frontends.md"
    program = f"""
import doctest, importlib.util, sys
assert not any(map(importlib.util.find_spec, ("numpy", "dispatch_aten", "dispatch_backend_cpu", "torchlike")))
failures, tests = doctest.testfile({str(page)!r}, module_relative=False, optionflags=doctest.ELLIPSIS)
import dispatch_core
print(tests, dict(dispatch_core.backends()))
sys.exit(failures)
"""
    done = subprocess.run(
        [sys.executable, "-S", "-W", "error", "-c", program],  # -S: without the installed distributions
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tests, backends = done.stdout.split(maxsplit=1)
    assert (int(tests) > 30, backends) == (True, "{}\n")
