"""Pictures as files: the suffix of a path names the form that is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from .replacement import write_text


def write_form(drawn: object, path: str | Path, forms: Mapping[str, Callable[[Any], str]]) -> Path:
    """Write an object in the form that the suffix of ``path`` names among ``forms``; return the path.

    Raises ``ArgumentError`` for another suffix.
    """
    path = Path(path)
    form = forms.get(path.suffix.lower())
    if form is None:
        raise ArgumentError(
            f"{type(drawn).__name__}.save: the suffix {path.suffix!r} of {str(path)!r} says nothing of the form to write",
            hint=f"suffixes are {', '.join(forms)}",
        )
    write_text(path, form(drawn).rstrip("\n") + "\n")
    return path
