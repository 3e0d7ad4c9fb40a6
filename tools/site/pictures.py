"""Pictures that stand alone in a paragraph become a part of their page, so that their parts show their titles.

Where there is a drawing ``NAME_narrow.svg`` beside ``NAME.svg``, narrow screens get that; others scroll within the picture.
"""

from __future__ import annotations

import posixpath
import re
from html import escape
from pathlib import Path

_PICTURE = re.compile(r"^!\[(?P<text>[^\]\n]*)\]\((?P<target>[^():\s]+\.svg)\)$", re.MULTILINE)
_TITLE = re.compile(r"<title[^>]*>.*?</title>", re.DOTALL)
_WIDTH = re.compile(r' width="(?P<width>\d+)" height="\d+"')
#: A picture is scaled down to this part of its size, a narrow one to that, and scrolls where it is still too wide.
_LEAST, _NARROW_LEAST = 0.65, 0.85


def embed(markdown: str, root: Path, source: str) -> str:
    """Return a page's text with its pictures; ``source`` is the page's file in the repository."""

    def replace(found: re.Match[str]) -> str:
        path = root / posixpath.normpath(posixpath.join(posixpath.dirname(source), found["target"]))
        if not path.is_file():
            return found[0]
        narrow = path.with_name(f"{path.stem}_narrow.svg")
        if not narrow.is_file():
            return _place(path, found["text"], "picture")
        return f"{_place(path, found['text'], 'picture wide')}\n\n{_place(narrow, found['text'], 'picture narrow')}"

    return _PICTURE.sub(replace, markdown)


def _place(path: Path, text: str, classes: str) -> str:
    """Return a drawing as an element; the search finds no word of it."""
    drawing = "".join(line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    width = _WIDTH.search(drawing)
    assert width is not None, f"{path} has no size"
    size = int(width["width"])
    least = round((_NARROW_LEAST if "narrow" in classes else _LEAST) * size)
    # The title of the whole would be the tip of every place in it.
    drawing = _TITLE.sub("", drawing, count=1)
    drawing = _WIDTH.sub(f' style="--size:{size}px;--least:{least}px"', drawing, count=1)
    drawing = drawing.replace("<svg ", f'<svg aria-label="{escape(text)}" ', 1)
    return f'<div class="{classes}" data-search-exclude>{drawing}</div>'
