"""Text that neither a terminal nor a file acts on or stumbles over."""

from __future__ import annotations

__all__ = ["to_printable"]


def to_printable(text: str, *, keep: str = "") -> str:
    r"""Return a text with every character escaped that is not printed, but for those to ``keep``.

    Names may come from anybody's metadata, and a terminal acts on some characters.

    >>> print(to_printable("a \x1b[31mred\u202e name\n"))
    a \x1b[31mred\u202e name\n
    """
    if text.isprintable():
        return text
    return "".join([each if each.isprintable() or each in keep else repr(each)[1:-1] for each in text])
