"""How the tables of schemas are written and read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHANGES_SHAPE: Final = frozenset(
    "as_strided_ resize_ resize_as_ set_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_".split()
)
_MAY_COPY: Final = frozenset(
    "adjoint conj contiguous flatten imag mH matrix_H ravel real reshape reshape_as resolve_conj resolve_neg to".split()
)
_VIEW_RETURN: Final = re.compile(r"-> Tensor\(a\)(\[\])?$")


class OperatorDef(NamedTuple):
    """One operator overload: its name with overload, its schema's text and its tags."""

    name: str
    schema: str
    tags: tuple[str, ...]


def read(table: str) -> Iterator[OperatorDef]:
    r"""Read a table of schemas, adding the tags that follow from the text.

    A schema stands on a line of its own; an indented line goes on with the one above. A line of tags in brackets gives
    them to the schemas below it, up to the next such line. ``inplace`` and ``out`` follow from the written, ``view`` from
    the one whose memory the result shares, ``may_copy`` from the names of those that copy where a view cannot be made.
    ``unknown_ok`` is for operators that need not know the sizes of one array: element-wise ones, reductions of all
    dimensions, and the way to the host.

    >>> [operator] = read("[pointwise]\nabs_(Tensor(a!) self) ->\n    Tensor(a!)")
    >>> operator.name, operator.schema, operator.tags
    ('abs_', 'abs_(Tensor(a!) self) -> Tensor(a!)', ('pointwise', 'inplace'))
    """
    tags: tuple[str, ...] = ()
    for line in table.replace("\n    ", " ").strip().splitlines():
        if line.startswith("["):
            tags = tuple(line[1:-1].replace(",", "").split())
        else:
            name = line.partition("(")[0]
            yield OperatorDef(name, line, tags + (_derive_tags(name, line) or _tag_unknown(name, line, tags)))


_FULL_REDUCTION: Final = re.compile(r"^\w+\(Tensor self(, \*, ScalarType\? dtype=None)?\) -> Tensor$")


def _tag_unknown(name: str, schema: str, tags: tuple[str, ...]) -> tuple[str, ...]:
    is_elementwise = "pointwise" in tags and "nondeterministic_seeded" not in tags
    is_full_reduction = "reduction" in tags and _FULL_REDUCTION.match(schema) is not None
    return ("unknown_ok",) if is_elementwise or is_full_reduction or name == "device_get" else ()


def _derive_tags(name: str, schema: str) -> tuple[str, ...]:
    base = name.partition(".")[0]
    if "(a!)" in schema:
        if not base.endswith("_") or base.endswith("__"):
            return ("out",)
        return ("inplace", "inplace_view") if base in _CHANGES_SHAPE else ("inplace",)
    if not _VIEW_RETURN.search(schema):
        return ()
    return ("view", "may_copy") if base in _MAY_COPY else ("view",)
