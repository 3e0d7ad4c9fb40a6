"""Quantized tensors: integers, and how they map to numbers (source: torch's quantized tensors)."""

from __future__ import annotations

from .fallback import quantized_fallback

__all__ = ["quantized_fallback"]
