"""Shape rules of attention, embeddings and their bags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch_aten.errors import ShapeError
from dispatch_aten.shapes.meta import TensorMeta
from dispatch_aten.shapes.own_rules import OWN_RULES

if TYPE_CHECKING:
    pass


def _embedding_renorm(self: TensorMeta, indices: TensorMeta, max_norm: float, norm_type: float) -> TensorMeta:
    if self.ndim != 2:
        raise ShapeError("'self' must be 2-D", argument="self")
    OWN_RULES["embedding"](self, indices)
    return self.at_start()
