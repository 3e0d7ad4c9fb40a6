"""Where registrations were made."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from .._record import Record

if TYPE_CHECKING:
    from pathlib import PurePath


class Origin(Record):
    """Where a registration was made: file and line, and the distribution that the file belongs to."""

    file: str
    line: int
    _distribution: tuple[str, str] | None = None

    @property
    def distribution(self) -> str:
        """Return the distribution's name, or "" where the file belongs to none."""
        return self._find_distribution()[0]

    @property
    def version(self) -> str:
        """Return the distribution's version, or ""."""
        return self._find_distribution()[1]

    @property
    def short(self) -> str:
        """Return file and line, the file without the folder that its package was found in.

        >>> Origin("/nowhere/plugin.py", 7).short
        'plugin.py:7'
        """
        path = _importable(self.file)
        return f"{path.name if path.is_absolute() else path.as_posix()}:{self.line}"

    @property
    def is_plugin(self) -> bool:
        """Return whether a plugin made the registration while it was loaded."""
        return bool(self._distribution and self._distribution[0])

    def _find_distribution(self) -> tuple[str, str]:
        return self._distribution or _distribution_of(self.file)

    def __str__(self) -> str:
        name, version = self._find_distribution()
        place = f"{self.file}:{self.line}"
        return f"{name} {version} ({place})" if name else place


@lru_cache(maxsize=1024)
def _distribution_of(file: str) -> tuple[str, str]:
    """Find the distribution that installed ``file``; asked only when an error or a report is printed."""
    from ..surroundings.distributions import distribution_of_module  # kept off the import path of the core

    path = _importable(file)
    return (
        ("", "") if path.is_absolute() or not path.parts else distribution_of_module(path.parts[0].removesuffix(".py"))
    )


def _importable(file: str) -> PurePath:
    """Return a file's path below the entry of ``sys.path`` that it was found in; as it is, where it is below none."""
    from pathlib import PurePath  # slow to import; only reports need it

    path = PurePath(file)
    for entry in sorted(filter(None, sys.path), key=len, reverse=True):
        if path.is_relative_to(entry):
            return path.relative_to(entry)
    return path
