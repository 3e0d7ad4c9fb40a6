"""MkDocs' hooks: pages that are made of the repository's files, links between them, and examples with their prompts.

Everything that a page shows is read or made when the site is built; nothing generated is kept in the repository.
"""

from __future__ import annotations

import logging
import posixpath
import re
from pathlib import Path

import core_reference
import made_parts
import notebooks
import pictures
import repository_files
import search_ranks
import search_shim
import torchlike_reference
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]

#: A fenced block, and a link or picture in Markdown, each to be left alone or rewritten.
_FENCE = re.compile(
    r"^(?P<indent> *)(?P<marks>```+|~~~+)(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=indent)(?P=marks)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"(?P<text>!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?P<target>[^()\s]+)\)")


# This list of names is made of others, which griffe does not read; the pages are made of the names themselves.
logging.getLogger("mkdocs.plugins.griffe").addFilter(lambda record: "torchlike.nn.__all__" not in record.getMessage())


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and files that are made, and remember which file of the repository each page shows."""
    made = [repository_files.pages(ROOT), core_reference.pages(), torchlike_reference.pages(), notebooks.pages(ROOT)]
    for path, content in (each for pages in made for each in pages.items()):
        files.append(File.generated(config, path, content=content))
    files.append(File.generated(config, search_shim.PATH, content=search_shim.fetch(ROOT)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page's text with the site's links, outside its blocks, and with sessions marked as such."""
    source = repository_files.SOURCES.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    page.edit_url = repository_files.edit_url(page.file.src_uri, page.edit_url, config.repo_url)
    page.meta.setdefault("search", {}).setdefault("boost", search_ranks.boost(page.file.src_uri))
    markdown = notebooks.add_link(made_parts.fill(markdown), page.file.src_uri)
    parts, end = [], 0
    for block in _FENCE.finditer(markdown):
        parts += [_show(markdown[end : block.start()], source, page.file.src_uri), _mark_session(block)]
        end = block.end()
    return "".join([*parts, _show(markdown[end:], source, page.file.src_uri)])


def _show(text: str, source: str, page: str) -> str:
    """Return a text between blocks as the site shows it: with its pictures, and links to the site's pages."""
    return pictures.embed(_relink(text, source, page), ROOT, source)


def _relink(text: str, source: str, page: str) -> str:
    """Return a text whose relative links lead to the pages that show the files they name."""

    def replace(found: re.Match[str]) -> str:
        target, anchor, fragment = found["target"].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return found[0]
        named = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        there = repository_files.page_of(named)
        if there is None:
            return found[0]
        relative = posixpath.relpath(there, posixpath.dirname(page) or ".")
        return f"{found['text']}({relative}{anchor}{fragment})"

    return _LINK.sub(replace, text)


def _mark_session(block: re.Match[str]) -> str:
    """Return a fenced block; one of a Python session says so, and ends without the blank line that doctest needs."""
    if block["info"].strip() != "python" or not block["body"].lstrip().startswith(">>>"):
        return block[0]
    indent, marks = block["indent"], block["marks"]
    return f"{indent}{marks}pycon\n{block['body'].rstrip()}\n{indent}{marks}"
