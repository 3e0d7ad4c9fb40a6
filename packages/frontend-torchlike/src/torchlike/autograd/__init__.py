"""Gradients (source: ``torch.autograd``): grad mode, backward, ``grad`` and custom functions."""

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
from .function import Function
from .gradients import backward, grad

__all__ = [
    "Function",
    "Node",
    "RemovableHandle",
    "backward",
    "enable_grad",
    "grad",
    "grad_mode",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]
