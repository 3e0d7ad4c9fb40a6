"""The releases that a toolkit's own files name: of the whole, and of each of its parts.

A toolkit is installed in parts, which a user may update one by one: the runtime may be newer than the operators. So every
file is read, and the oldest release decides whether the toolkit is supported.

Each part says its release in ``version_dir`` of its ``version.info``; ``Version`` beside it is a number of its own. Tools
that are installed beside the toolkit, such as MindStudio's, have neither its releases nor ``version_dir``: they do not count
(CANN 8.1.RC1 comes with a MindStudio 8.0.RC1).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

OLDEST: Final = (8, 1)
"""The oldest release of CANN that the backend supports."""

#: A release, such as ``8.1.RC1``. The toolkit's parts have versions of five numbers (``7.6.0.1.220``).
_RELEASE: Final = re.compile(r"(\d+)\.(\d+)(?!(?:\.\d+){3})(?!\d)")
#: A part's line of ``version.cfg``: the versions in use, not those that were installed once.
_RUNNING: Final = "_running_version"
#: Parts whose ``version.info`` has a release of the toolkit even where it has no ``version_dir``.
_PARTS: Final = frozenset({"", "compiler", "opp", "opp_kernel", "runtime", "toolkit"})
#: Folders that hold parts, by the folder of the toolkit.
_GROUPS: Final = ("tools", os.path.join("share", "info"))  # noqa: PTH118  # importing pathlib takes longer than this module
_WHOLE: Final = ("version.cfg", "version.info", "ascend_toolkit_install.info")


class Release(NamedTuple):
    """A release that a file names: ``name`` as it stands there, ``file`` below the toolkit's folder, ``part`` of it."""

    part: str
    name: str
    file: str

    @property
    def numbers(self) -> tuple[int, int] | None:
        """The first two numbers; None where the name is not a release.

        >>> Release("opp", "8.0.RC3", "opp/version.info").numbers, Release("", "7.6.0.1.220", "version.cfg").numbers
        ((8, 0), None)
        """
        found = _RELEASE.match(self.name)
        return None if found is None else (int(found[1]), int(found[2]))


def find_homes(folder: str) -> list[str]:
    """Return the folders that hold a toolkit's parts, by the folder of its libraries.

    >>> find_homes("/opt/cann/x86_64-linux/lib64")
    ['/opt/cann/x86_64-linux', '/opt/cann']
    """
    home = os.path.dirname(folder.rstrip("/"))  # noqa: PTH120  # as for _GROUPS
    outer, _, name = home.rpartition("/")
    return [home, outer] if outer and (name.endswith("-linux") or name in _PARTS) else [home]


def list_releases(folder: str, others: Mapping[str, str] | None = None) -> list[Release]:
    """Return the releases that the toolkit of a folder of libraries names, and the parts in others.

    ``others`` are folders of parts by the variables that name them.

    Those of the whole toolkit come first. Raises nothing.

    >>> list_releases("/nowhere/lib64")
    []
    """
    found: dict[str, Release] = {}
    for home in find_homes(folder):
        for path, name in _files_of(home):
            for release in _read(path, name):
                found.setdefault(f"{release.file} {release.part}", release)
    within = [os.path.realpath(home) for home in find_homes(folder)]
    for variable, part in (others or {}).items():
        if os.path.dirname(os.path.realpath(part)) not in within:  # noqa: PTH120  # as for _GROUPS
            name = part.rstrip("/").rpartition("/")[2]
            for release in _read(f"{part}/version.info", f"{name}/version.info"):
                found[variable] = release._replace(file=f"${variable}/version.info")
    return list(found.values())


def oldest(releases: Iterable[Release]) -> Release | None:
    """Return the oldest release; None where no file names any.

    >>> oldest([Release("", "8.1.RC1", "version.cfg"), Release("opp", "8.0.0", "opp/version.info")]).part
    'opp'
    """
    dated = [release for release in releases if release.numbers is not None]
    return min(dated, key=lambda release: release.numbers or (), default=None)


def describe_age(folder: str, releases: Iterable[Release]) -> str:
    """Return a sentence with its release and the oldest supported one if a toolkit is too old, else ``""``.

    >>> describe_age("/nowhere/lib64", [Release("opp", "8.0.0", "opp/version.info")])[-60:]
    'backend needs CANN 8.1 or newer (opp/version.info has 8.0.0)'
    """
    releases = list(releases)
    first = oldest(releases)
    if first is None or (first.numbers or OLDEST) >= OLDEST:
        return ""
    names = dict.fromkeys(release.name for release in releases if release.numbers is not None)
    told = [next(release for release in releases if release.name == name) for name in sorted(names)]
    files = ", ".join(f"{release.file} has {release.name}" for release in sorted(told, key=lambda each: each != first))
    needed = f"{OLDEST[0]}.{OLDEST[1]}"
    return f"the toolkit in {folder} is CANN {first.name}, and this backend needs CANN {needed} or newer ({files})"


def _files_of(home: str) -> Iterator[tuple[str, str]]:
    """Yield the paths of existing files that may name a release, and their names below the toolkit's folder."""
    entries = _list(home)
    for name in _WHOLE:
        if name in entries:
            yield f"{home}/{name}", name
    for part in entries:
        for name in ("version.info", "ascend_toolkit_install.info"):
            if name == "version.info" or part.endswith("-linux"):
                yield f"{home}/{part}/{name}", f"{part}/{name}"
    for group in _GROUPS:
        for part in _list(f"{home}/{group}"):
            yield f"{home}/{group}/{part}/version.info", f"{group}/{part}/version.info"


def _list(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  # as for _GROUPS
    except (OSError, ValueError):
        return []


def _read(path: str, file: str) -> Iterator[Release]:
    """Yield the releases that a file names: one, or one for each part in ``version.cfg``."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:  # noqa: PTH123  # as for _GROUPS
            lines = stream.read(1 << 16).splitlines()
    except (OSError, ValueError):
        return
    found: dict[str, str] = {}
    for key, sign, value in (line.partition("=") for line in lines):
        if sign:
            found.setdefault(key.strip().lower(), value.strip())
    part = file.rpartition("/")[0].rpartition("/")[2].removesuffix("-linux")
    part = "" if file.endswith("install.info") else part
    if "version_dir" in found:
        yield Release(part, found["version_dir"], file)
    elif "version" in found and part in _PARTS:
        yield Release(part, found["version"], file)
    for key, value in found.items():
        if key.endswith(_RUNNING):
            # [the part's version:the toolkit's release]
            yield Release(key.removesuffix(_RUNNING), value.strip(" []\"'").rpartition(":")[2], file)
