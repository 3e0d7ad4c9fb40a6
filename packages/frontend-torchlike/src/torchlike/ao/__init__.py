"""Quantization of networks (source: ``torch.ao``)."""

from __future__ import annotations

from typing import Final

from ..names.lazy_names import load_names

_NAMES: Final = {"nn": "", "quantization": ""}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES)
