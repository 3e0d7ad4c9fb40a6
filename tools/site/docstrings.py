"""Docstrings as Markdown: examples, which are marked by their prompts alone, become blocks."""

from __future__ import annotations

import inspect
import re

import griffe

_PROMPT = re.compile(r"^( *)>>> ")


def to_markdown(text: str) -> str:
    """Return a docstring's text with each example, up to the next blank line, in a block of its own."""
    lines = inspect.cleandoc(text).split("\n")
    made: list[str] = []
    indent: str | None = None
    fenced = False
    for line in lines:
        if line.lstrip().startswith("```"):
            fenced = not fenced
        found = None if fenced else _PROMPT.match(line)
        if indent is None and found:
            indent = found[1]
            made += ["", f"{indent}```pycon"]
        elif indent is not None and not line.strip():
            made.append(f"{indent}```")
            indent = None
        made.append(line)
    if indent is not None:
        made.append(f"{indent}```")
    return "\n".join(made)


class Examples(griffe.Extension):
    """Lets mkdocstrings show the examples of every docstring that it reads."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)
