"""What a tutorial or guide needs, read from the lines that readers see: its commands of pip, and the sentence above them."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
#: Begins the sentence above a page's commands of pip.
SENTENCE = re.compile(r"^\*\*This page needs\*\*(.*?)\n\n", re.MULTILINE | re.DOTALL)
INSTALL = re.compile(r"^\$ python -m pip install (.+)$", re.MULTILINE)
#: What pip does not bring, in the sentence's words → whether it is here.
BESIDE_PIP = {"Linux": sys.platform == "linux", "a C compiler": shutil.which("cc") is not None}


def installs(text: str) -> list[Requirement]:
    """Return what the commands of a page install: distributions, with the extras that are asked for."""
    found = []
    for line in INSTALL.findall(text):
        words = iter(shlex.split(line))
        for word in words:
            if word == "-r":
                found += _file(Path(next(words)).name)  # of a clone, or of a release's address
            elif not word.startswith((".", "-")) and "/" not in word:
                found.append(Requirement(word))
            elif word == "--editable":
                next(words)  # a folder that the page has made
    return found


def missing(text: str, *, alone: bool = False) -> str | None:
    """Return the first thing that a page says it needs and that is not here, or None; its own commands install, alone."""
    sentence = SENTENCE.search(text)
    named = [name for name in BESIDE_PIP if sentence and name in sentence[1]]
    absent = [name for name in named if not BESIDE_PIP[name]]
    absent += [name for each in installs(text) for name in _absent(each) if not alone]
    return next(iter(absent), None)


def _file(name: str) -> Iterator[Requirement]:
    """Yield the distributions of a file of requirements, each line of which names a folder."""
    for line in (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("./"):
            folder, bracket, extras = line.partition("[")
            project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
            yield Requirement(project["name"] + bracket + extras)


def _absent(wanted: Requirement) -> Iterator[str]:
    """Yield the distributions that a requirement asks for and that are not installed: itself, and those of its extras."""
    try:
        lines = metadata.requires(wanted.name) or ()
    except metadata.PackageNotFoundError:
        yield wanted.name
        return
    for each in map(Requirement, lines):
        if each.marker and any(each.marker.evaluate({"extra": extra}) for extra in wanted.extras):
            yield from _absent(each)
