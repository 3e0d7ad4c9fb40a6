"""Packages that ``new-backend`` writes, installed and verified; the library of one is a copy of array-api-strict."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import array_api_strict
import pytest

import dispatch_core as dc
from dispatch_devkit.scaffold import new_backend

#: Device → the sort of its package.
DEVICES = {"gale": "array-api", "loam": "strided", "frost": "immutable"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Make a folder with the library ``gale``, and the package for it installed from its wheel."""
    folder = tmp_path_factory.mktemp("written")
    library = folder / "site" / "gale"
    shutil.copytree(
        Path(array_api_strict.__file__).parent, library, ignore=shutil.ignore_patterns("tests", "__pycache__")
    )
    for path in library.rglob("*.py"):
        path.write_text(path.read_text(encoding="utf-8").replace("array_api_strict", "gale"), encoding="utf-8")
    projects = [str(new_backend(name, folder, sort=sort).folder) for name, sort in DEVICES.items()]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--no-input", "install", "--no-index"]
    target = ["--no-deps", "--no-build-isolation", "--target", str(folder / "site"), *projects]
    subprocess.run([*pip, *target], check=True, stdin=subprocess.DEVNULL)
    return folder / "site"


def run(site, *arguments):
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "DISPATCH_CHECK_RESULTS": "1"}
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        check=False,
        cwd=site,
        env=environment,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_own_tests_pass(site):
    folder = site.parent / "gale-backend"
    options = ["--quiet", "-p", "no:cacheprovider", f"--config-file={folder}/pyproject.toml", f"--rootdir={folder}"]
    printed = run(site, "-m", "pytest", *options, str(folder))
    assert re.fullmatch(r"\d+ passed in .*", printed.splitlines()[-1]), printed


#: Device → options of the kit's run, and how many checks pass at least.
VERIFIED = {
    "gale": (
        [f"--only=aten::{name}" for name in ("add*", "div*", "exp*", "sum*", "mean*", "view", "*mm", "index*")],
        30,
    ),
    "loam": (["--only=aten::*", "--samples=1"], 600),
    "frost": (["--only=aten::*", "--samples=1"], 600),
}


@pytest.mark.parametrize("device", VERIFIED)
def test_the_kit_finds_no_fault(device, site):
    options, least = VERIFIED[device]
    report = json.loads(run(site, "-m", "dispatch_core", "verify", device, "--json", *options))
    assert (report["fine"], report["distribution"]) == (True, f"{device}-backend")
    assert report["counts"]["passed"] > least


def test_the_doctor_finds_no_fault(site):
    assert run(site, "-m", "dispatch_core", "doctor", "gale").endswith("1 examined, 0 with faults\n")


def test_a_device_of_the_program_goes_before_one_of_this_distribution():
    assert dc.backends()["strict"].distribution == "dispatch-backend-array-api"
    program = (
        "import dispatch_core as dc\n"
        "dc.register_backend(dc.BackendInfo('strict'), {})\n"
        "print(dc.backends()['strict'].place, *dc.backends()['strict'].rivals)"
    )
    assert run(Path.cwd(), "-c", program) == "<string>:2 installed, dispatch-backend-array-api 0.1.0\n"
