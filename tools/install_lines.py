"""Lines that install the packages: from a clone until there is a release, and from the release's archives then.

``requirements/NAME.txt`` lists the folders of this checkout that an extra of the frontend needs: ``write`` makes these files
of the packages' metadata, and a test compares them. For a release ``files`` makes the same files with the addresses of its
wheels and their hashes, and ``pages`` has every page install from them. README.md's marker says which of both is so.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from release import packages

__all__ = ["FILES", "clone_file", "pages", "release_file", "state", "swap", "url_of", "wanted", "write_index"]

ROOT = Path(__file__).parents[1]
FRONTEND = "dispatch-frontend-torchlike"
#: What `dispatch new-backend` writes.
TEMPLATES = "packages/dispatch-devkit/src/dispatch_devkit/templates/**/*.template"
#: File of requirements → what it installs: a distribution with the extras that are asked for.
FILES = {
    "core": "dispatch-core",
    "devkit": "dispatch-devkit",
    "as-torch": f"{FRONTEND}[as-torch,cpu]",
    "testing": f"dispatch-operators-aten[testing], {FRONTEND}[cpu]",
    **{extra: f"{FRONTEND}[{extra}]" for extra in ("cpu", "full", "npu", "jax", "dask", "jit", "all")},
}
#: The words that stand only where a page installs from a clone.
FROM_CLONE = ", from the root of a clone"
_MARKER = re.compile(r"^<!-- installs from: (.+) -->$", re.MULTILINE)
_FILE = re.compile(rf"(?:\brequirements|https://\S+/releases/download/v[\w.]+)/(?=(?:{'|'.join(FILES)})\.txt\b)")


def _projects(root: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the folder and the metadata of each distribution of a checkout."""
    read = {
        path.parent.name: tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        for path in sorted(root.glob("packages/*/pyproject.toml"))
    }
    return {project["name"]: (folder, project) for folder, project in read.items()}


def wanted(root: Path, name: str) -> dict[str, tuple[str, set[str]]]:
    """Return the distributions of ours that a file of requirements installs: the folder and the extras of each.

    Extras that another distribution asks for are left to it.
    """
    projects = _projects(root)
    asked = [Requirement(each.strip()) for each in FILES[name].split(", ")]
    extras = {each.name: set(each.extras) for each in asked}
    found: set[tuple[str, str]] = set()
    todo = [(each.name, extra) for each in asked for extra in ("", *each.extras)]
    while todo:
        distribution, extra = todo.pop()
        if (distribution, extra) in found or distribution not in projects:
            continue
        found.add((distribution, extra))
        _, project = projects[distribution]
        lines = project["optional-dependencies"][extra] if extra else project["dependencies"]
        todo += [(line.name, each) for line in map(Requirement, lines) for each in ("", *line.extras)]
    names = {distribution for distribution, _ in found}
    return {each: (folder, extras.get(each, set())) for each, (folder, _) in projects.items() if each in names}


def _spellings(extras: set[str]) -> list[str]:
    """Return what stands behind a name: nothing, and the extras on a second line.

    To pip, a file of a name with extras is none of the plain name, which other distributions require.
    """
    return ["", f"[{','.join(sorted(extras))}]"] if extras else [""]


def clone_file(root: Path, name: str) -> str:
    """Return the text of ``requirements/NAME.txt``: a line for each folder."""
    found = wanted(root, name).values()
    lines = [f"./packages/{folder}{spelling}" for folder, extras in found for spelling in _spellings(extras)]
    title = f"# From the root of a clone: python -m pip install -r requirements/{name}.txt"
    return "\n".join([title, *lines, ""])


def url_of(root: Path, version: str) -> str:
    """Return the address below which a release's files lie."""
    home = _projects(root)["dispatch-core"][1]["urls"]["Homepage"]
    return f"{home}/releases/download/v{version}"


def release_file(root: Path, name: str, dist: Path, url: str) -> str:
    """Return the text of a release's ``NAME.txt``: each wheel's address and hash, which pip compares.

    A fragment of an address asks for no hashes of the other distributions, as the option ``--hash`` would.
    """
    lines = [f"# python -m pip install -r {url}/{name}.txt"]
    for distribution, (_, extras) in wanted(root, name).items():
        (wheel,) = dist.glob(f"{distribution.replace('-', '_')}-*.whl")
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        lines += [f"{distribution}{each} @ {url}/{wheel.name}#sha256={digest}" for each in _spellings(extras)]
    return "\n".join([*lines, ""])


def write_index(dist: Path) -> None:
    """Write ``simple/``, an index of the wheels by PEP 503, for hosts that serve ``dist`` as a folder."""
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "packages.json")
        lines = [
            json.dumps({"filename": wheel.name, "hash": f"sha256={hashlib.sha256(wheel.read_bytes()).hexdigest()}"})
            for wheel in sorted(dist.glob("*.whl"))
        ]
        listed.write_text("\n".join([*lines, ""]), encoding="utf-8")
        site = Path(folder, "site")
        command = ["--package-list-json", str(listed), "--packages-url", "../../", "--output-dir", str(site)]
        subprocess.run([sys.executable, "-m", "dumb_pypi.main", *command], check=True)
        shutil.rmtree(dist / "simple", ignore_errors=True)
        shutil.copytree(site / "simple", dist / "simple")


def pages(root: Path) -> Iterator[Path]:
    """Yield the pages that may install something."""
    for pattern in (
        "README.md",
        "CONTRIBUTING.md",
        "packages/*/README.md",
        "docs/**/*.md",
        "examples/**/*.md",
        TEMPLATES,
    ):
        yield from sorted(root.glob(pattern))


def state(root: Path) -> str:
    """Return from where the pages install, by README.md's marker: ``a clone``, or the address of a release."""
    (found,) = _MARKER.findall((root / "README.md").read_text(encoding="utf-8"))
    return found


def swap(root: Path, url: str) -> None:
    """Make every page install from a release."""
    for page in pages(root):
        before = page.read_text(encoding="utf-8")
        after = _FILE.sub(f"{url}/", _MARKER.sub(f"<!-- installs from: {url} -->", before)).replace(FROM_CLONE, "")
        if after != before:
            page.write_text(after, encoding="utf-8")


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("write", help="write requirements/NAME.txt")
    commands.add_parser("pages", help="have the pages install from the release of this version")
    files = commands.add_parser("files", help="write the release's NAME.txt beside its wheels, and an index of them")
    files.add_argument("dist", type=Path, help="the folder of the wheels")
    options = parser.parse_args()
    root = options.root.resolve()
    if options.command == "write":
        for name in FILES:
            (root / "requirements" / f"{name}.txt").write_text(clone_file(root, name), encoding="utf-8")
        return
    (version,) = {package.version for package in packages(root)}
    url = url_of(root, version)
    if options.command == "pages":
        swap(root, url)
        return
    for name in FILES:
        (options.dist / f"{name}.txt").write_text(release_file(root, name, options.dist, url), encoding="utf-8")
    write_index(options.dist)


if __name__ == "__main__":
    main()
