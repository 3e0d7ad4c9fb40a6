"""Quantized tensors: integers, and how they map to numbers (source: torch's quantized tensors)."""

from __future__ import annotations

from typing import NoReturn

from dispatch_core.tracebacks import api_boundary

from ..names.lazy_names import missing_name
from .fallback import quantized_fallback
from .packed import (
    Conv2dPackedParamsBase,
    Conv3dPackedParamsBase,
    EmbeddingPackedParamsBase,
    LinearPackedParamsBase,
)

from . import kernels  # isort: skip  # noqa: F401  # of the operators that programs call with quantized tensors

__all__ = [
    "Conv2dPackedParamsBase",
    "Conv3dPackedParamsBase",
    "EmbeddingPackedParamsBase",
    "LinearPackedParamsBase",
    "quantized_fallback",
]


@api_boundary
def __getattr__(name: str) -> NoReturn:
    """Refuse a name, with the reason where torch has it."""
    raise missing_name(__name__, name)
