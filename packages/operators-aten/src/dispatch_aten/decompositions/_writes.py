"""Writes into fresh arrays, which may be read-only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.shapes import RULES, contiguous
from dispatch_aten.write_through import write_through

from ._shared import Array, aten, cast

if TYPE_CHECKING:
    from collections.abc import Sequence


def scatter_into(fresh: Array, views: Sequence[tuple[Any, tuple[Any, ...]]], source: Array) -> Array:
    """Return a fresh array with ``source`` in the elements that a view of it shows.

    ``views`` are the operators that lead to it, each with its arguments after the first. See Note [Fresh arrays may be
    read-only] in `_shared`.
    """
    if dc.is_mutable(fresh):
        part = fresh
        for operator, args in views:
            part = operator(part, *args)
        aten.copy_.default(part, source)
        return fresh
    meta = contiguous(dc.shape(fresh), dc.dtype(fresh))
    for operator, args in views:
        meta = RULES[operator.name.removeprefix("aten::")](meta, *args)
    values = cast(source, meta.dtype)
    return write_through(fresh, views, aten.expand.default(values, meta.shape))
