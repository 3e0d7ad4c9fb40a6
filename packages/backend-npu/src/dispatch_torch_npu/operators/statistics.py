"""The statistics of attention's rows, which the device's function writes beside its output.

The operator ``npu::attention_statistics`` reads them where ``log_sumexp`` still holds them: see Note [Statistics of rows] in
``dispatch_backend_npu.ops.attention_rows``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import dispatch_core as dc
import torchlike
from torchlike import Tensor

__all__ = ["read_statistics"]


def _find(log_sumexp: Any) -> list[Any]:
    """Return the arrays that the memory of ``log_sumexp`` holds, see the backend's ``late_blocks``."""
    held_for = getattr(log_sumexp.block, "held_for", None)
    return [] if held_for is None else list(held_for(log_sumexp) or ())


@cache
def _define() -> dc.Library:
    """Define the operator at its first use, and return the library that keeps it."""
    library = dc.Library("npu", "DEF")
    library.define("attention_statistics(Tensor log_sumexp) -> Tensor[]")
    library.impl("attention_statistics", _find, "NPU")
    return library


def read_statistics(log_sumexp: Tensor) -> Sequence[Tensor]:
    """Return the largest scores and the sums of exponentials, each eight times; nothing where they are not at hand."""
    if type(log_sumexp) is not Tensor or log_sumexp.device.type != "npu" or dc.current_pipeline() is not None:
        return ()
    _define()
    found: Sequence[Tensor] = torchlike.ops.npu.attention_statistics(log_sumexp)
    return found
