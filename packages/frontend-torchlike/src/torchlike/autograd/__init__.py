"""Gradients (source: ``torch.autograd``): grad mode, backward, ``grad`` and custom functions."""

from .function import Function
from .functional import backward, grad
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .hooks import RemovableHandle
from .node import Node

__all__ = [
    "Function",
    "Node",
    "RemovableHandle",
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]
