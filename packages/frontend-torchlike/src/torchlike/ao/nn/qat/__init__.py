"""Layers whose weights are trained with simulated quantization (source: ``torch.ao.nn.qat``)."""

from __future__ import annotations

from typing import Final

from ....names.lazy_names import load_names

_NAMES: Final = {"trained": "Conv1d Conv2d Conv3d Embedding EmbeddingBag Linear", "dynamic": ""}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES)
