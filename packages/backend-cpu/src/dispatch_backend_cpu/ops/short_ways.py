"""Short ways of operators whose usual way is a composite; `Library.short_way` says when calls take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..arrays import Array
from . import (
    activation,
    copy,
    distinct,
    scatter,
    short_bags,
    short_formulas,
    short_gradients,
    short_grids,
    short_indexing,
    short_joins,
    short_losses,
    short_margins,
    short_networks,
    short_views,
)


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
    short_formulas.SHORT_WAYS,
    activation.SHORT_WAYS,
    short_losses.SHORT_WAYS,
    short_indexing.SHORT_WAYS,
    short_networks.SHORT_WAYS,
    short_views.SHORT_WAYS,
    short_grids.SHORT_WAYS,
    distinct.SHORT_WAYS,
    short_joins.SHORT_WAYS,
    scatter.SHORT_WAYS,
    short_bags.SHORT_WAYS,
    short_margins.SHORT_WAYS,
    short_gradients.SHORT_WAYS,
)
#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final = {name: way for table in _TABLES for name, way in table.items()}
assert len(SHORT_WAYS) == sum(map(len, _TABLES)), "an operator has two short ways"
