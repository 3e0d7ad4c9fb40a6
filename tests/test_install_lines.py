"""The lines that install the packages: from a clone until there is a release, from its archives then."""

from __future__ import annotations

import functools
import hashlib
import http.server
import importlib
import os
import re
import shutil
import subprocess
import sys
import threading
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]
HOME = "https://github.com/dispatch-project/dispatch"
RELEASE = f"{HOME}/releases/download/v0.1.0"
#: A command of a shell block, or one in a line of text.
COMMANDS = re.compile(
    r"^(?:\$ |- run: )?((?:python3? -m )?pip install .*)$|`((?:python3? -m )?pip install [^`]*)`", re.MULTILINE
)

needs_archives = pytest.mark.skipif(
    "DISPATCH_TEST_DIST" not in os.environ, reason="installs the wheels of dist: run nox -s packaging"
)


@pytest.fixture
def lines(monkeypatch):
    pytest.importorskip("packaging")
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("install_lines")


@pytest.fixture
def checkout(tmp_path, lines):
    """Copy what the tool reads."""
    for path in (
        *lines.pages(ROOT),
        *ROOT.glob("packages/*/pyproject.toml"),
        *ROOT.glob("packages/*/src/*/__init__.py"),
    ):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return tmp_path


def commands(page: Path) -> list[str]:
    return [first or second for first, second in COMMANDS.findall(page.read_text(encoding="utf-8"))]


def test_the_files_of_requirements_are_made_of_the_packages_metadata(lines):
    found = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "requirements").iterdir()}
    assert found == {name: lines.clone_file(ROOT, name) for name in lines.FILES}


def test_the_file_for_cpu_lists_six_folders(lines):
    folders = {folder for folder, _ in lines.wanted(ROOT, "cpu").values()}
    assert folders == {
        "backend-cpu",
        "backend-meta",
        "dispatch-core",
        "dispatch-devkit",
        "frontend-torchlike",
        "operators-aten",
    }
    assert {folder for folder, _ in lines.wanted(ROOT, "core").values()} == {"dispatch-core"}


def test_every_page_installs_from_where_the_readme_says(lines):
    state = lines.state(ROOT)
    assert state == "a clone" or re.fullmatch(rf"{HOME}/releases/download/v\d[\w.]*", state)
    where = "requirements" if state == "a clone" else state
    named = [
        (page, found) for page in lines.pages(ROOT) for found in re.findall(r"-r (\S+)\.txt", page.read_text("utf-8"))
    ]
    assert len(named) > 20
    assert {path.rpartition("/")[0] for _, path in named} == {where}
    assert {path.rpartition("/")[2] for _, path in named} <= {*lines.FILES}


def test_no_page_shows_a_command_for_names_that_no_index_has(lines):
    # A stranger may own such a name: no command may install it from an index.
    shown = [(page.relative_to(ROOT).as_posix(), each) for page in lines.pages(ROOT) for each in commands(page)]
    assert len(shown) > 20
    assert [each for each in shown if re.search(r"""[\s"']dispatch-\w""", each[1])] == []
    assert [each for each in shown if "--extra-index-url" in each[1]] == []


def test_a_release_swaps_the_lines_of_every_page_and_nothing_else(lines, checkout):
    before = {page: page.read_text(encoding="utf-8") for page in lines.pages(checkout)}
    lines.swap(checkout, RELEASE)
    assert lines.state(checkout) == RELEASE
    for page, text in before.items():
        after = page.read_text(encoding="utf-8")
        assert not re.search(r"requirements/\w+\.txt", after)
        assert lines.FROM_CLONE not in after
        back = after.replace(f"{RELEASE}/", "requirements/").replace(f"from: {RELEASE}", "from: a clone")
        assert [*back] == [*text.replace(lines.FROM_CLONE, "")], page
    lines.swap(checkout, RELEASE.replace("0.1.0", "0.2.0"))  # the next release
    assert all("v0.1.0" not in page.read_text(encoding="utf-8") for page in before)


