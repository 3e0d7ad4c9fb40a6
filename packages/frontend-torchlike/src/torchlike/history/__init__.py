"""The history of tensors, beneath the tensors themselves: the graph of recorded calls, views of storages, and grad mode."""

from .differentiable import Differentiable
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
    "Differentiable",
    "Node",
    "RemovableHandle",
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]
