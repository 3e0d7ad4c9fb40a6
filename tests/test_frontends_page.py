"""The pages for authors of frontends run where nothing but the core is installed, and any device may own NumPy's arrays."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from dispatch_core.surroundings.distributions import normalize

pytestmark = pytest.mark.texts


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
    return found | {distribution.replace("-", "_"), "dispatch_pipelines"}


def run_alone(folder: Path, program: str, *extra: str) -> str:
    """Run a program where only the core, its requirements and these modules can be imported; return its output."""
    for name in {*required_by("dispatch-core"), *extra}:
        spec = importlib.util.find_spec(name)
        found = Path(spec.submodule_search_locations[0] if spec.submodule_search_locations else spec.origin)
        for path in (found, found.with_name(f"{found.name}.libs")):
            if path.exists():
                (folder / path.name).symlink_to(path)
    done = subprocess.run(
        [sys.executable, "-S", "-W", "error", "-c", program],  # -S: without the installed distributions
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("page", "extra"), [("frontends.md", ()), ("tutorials/frontend.md", ("dispatch_devkit",))])
def test_its_examples_run_with_the_core_and_no_more_than_it_names(page, extra, root, tmp_path):
    page = root / "docs" / page
    program = f"""
import doctest, importlib.util, sys
assert not any(map(importlib.util.find_spec, ("numpy", "dispatch_aten", "dispatch_backend_cpu", "torchlike")))
failures, tests = doctest.testfile({str(page)!r}, module_relative=False, optionflags=doctest.ELLIPSIS)
import dispatch_core
print(tests, dict(dispatch_core.backends()))
sys.exit(failures)
"""
    tests, backends = run_alone(tmp_path, program, *extra).split(maxsplit=1)
    assert (int(tests) > 20, backends) == (True, "{}\n")


def test_any_device_may_own_numpys_arrays_where_the_cpu_backend_is_not_installed(tmp_path):
    program = """
import dispatch_core as dc, numpy as np
library = dc.Library("mine", "DEF")
library.define("double(Tensor self) -> Tensor")
arrays = dc.ArrayType(np.ndarray, shape=np.shape, dtype=lambda array: array.dtype.name)
for name in ("host", "rival"):
    try:
        dc.register_backend(dc.BackendInfo(name, array_types=(arrays,)), {"mine::double": lambda self: 2 * self})
    except dc.RegistrationError as error:
        print(error)
print(dc.ops.mine.double(np.ones(2)), dc.device(np.ones(2)))
"""
    printed = run_alone(tmp_path, program, "numpy").splitlines()
    assert printed == [
        "device 'rival' claims the array type ndarray, which belongs to device 'host'",
        "Hint: one type has one owner",
        "[2. 2.] host",
    ]
