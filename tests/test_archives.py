"""The archives that an index gets: eight of each kind, of one version, whole, and without anything else."""

from __future__ import annotations

import email
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]
DIST = Path(os.environ.get("DISPATCH_TEST_DIST", ROOT / "dist"))
#: Distribution → folder.
PACKAGES = {
    tomllib.loads(path.read_text(encoding="utf-8"))["project"]["name"]: path.parent
    for path in sorted(ROOT.glob("packages/*/pyproject.toml"))
    if not (path.parent / "setup.py").exists()  # built by a compiler, by another session
}
pytestmark = [
    pytest.mark.skipif("DISPATCH_TEST_DIST" not in os.environ, reason="asks about archives: run nox -s packaging"),
    pytest.mark.parametrize("name", PACKAGES),
]


def archive(name: str, ending: str) -> Path:
    (path,) = DIST.glob(f"{name.replace('-', '_')}-*{ending}")
    return path


def wheel_files(name: str) -> dict[str, bytes]:
    with zipfile.ZipFile(archive(name, ".whl")) as wheel:
        return {file: wheel.read(file) for file in wheel.namelist()}


def source_files(name: str) -> dict[str, bytes]:
    """Return the files of a source archive by their paths below its one folder."""
    path = archive(name, ".tar.gz")
    with tarfile.open(path) as members:
        files = {member.name: members.extractfile(member).read() for member in members if member.isfile()}
    top = path.name.removesuffix(".tar.gz") + "/"
    assert all(file.startswith(top) for file in files)
    return {file.removeprefix(top): content for file, content in files.items()}


def sources(name: str) -> dict[str, bytes]:
    """Return the files below ``src/`` that the checkout has, without what running them leaves."""
    folder = PACKAGES[name] / "src"
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_a_wheel_has_the_sources_the_license_and_nothing_else(name):
    files, expected = wheel_files(name), sources(name)
    inside = {file for file in files if ".dist-info/" in file}
    # Python reads the last one when it starts; no other distribution has such a file.
    beside = {"torchlike_as_torch.pth"} if name == "dispatch-torchlike-as-torch" else set()
    assert {file: files[file] for file in files.keys() - inside - beside} == expected
    assert beside <= files.keys()
    assert any(file.endswith("/py.typed") for file in expected)
    ends = {file.partition(".dist-info/")[2] for file in inside}
    assert ends - {"entry_points.txt"} == {"METADATA", "RECORD", "WHEEL", "licenses/LICENSE"}
    names = {PurePosixPath(file).name for file in files}
    assert not [name for name in names if name == "conftest.py" or (name.startswith("test_") and name.endswith(".py"))]


def test_a_source_archive_has_tests_with_all_that_they_share(name):
    files = source_files(name)
    assert {"CHANGELOG.md", "LICENSE", "README.md", "PKG-INFO", "pyproject.toml", "pytest.ini"} <= files.keys()
    assert {file.removeprefix("src/"): text for file, text in files.items() if file.startswith("src/")} == sources(name)
    folder = PACKAGES[name] / "tests"
    tests = {path.relative_to(folder.parent).as_posix() for path in folder.rglob("*.py")}
    assert tests <= files.keys()
    shared = (ROOT / "conftest.py").read_bytes()
    assert shared in {files.get("conftest.py"), files.get("tests/conftest.py")}
    assert not [file for file in files if "__pycache__" in file or file.endswith((".pyc", ".so"))]


def test_the_archives_of_a_package_have_one_version_and_one_description(name):
    (metadata,) = (text for file, text in wheel_files(name).items() if file.endswith(".dist-info/METADATA"))
    assert metadata == source_files(name)["PKG-INFO"]
    found = email.message_from_bytes(metadata)
    assert found["Name"] == name
    (core,) = DIST.glob("dispatch_core-*.whl")
    assert found["Version"] == core.name.split("-")[1]
    assert archive(name, ".tar.gz").name == f"{name.replace('-', '_')}-{found['Version']}.tar.gz"
    assert found.get_payload(decode=True).decode() == (PACKAGES[name] / "README.md").read_text(encoding="utf-8")


def test_a_second_build_gives_the_same_bytes(name, tmp_path):
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, PACKAGES[name]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    again = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert again == {path.name: path.read_bytes() for path in (archive(name, ".whl"), archive(name, ".tar.gz"))}