def test_the_command_takes_the_version_of_the_packages(lines, checkout):
    command = [sys.executable, str(ROOT / "tools" / "install_lines.py"), "--root", str(checkout), "pages"]
    subprocess.run(command, check=True)
    (version,) = {package.version for package in lines.packages(ROOT)}
    assert lines.state(checkout) == f"{HOME}/releases/download/v{version}"


def test_a_file_of_a_release_has_the_address_and_the_hash_of_each_wheel(lines, tmp_path):
    for name in lines.wanted(ROOT, "all"):
        (tmp_path / f"{name.replace('-', '_')}-0.1.0-py3-none-any.whl").write_bytes(name.encode())
    text = lines.release_file(ROOT, "jax", tmp_path, RELEASE)
    first, *rest = text.splitlines()
    assert first == f"# python -m pip install -r {RELEASE}/jax.txt"
    assert len(rest) == 8
    digest = hashlib.sha256(b"dispatch-core").hexdigest()
    assert f"dispatch-core @ {RELEASE}/dispatch_core-0.1.0-py3-none-any.whl#sha256={digest}" in rest
    assert any(line.startswith("dispatch-frontend-torchlike[jax] @ ") for line in rest)


@pytest.fixture
def server(lines, tmp_path):
    """Serve the wheels with the files of a release on this machine alone; return the folder and its address."""
    folder = tmp_path / "dist"
    folder.mkdir()
    for wheel in Path(os.environ["DISPATCH_TEST_DIST"]).glob("*.whl"):
        shutil.copy(wheel, folder)
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    handler = functools.partial(quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{host.server_port}"
        for name in lines.FILES:
            (folder / f"{name}.txt").write_text(lines.release_file(ROOT, name, folder, url), encoding="utf-8")
        lines.write_index(folder)
        yield folder, url
        host.shutdown()


@pytest.fixture
def pip(tmp_path):
    """Run pip in a new environment; nothing but our own distributions is installed there."""
    venv.create(tmp_path / "venv", symlinks=True)
    python = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"

    def pip(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pip", "--isolated", "--python", str(python), "--no-cache-dir", *arguments]
        return subprocess.run(
            command, capture_output=True, check=False, stdin=subprocess.DEVNULL, text=True, timeout=120
        )

    return pip


def list_distributions(pip) -> set[str]:
    return {line.partition("==")[0] for line in pip("list", "--format", "freeze").stdout.splitlines()}


@needs_archives
def test_the_file_of_a_release_installs_over_loopback(server, pip):
    _, url = server
    done = pip("install", "--no-deps", "--no-index", "-r", f"{url}/cpu.txt")
    assert done.returncode == 0, done.stderr
    assert list_distributions(pip) >= {"dispatch-core", "dispatch-frontend-torchlike"}
    assert len(list_distributions(pip)) == 6


@needs_archives
def test_a_wheel_that_is_not_as_it_was_released_is_refused(server, pip):
    folder, url = server
    (wheel,) = folder.glob("dispatch_backend_meta-*.whl")
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("dispatch_backend_meta/more.py", "")
    done = pip("install", "--no-deps", "--no-index", "-r", f"{url}/cpu.txt")
    assert done.returncode != 0
    assert "do not match the hash" in " ".join(done.stderr.split()).lower()
    assert list_distributions(pip) == set()


@needs_archives
@pytest.mark.parametrize("option", ["--index-url", "--find-links"])
def test_a_folder_that_a_host_serves_is_an_index(option, server, pip):
    _, url = server
    address = [option, f"{url}/simple/"] if option == "--index-url" else ["--no-index", option, url]
    done = pip("install", "--no-deps", *address, "dispatch-core", "dispatch-operators-aten")
    assert done.returncode == 0, done.stderr
    assert list_distributions(pip) == {"dispatch-core", "dispatch-operators-aten"}
    assert pip("install", "--no-deps", *address, "numpy").returncode != 0
