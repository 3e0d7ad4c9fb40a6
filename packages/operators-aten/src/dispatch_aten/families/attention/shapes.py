"""Shape rules of attention, embeddings and their bags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch_aten.errors import DtypeError, ShapeError
from dispatch_aten.shapes.layout import preserve_format
from dispatch_aten.shapes.meta import TensorMeta
from dispatch_aten.shapes.own_rules import OWN_RULES
from dispatch_aten.shapes.refusals import c_name

if TYPE_CHECKING:
    pass


def _embedding_renorm(self: TensorMeta, indices: TensorMeta, max_norm: float, norm_type: float) -> TensorMeta:
    if self.ndim != 2:
        raise ShapeError("'self' must be 2-D", argument="self")
    OWN_RULES["embedding"](self, indices)
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        raise DtypeError(
            f"norm(): input dtype should be either floating point or complex. Got {c_name(self.dtype)} instead.",
            argument="self",
        )
    return preserve_format(self)
