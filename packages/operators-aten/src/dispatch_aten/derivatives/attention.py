"""Derivative formulas of attention, embeddings and their bags; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final[dict[str, dict[str, str]]] = {
    "_safe_softmax": {"self": "_softmax_backward_data(grad, result, dim, self_dtype)"},
}

NOT_DIFFERENTIABLE: Final = frozenset({"embedding_renorm", "embedding_renorm_"})
