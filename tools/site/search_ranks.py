"""How the site's search ranks pages: guides first, then the rules, then the pages that are made of sources and tables."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

__all__ = ["boost"]

#: Pattern of pages → the factor of their score; the first that fits counts. A word in a title has a thousand times the score
#: of one in a text, so a factor of 0.001 ranks a page's titles among the texts of other pages.
RANKS: Final = (
    ("tutorials/*", 4.0),
    ("guides/*", 4.0),
    ("reference/index.md", 1.0),
    ("reference/environment.md", 1.0),
    ("reference/command-line.md", 1.0),
    ("reference/**", 0.001),
    ("changes/*", 0.0001),
    ("coverage/*", 0.0001),
    ("examples/*", 0.001),
    ("operators.md", 0.0001),
    ("pipeline-eager.md", 0.001),
    ("plan.md", 0.001),
    ("policies/*", 0.1),
    ("contributing.md", 0.01),
    ("license.md", 0.001),
)


def boost(page: str) -> float:
    """Return the factor of a page's score in searches, by its path in the site."""
    path = PurePosixPath(page)
    return next((factor for pattern, factor in RANKS if _fits(path, pattern)), 1.0)


def _fits(path: PurePosixPath, pattern: str) -> bool:
    """Return whether a path is one of a pattern's: ``FOLDER/**`` has those of inner folders, too."""
    folder, _, name = pattern.rpartition("/")
    if name == "**":
        return PurePosixPath(folder) in path.parents
    return path.match(pattern) and path.parent == PurePosixPath(folder)
