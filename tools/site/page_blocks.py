"""The fenced blocks of tutorials and guides: files, changes of files, sessions, and commands with their output.

A block ``python title="train.py"`` is a file, and ``diff title="train.py"`` changes it; a block ``console`` has commands
after ``$`` and their output, in which ``...`` represents any text; one with ``>>>`` is a session of Python.
``<!-- fails -->`` above a block says that its last command ends with an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["BEFORE", "FENCE", "Block", "blocks", "change_file", "commands"]

FENCE = re.compile(r'(<!-- fails -->\n)?^```(\w+)(?: title="([^"\n]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
#: The commands that make an environment, enter it and install the packages: a reader does these once.
BEFORE = ("python -m venv ", "source ", "python -m pip install -r ")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file that it stands for, its text and line, and whether its last command fails."""

    language: str
    title: str
    text: str
    line: int
    fails: bool
    start: int
    end: int


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page's text."""
    return [
        Block(found[2], found[3] or "", found[4], text.count("\n", 0, found.start()) + 1, bool(found[1]), *found.span())
        for found in FENCE.finditer(text)
    ]


def commands(block: Block) -> list[tuple[str, str]]:
    """Return the commands of a ``console`` block, each with its output; lines after ``>`` go on with a command."""
    parts = re.findall(r"^\$ (.+\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE)
    return [(re.sub(r"^> ", "", command, flags=re.MULTILINE), output) for command, output in parts]


def change_file(path: Path, lines: str) -> None:
    """Take the lines after ``-`` out of a file, and put those after ``+`` in; the others of them must stand there once."""
    text = path.read_text(encoding="utf-8")
    old, new = (re.sub(rf"^(?:[{gone}].*\n|[ {kept}])", "", lines, flags=re.MULTILINE) for gone, kept in ("+-", "-+"))
    if text.count(old) != 1:
        raise ValueError(f"{path}: these lines stand there {text.count(old)} times:\n{old}")
    path.write_text(text.replace(old, new), encoding="utf-8")
