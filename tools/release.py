"""What a release needs beside archives: agreement, and notes made of fragments. ``nox -s release`` calls both commands.

``check`` lists everything that stands against a release of the committed tree. ``notes`` writes the section of the version
into each package's ``CHANGELOG.md``, by towncrier, and prints all of them; the fragments are gone then. ``fragments`` checks
the names and texts of the fragments alone.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

__all__ = ["Package", "faults", "fold", "fragment_faults", "packages", "section", "write_notes"]

MARKER = "<!-- towncrier release notes start -->"
#: A fragment's name: some words of its own, then one of towncrier.toml's types. Without the plus towncrier takes the words
#: for the number of an issue.
FRAGMENT = r"\+[a-z0-9]+(-[a-z0-9]+)*\.({types})\.md"
_UNRELEASED = re.compile(r"^## (\S+) \(unreleased\)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Package:
    """A distribution of the checkout: its name, version, requirements and folder."""

    name: str
    version: str
    requirements: tuple[Requirement, ...]
    folder: Path

    @property
    def changelog(self) -> Path:
        """The file of its notes."""
        return self.folder / "CHANGELOG.md"

    @property
    def fragments(self) -> list[Path]:
        """The files that become notes."""
        return sorted(path for path in (self.folder / "changes").glob("*") if path.name != ".gitkeep")


def packages(root: Path, *, compiled: bool = False) -> list[Package]:
    """Return the distributions below ``packages/``, by their own metadata; with ``compiled`` those of C code, too."""
    found = sorted(root.glob("packages/*/pyproject.toml"))
    return [_package(path) for path in found if compiled or not (path.parent / "setup.py").exists()]


def _package(path: Path) -> Package:
    settings = tomllib.loads(path.read_text(encoding="utf-8"))
    project = settings["project"]
    version = project.get("version")
    if version is None:
        source = path.parent / settings["tool"]["hatch"]["version"]["path"]
        (version,) = re.findall(r'^__version__\b.*= *"(.+)"$', source.read_text(encoding="utf-8"), re.MULTILINE)
    lines = [
        *project["dependencies"],
        *(line for some in project.get("optional-dependencies", {}).values() for line in some),
    ]
    return Package(project["name"], version, tuple(map(Requirement, lines)), path.parent)


def faults(root: Path) -> Iterator[str]:
    """Yield what stands against a release of the committed tree, one sentence each."""
    changed = _git(root, "status", "--porcelain")
    if changed:
        yield "The tree has changes that are not committed:\n" + "\n".join(f"  {line}" for line in changed)
    found = packages(root, compiled=True)
    versions = {package.version for package in found}
    if len(versions) > 1:
        listed = "\n".join(f"  {package.version}  {package.name}" for package in found)
        yield f"The packages have {len(versions)} versions:\n{listed}"
    for version in sorted(versions):
        if _git(root, "tag", "--list", f"v{version}"):
            yield f"The tag v{version} exists: {version} is released. Set the next version in every package."
    yield from _bound_faults(found)
    yield from fragment_faults(root)
    yield from _note_faults(root, found)


def _bound_faults(found: list[Package]) -> Iterator[str]:
    """Yield requirements of one package of ours on another that the other's version does not meet."""
    versions = {package.name: Version(package.version) for package in found}
    for package in found:
        for requirement in package.requirements:
            version = versions.get(requirement.name)
            if version is not None and not requirement.specifier.contains(version, prereleases=True):
                yield f"{package.name} requires {requirement}, and its version here is {version}."


def fragment_faults(root: Path) -> Iterator[str]:
    """Yield fragments whose name or text towncrier would take for something else."""
    settings = tomllib.loads((root / "towncrier.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]
    types = [each["directory"] for each in settings["type"]]
    pattern = re.compile(FRAGMENT.format(types="|".join(types)))
    for path in (path for package in packages(root, compiled=True) for path in package.fragments):
        where = path.relative_to(root).as_posix()
        if not pattern.fullmatch(path.name):
            yield f"{where}: a fragment is named +some-words.TYPE.md, and TYPE is one of {', '.join(types)}."
        elif not re.fullmatch(r"[^\s#*-].*\.\n", path.read_text(encoding="utf-8"), re.DOTALL):
            yield f"{where}: a fragment is sentences without a bullet, and ends with a full stop and one line feed."


def _note_faults(root: Path, found: list[Package]) -> Iterator[str]:
    """Yield packages whose notes cannot be written, or would say nothing of changes."""
    tags = _git(root, "tag", "--list", "v*", "--merged", "HEAD", "--sort=-version:refname")
    for package in found:
        text = package.changelog.read_text(encoding="utf-8")
        if text.count(f"{MARKER}\n") != 1:
            yield f"{package.name}: CHANGELOG.md has no line {MARKER!r}, below which sections are written."
        if re.search(rf"^## {re.escape(package.version)} \(\d", text, re.MULTILINE):
            yield f"{package.name}: CHANGELOG.md has a section of {package.version} already."
        if package.fragments or _UNRELEASED.search(text):
            continue
        source = (package.folder / "src").relative_to(root).as_posix()
        if not tags or _git(root, "diff", "--name-only", tags[0], "HEAD", "--", source):
            since = f"since {tags[0]}" if tags else "and was never released"
            yield f"{package.name} has changed {since}, and no fragment in its changes/ tells users of it."


def write_notes(root: Path, date: str) -> str:
    """Turn fragments into a section of each changelog, and return the notes of all packages as one text.

    What a changelog says under "(unreleased)", from before there were fragments, closes the section.
    """
    notes = []
    for package in packages(root):
        if package.fragments or not _UNRELEASED.search(package.changelog.read_text(encoding="utf-8")):
            command = ["build", "--config", str(root / "towncrier.toml"), "--dir", str(package.folder), "--yes"]
            subprocess.run(
                [sys.executable, "-m", "towncrier", *command, "--version", package.version, "--date", date],
                check=True,
                cwd=root,
                stdout=subprocess.DEVNULL,
            )
        text = fold(package.changelog.read_text(encoding="utf-8"), package.version, date)
        package.changelog.write_text(text, encoding="utf-8")
        notes.append(f"# {package.name} {package.version}\n\n{section(text, package.version)}\n")
    return "\n".join(notes)


def fold(text: str, version: str, date: str) -> str:
    """Return a changelog whose "(unreleased)" entries belong to the section of ``version``, which they close or become."""
    has_section = f"## {version} ({date})\n" in text
    text = _UNRELEASED.sub("### Development" if has_section else f"## {version} ({date})", text)
    return re.sub(r"\n{3,}", "\n\n", text)


def section(text: str, version: str) -> str:
    """Return what a changelog says about a version, without its heading."""
    found = re.search(rf"^## {re.escape(version)} \([^)]*\)\n\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise LookupError(f"the changelog has no section of {version}")
    return found[1].rstrip()


def _git(root: Path, *arguments: str) -> list[str]:
    git = shutil.which("git") or "git"
    return subprocess.run([git, *arguments], capture_output=True, check=True, cwd=root, text=True).stdout.splitlines()


def main() -> int:
    """Run a command; the exit status is 1 where a check finds a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("check", "fragments", "notes"))
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the checkout")
    parser.add_argument("--date", default=dt.datetime.now(dt.UTC).date().isoformat(), help="that of the notes")
    options = parser.parse_args()
    root = options.root.resolve()
    if options.command == "notes":
        sys.stdout.write(write_notes(root, options.date))
        return 0
    found = list((faults if options.command == "check" else fragment_faults)(root))
    sys.stderr.writelines(f"{fault}\n" for fault in found)
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main())
