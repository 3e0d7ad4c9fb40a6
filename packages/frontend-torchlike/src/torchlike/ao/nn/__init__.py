"""Layers for quantized networks: fused, with simulated quantization, quantized (source: ``torch.ao.nn``)."""

from __future__ import annotations

from typing import Final

from ...names.lazy_names import load_names

_NAMES: Final = {"intrinsic": "", "qat": "", "quantizable": "", "quantized": ""}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES)
