"""Looks at every page of a built site for what a reader would stumble over; prints the faults, and fails if there are any.

python tools/site/html_check.py site

A page must ask no other host for a script, style, font or picture; lead to files and anchors that exist, by relative
paths; and give each picture a text for those who do not see it. Style sheets and SVG pictures are looked at as pages are.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes whose address the browser loads with the page, by element; of ``link`` only for these relations.
_LOADED = {
    ("audio", "src"), ("embed", "src"), ("iframe", "src"), ("image", "href"), ("image", "xlink:href"), ("img", "src"),
    ("img", "srcset"), ("input", "src"), ("link", "href"), ("object", "data"), ("script", "src"), ("source", "src"),
    ("source", "srcset"), ("track", "src"), ("use", "href"), ("use", "xlink:href"), ("video", "poster"), ("video", "src"),
}  # fmt: skip
_LOADING_RELATIONS = frozenset(
    "dns-prefetch icon manifest modulepreload preconnect prefetch preload stylesheet".split()
)
_STYLE_ADDRESS = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
#: Schemes of addresses that are no files of any host.
_INLINE = ("data:", "#", "javascript:", "blob:")


class PageReader(HTMLParser):
    """Collects a page's anchors, the addresses that it loads or leads to, and its faults."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: Counter[str] = Counter()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.faults: list[str] = []
        self._in_style = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element's anchor, its addresses and its faults."""
        given = {name: value or "" for name, value in attrs}
        self._in_style = tag == "style"
        if "id" in given:
            self.anchors[given["id"]] += 1
        if tag == "a" and "name" in given and given["name"] != given.get("id"):
            self.anchors[given["name"]] += 1
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "img" and not given.get("alt", "").strip() and given.get("role") != "presentation":
            self.faults.append(f"picture without a text for those who do not see it: {given.get('src', '')[:80]}")
        if "mermaid" in given.get("class", "").split():
            self.faults.append("a mermaid diagram, which another host's script would draw: draw it as SVG")
        relations = set(given.get("rel", "").lower().split())
        for name, value in given.items():
            if (tag, name) in _LOADED and (tag != "link" or relations & _LOADING_RELATIONS):
                parts = value.split(",") if name == "srcset" else [value]
                self.loaded += [part.split()[0] for part in parts if part.strip()]
            elif name == "style":
                self.loaded += _addresses_of_style(value)

    def handle_data(self, data: str) -> None:
        """Note the addresses in a style element."""
        if self._in_style:
            self.loaded += _addresses_of_style(data)

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a style element."""
        if tag == "style":
            self._in_style = False


def _addresses_of_style(text: str) -> list[str]:
    return [first or second for first, second in _STYLE_ADDRESS.findall(text)]


def find_faults(site: Path) -> Iterator[str]:
    """Yield each fault of the pages, style sheets and pictures below a folder, after the file's path in it."""
    files = {path.relative_to(site).as_posix(): path for path in sorted(site.rglob("*")) if path.is_file()}
    pages = {
        name: PageReader(path.read_text(encoding="utf-8"))
        for name, path in files.items()
        if path.suffix in {".html", ".svg"}
    }
    for name, page in pages.items():
        yield from (f"{name}: {fault}" for fault in page.faults)
        yield from (f"{name}: anchor {anchor!r} stands twice" for anchor, times in page.anchors.items() if times > 1)
        yield from (f"{name}: {fault}" for address in page.loaded for fault in _loaded(name, address, files))
        yield from (f"{name}: {fault}" for address in page.links for fault in _linked(name, address, files, pages))
    for name, path in files.items():
        if path.suffix == ".css":
            for address in _addresses_of_style(path.read_text(encoding="utf-8")):
                yield from (f"{name}: {fault}" for fault in _loaded(name, address, files))


def _loaded(page: str, address: str, files: dict[str, Path]) -> Iterator[str]:
    if address.startswith(_INLINE):
        return
    if urlsplit(address).netloc or urlsplit(address).scheme:
        yield f"asks another host for {address}"
    elif _file_of(page, address, files) is None:
        yield f"loads {address}, which is not there"
    elif address.startswith("/") and page != "404.html":
        yield f"loads {address} by an absolute path"


def _linked(page: str, address: str, files: dict[str, Path], pages: dict[str, PageReader]) -> Iterator[str]:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc or address.startswith("javascript:"):
        return
    there = _file_of(page, address, files)
    if there is None:
        yield f"leads to {address}, which is not there"
    elif address.startswith("/") and page != "404.html":
        yield f"leads to {address} by an absolute path"
    elif parts.fragment and there in pages and unquote(parts.fragment) not in {*pages[there].anchors, "__tabbed"}:
        yield f"leads to {address}, whose anchor is not there"


def _file_of(page: str, address: str, files: dict[str, Path]) -> str | None:
    """Return the file that an address on a page means, if there is one: a folder means its ``index.html``."""
    path = unquote(urlsplit(address).path)
    if not path:
        return page
    base = [] if path.startswith("/") else page.split("/")[:-1]
    for part in path.split("/"):
        if part == "..":
            if not base:
                return None
            base.pop()
        elif part not in ("", "."):
            base.append(part)
    name = "/".join(base)
    return next((each for each in (name, f"{name}/index.html".lstrip("/")) if each in files), None)


def main(folder: str) -> int:
    """Print the faults of the site in a folder, and return how the process ends."""
    site = Path(folder)
    pages = sum(1 for _ in site.rglob("*.html"))
    faults = list(find_faults(site))
    for fault in faults:
        print(fault, file=sys.stderr)  # noqa: T201
    print(f"{pages} pages, {len(faults)} faults")  # noqa: T201
    return 1 if faults or not pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
