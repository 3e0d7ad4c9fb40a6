"""How the tables of schemas are written and read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Blocks", "OperatorDef", "read"]

Blocks: TypeAlias = tuple[tuple[tuple[str, ...], str], ...]
"""Pairs of tags and the schemas that carry them, one a line; an indented line goes on with the one above."""

_CHANGES_SHAPE: Final = frozenset({"resize_"})
_VIEW_RETURN: Final = re.compile(r"-> Tensor\(a\)(\[\])?$")


class OperatorDef(NamedTuple):
    """One operator overload: its name with overload, its schema's text and its tags."""

    name: str
    schema: str
    tags: tuple[str, ...]


def read(blocks: Blocks) -> Iterator[OperatorDef]:
    r"""Read a table of schemas, adding the tags that follow from the text.

    ``inplace`` and ``out`` follow from what is written to, ``view`` from what the result shares memory with.

    >>> [operator] = read(((("pointwise",), "abs_(Tensor(a!) self) ->\n    Tensor(a!)"),))
    >>> operator.name, operator.schema, operator.tags
    ('abs_', 'abs_(Tensor(a!) self) -> Tensor(a!)', ('pointwise', 'inplace'))
    """
    for tags, text in blocks:
        for schema in text.replace("\n    ", " ").strip().splitlines():
            name = schema.partition("(")[0]
            yield OperatorDef(name, schema, tags + _derive_tags(name, schema))


def _derive_tags(name: str, schema: str) -> tuple[str, ...]:
    base = name.partition(".")[0]
    if "(a!)" in schema:
        if not base.endswith("_") or base.endswith("__"):
            return ("out",)
        return ("inplace", "inplace_view") if base in _CHANGES_SHAPE else ("inplace",)
    return ("view",) if _VIEW_RETURN.search(schema) else ()
