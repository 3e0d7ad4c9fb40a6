"""Checks of HTML and SVG by a parser: well-formed, nothing to load or to run, no box over another."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import combinations
from xml.etree import ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"
#: Elements that have no end.
_VOID = frozenset("br col hr img input link meta path rect".split())
#: What would run, or load something from elsewhere.
_REFUSED = frozenset("script link iframe object embed img video audio source base form".split())
_LOADS = re.compile(r"@import|url\(|https?:|javascript:|//[a-z]", re.IGNORECASE)


@dataclass
class Found:
    """The contents of a fragment: its tags, its texts, and the rows of its tables."""

    tags: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    @property
    def text(self):
        return " ".join(self.texts)


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.found, self.open = Found(), []

    def handle_starttag(self, tag, attributes):
        self.found.tags.append(tag)
        assert tag not in _REFUSED, f"<{tag}>"
        for name, value in attributes:
            assert not name.startswith("on"), name
            # The name of SVG's language is no address that is loaded.
            assert name == "xmlns" or not _LOADS.search(value or ""), (name, value)
        if tag == "tr":
            self.found.rows.append([])
        elif tag in ("td", "th"):
            self.found.rows[-1].append("")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in _VOID:
            assert self.open, f"</{tag}> ends nothing"
            assert self.open.pop() == tag, f"</{tag}>"

    def handle_data(self, text):
        if "style" in self.open:
            assert not _LOADS.search(text)
        elif text.strip():
            self.found.texts.append(text.strip())
            if self.open[-1] in ("td", "th"):
                self.found.rows[-1][-1] += text


def read_fragment(html):
    """Return the contents of a fragment; every element must end where it should, and nothing may be loaded or run."""
    html.encode()
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        read_svg(svg)
    return reader.found


def read_svg(svg):
    """Return the texts of a picture; boxes with text must lie inside the picture, and none over another."""
    root = ET.fromstring(svg)
    width, height = float(root.get("width")), float(root.get("height"))
    boxes = []

    def visit(element, x, y, parents):
        moved = re.fullmatch(r"translate\((\S+) (\S+)\)", element.get("transform", ""))
        x, y = (x + float(moved[1]), y + float(moved[2])) if moved else (x, y)
        own = element.find(f"{SVG}rect")
        if element.tag == f"{SVG}g" and own is not None and own.get("rx") and "x" not in own.attrib:
            boxes.append((x, y, x + float(own.get("width")), y + float(own.get("height")), parents))
            parents = (*parents, len(boxes) - 1)
        for child in element:
            assert child.tag not in (f"{SVG}{name}" for name in ("script", "image", "use", "style", "foreignObject"))
            visit(child, x, y, parents)

    visit(root, 0.0, 0.0, ())
    for left, top, right, bottom, _ in boxes:
        assert left >= 0
        assert top >= 0
        assert right <= width + 0.5
        assert bottom <= height + 0.5
    for (one, a), (two, b) in combinations(enumerate(boxes), 2):
        if one not in b[4] and two not in a[4]:
            assert a[2] <= b[0] + 0.2 or b[2] <= a[0] + 0.2 or a[3] <= b[1] + 0.2 or b[3] <= a[1] + 0.2, (a, b)
    return [element.text for element in root.iter(f"{SVG}text")]
