"""Shape rules of attention, embeddings and their bags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.errors import ShapeError

from .indexing import RULES as INDEXING_RULES
from .loss import RULES as LOSS_RULES
from .meta import TensorMeta

if TYPE_CHECKING:
    from collections.abc import Callable


def _embedding_renorm(self: TensorMeta, indices: TensorMeta, max_norm: float, norm_type: float) -> TensorMeta:
    if self.ndim != 2:
        raise ShapeError("'self' must be 2-D", argument="self")
    INDEXING_RULES["embedding"](self, indices)
    return self.at_start()


RULES: Final[dict[str, Callable[..., Any]]] = {
    "_safe_softmax": LOSS_RULES["softmax.int"],
    "embedding_renorm": _embedding_renorm,
}
