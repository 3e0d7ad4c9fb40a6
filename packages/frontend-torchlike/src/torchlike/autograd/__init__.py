"""Gradients (source: ``torch.autograd``): grad mode, backward, ``grad``, custom functions, forward mode and checks."""

from __future__ import annotations

from functools import partial
from typing import Final

from dispatch_core.frontends import STREAM_BLOCKS

from ..history import (
    Node,
    RemovableHandle,
    enable_grad,
    grad_mode,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from ..names.docstrings import complete_function
from ..names.lazy_names import call_late, load_names

_NAMES: Final = {
    "anomaly_mode": "detect_anomaly set_detect_anomaly is_anomaly_check_nan_enabled is_anomaly_enabled",
    "forward_ad": "",
    "function": "Function",
    "functional": "",
    "gradients": "backward grad",
    "graph": "",
    "multithreading": "is_multithreading_enabled set_multithreading_enabled",
    "numerical_check": "GradcheckError gradcheck gradgradcheck",
    "variable": "Variable",
}
_lazy, __getattr__, __dir__ = load_names(__name__, _NAMES, partial(complete_function, namespace="autograd"))

__all__ = [
    "Node",
    "RemovableHandle",
    "enable_grad",
    "grad_mode",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]
__all__.extend(_lazy)  # noqa: PYI056  # the linter does not know the names

# The block in which nodes keep the streams of their calls.
STREAM_BLOCKS.append(call_late(f"{__name__}.stream_order", "KeepStreams"))
