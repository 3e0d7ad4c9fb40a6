"""Notebooks of the tutorials: the text of a page as cells, and each of its blocks as cells that do the same.

A session of Python becomes cells, each up to the next output; a command one after ``!``; a file ``%%writefile``; and a
change of a file a call of the function that the first cell has. The commands that make an environment stay text, as the
kernel is Python of that environment.
"""

from __future__ import annotations

import doctest
import inspect
import json
import posixpath
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from page_blocks import BEFORE, Block, blocks, change_file, commands

__all__ = ["Cell", "add_link", "cells", "notebook", "pages"]

_LINK = re.compile(r"\]\((?![a-z]+:|#)([^()\s]+)\)")
_COMMENT = re.compile(r"^<!-- .* -->\n", re.MULTILINE)
_PATH = """\
# Commands after "!" find what is installed beside this kernel.
import os
import sys

os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
"""
_CHANGE = f"import re\nfrom pathlib import Path\n\n\n{inspect.getsource(change_file)}"


@dataclass(frozen=True)
class Cell:
    """A cell: its source, and of code the output on the page, and whether it ends with an exception."""

    kind: str
    source: str
    wanted: str = ""
    raises: bool = False


def pages(root: Path) -> dict[str, str]:
    """Return the text of each tutorial's notebook, by its path in the site."""
    settings = tomllib.loads((root / "packages/dispatch-core/pyproject.toml").read_text(encoding="utf-8"))
    source = f"{settings['project']['urls']['Documentation']}/tutorials"
    return {
        f"tutorials/{path.stem}.ipynb": notebook(path.read_text(encoding="utf-8"), source)
        for path in sorted(root.glob("docs/tutorials/*.md"))
    }


def add_link(markdown: str, page: str) -> str:
    """Return a page's text with a link to its notebook, if it has one, below the title."""
    if not page.startswith("tutorials/"):
        return markdown
    name = f"{posixpath.basename(page).removesuffix('.md')}.ipynb"
    title, line, rest = markdown.partition("\n")
    return f'{title}{line}\n[Download this page as a notebook]({name}){{ download="{name}" }}\n{rest}'


def notebook(text: str, source: str) -> str:
    """Return the JSON of a page's notebook; ``source`` is the address of the page's folder, where its links begin."""
    made = [_to_json(number, cell, source) for number, cell in enumerate(cells(text), 1)]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    found = {"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _to_json(number: int, cell: Cell, source: str) -> dict[str, object]:
    text = (
        cell.source if cell.kind == "code" else _LINK.sub(lambda found: f"]({_address(source, found[1])})", cell.source)
    )
    made: dict[str, object] = {"cell_type": cell.kind, "id": f"cell-{number}", "metadata": {}, "source": text}
    if cell.kind == "code":
        made |= {"execution_count": None, "outputs": []}
    if cell.raises:
        made["metadata"] = {"tags": ["raises-exception"]}
    return made


def _address(source: str, link: str) -> str:
    host, _, path = source.partition("://")
    return f"{host}://{posixpath.normpath(f'{path}/{link}')}"


def cells(text: str) -> list[Cell]:
    """Return the cells of a page's text."""
    found, end = [], 0
    for block in blocks(text):
        made = list(_code(block))
        if made:
            found += [Cell("markdown", text[end : block.start]), *made]
            end = block.end
    return _with_helpers([*found, Cell("markdown", text[end:])])


def _with_helpers(found: list[Cell]) -> list[Cell]:
    """Return the cells without empty ones and comments, and with a first cell of code where others need it."""
    code = "\n\n".join(
        part
        for part, first in ((_PATH, "!"), (_CHANGE, "change_file("))
        if any(cell.kind == "code" and cell.source.startswith(first) for cell in found)
    )
    tidy = [Cell(cell.kind, _COMMENT.sub("", cell.source).strip(), cell.wanted, cell.raises) for cell in found]
    whole = [cell for cell in tidy if cell.source]
    return [whole[0], *([Cell("code", code.strip())] if code else []), *whole[1:]]


def _code(block: Block) -> Iterator[Cell]:
    """Yield the cells of a block; a block that nobody runs has none."""
    if block.language == "console":
        yield from _commands(block)
    elif block.language == "diff":
        yield Cell("code", f'change_file(Path("{block.title}"), {_quoted(block.text)})')
    elif block.title:
        yield Cell("code", f"%%writefile {block.title}\n{block.text}")
    elif ">>>" in block.text:
        yield from _session(block.text)


def _quoted(text: str) -> str:
    """Return a text as a string of several lines."""
    if re.search(r"'''|\\", text):
        raise ValueError(f"these lines have quotes or backslashes that a string would end at or change:\n{text}")
    return f"'''\\\n{text}'''"


def _session(text: str) -> Iterator[Cell]:
    """Yield a cell for each output of a session, with the statements that lead to it."""
    sources = []
    for example in doctest.DocTestParser().get_examples(text):
        sources.append(example.source)
        if example.want:
            yield Cell("code", "".join(sources), example.want, raises=example.exc_msg is not None)
            sources.clear()
    if sources:
        yield Cell("code", "".join(sources))


def _commands(block: Block) -> Iterator[Cell]:
    """Yield a cell for each command, and one of text with those that make the environment."""
    pairs = commands(block)
    before = [command for command, _ in pairs if command.startswith(BEFORE)]
    if before:
        shown = "".join(f"$ {command}" for command in before)
        yield Cell("markdown", f"```console\n{shown}```\n\nThis notebook's kernel is Python of that environment.")
    for command, output in pairs:
        if command not in before:
            yield Cell("code", _magic(command.rstrip("\n")), output)


def _magic(command: str) -> str:
    """Return the cell that does in a kernel what a command does in a shell."""
    word, _, rest = command.partition(" ")
    if "\n" in command:
        return f"%%bash\n{command}"
    if word == "cd":
        return f"%cd -q {rest}"
    if word == "export":
        name, _, value = rest.partition("=")
        return f'os.environ["{name}"] = "{value}"'
    # What stands after "$" or in braces would be a name of the kernel's.
    return "!" + re.sub(r"[{}]", r"\g<0>\g<0>", command.replace("$", "$$"))
