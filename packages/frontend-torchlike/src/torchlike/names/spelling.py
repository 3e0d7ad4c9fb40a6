"""How names of this package are written: as torchlike's, and as torch's where it stands in for torch."""

from __future__ import annotations

__all__ = ["choose", "spell"]

_root = "torchlike"


def choose(root: str) -> None:
    """Set the name under which the package is written from now on."""
    global _root
    _root = root


def spell(path: str = "torchlike") -> str:
    """Return a path of this package as it is written.

    >>> spell("torchlike.nn.functional"), spell()
    ('torchlike.nn.functional', 'torchlike')
    """
    top, _, rest = path.partition(".")
    return f"{_root}.{rest}".rstrip(".") if top == "torchlike" else path
