"""All short ways of the backend: those of the modules beside this one, and of operators that compute themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...arrays import Array
from ..indexing import scatter
from ..reductions import distinct
from ..views import copy
from . import activation, bags, formulas, grids, indices, joins, layers, losses, margins, products, view_calls


def _contiguous(self: Array, *, memory_format: int) -> Any:
    return self if self.flags.c_contiguous and memory_format == 0 else NotImplemented


def _is_nonzero(self: Array) -> Any:
    return bool(self.item())


_READS: Final[dict[str, Any]] = {"parts": ("_local_scalar_dense",), "autograd": True}
#: Each with a row for each of its operators; no operator stands in two.
_TABLES: Final[tuple[dict[str, tuple[Callable[..., Any], dict[str, Any]]], ...]] = (
    {
        # Both refuse an array of other than one element, whose error is the usual way's.
        "item": (np.ndarray.item, _READS),
        "is_nonzero": (_is_nonzero, {**_READS, "parts": ("item", "_local_scalar_dense")}),
        "contiguous": (_contiguous, {"autograd": True, "itself": True}),
    },
    copy.SHORT_WAYS,
    formulas.SHORT_WAYS,
    activation.SHORT_WAYS,
    losses.SHORT_WAYS,
    indices.SHORT_WAYS,
    layers.SHORT_WAYS,
    view_calls.SHORT_WAYS,
    grids.SHORT_WAYS,
    distinct.SHORT_WAYS,
    joins.SHORT_WAYS,
    scatter.SHORT_WAYS,
    bags.SHORT_WAYS,
    margins.SHORT_WAYS,
    products.SHORT_WAYS,
)
#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final = {name: way for table in _TABLES for name, way in table.items()}
assert len(SHORT_WAYS) == sum(map(len, _TABLES)), "an operator has two short ways"
