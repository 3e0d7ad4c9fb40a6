"""Docstrings as Markdown: sections become tables, links and blocks, and so do examples, which prompts mark alone."""

from __future__ import annotations

import inspect
import re

_PROMPT = re.compile(r"^( *)>>> ")
_SECTION = re.compile(
    r"^(?P<title>Arguments|Returns|Calls|See|Example):\n(?P<lines>(?:    .*\n|[ \t]*\n)+)", re.MULTILINE
)


def to_markdown(text: str) -> str:
    """Return a docstring's text with its sections and examples as Markdown has them."""
    return fence_examples(_SECTION.sub(_section, inspect.cleandoc(str(text)) + "\n").rstrip())


def fence_examples(text: str) -> str:
    """Return a text with each example, up to the next blank line, in a block of its own."""
    made: list[str] = []
    indent: str | None = None
    is_fenced = False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            is_fenced = not is_fenced
        found = None if is_fenced else _PROMPT.match(line)
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


def _section(found: re.Match[str]) -> str:
    title, lines = found["title"], inspect.cleandoc("\n" + found["lines"]).split("\n")
    if title == "Arguments":
        rows = [line.partition(": ") for line in lines if line.strip()]
        cells = [f"| `{name}` | {meaning} |".replace("``", "`") for name, _, meaning in rows]
        return "\n".join(["| argument | meaning |", "| --- | --- |", *cells, "", ""])
    if title == "See":
        return f"See {', '.join(f'[{_name(url)}]({url})' for url in lines)}.\n\n"
    if title == "Calls":
        return "\n".join(["```python", *lines, "```", "", ""])
    if title == "Example":
        return "\n".join([*lines, "", ""])
    return "\n".join(["Returns", "", *(f"* {line}" for line in lines), "", ""])


def _name(url: str) -> str:
    """Return the name that a place of torch's documentation is about: its anchor's, or its file's without the ending."""
    return f"`{url.rpartition('/')[2].rpartition('#')[2].removesuffix('.html')}`"
