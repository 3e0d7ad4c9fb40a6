"""Weights of convolutions in another order in memory (source: ``torch.nn.utils.memory_format``)."""

from __future__ import annotations

from typing import Any, TypeVar

from .. import modules
from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]
_ModuleT = TypeVar("_ModuleT", bound=Module)


def _convert(module: Module, memory_format: Any, kinds: tuple[Any, ...]) -> None:
    for each in module.modules():
        if isinstance(each, kinds):
            found: Any = each
            found.weight.data = found.weight.detach().clone(memory_format=memory_format)


def convert_conv2d_weight_memory_format(module: _ModuleT, memory_format: Any) -> _ModuleT:
    """Convert the weights of all two-dimensional convolutions in a module."""
    _convert(module, memory_format, (modules.Conv2d, modules.ConvTranspose2d))
    return module


def convert_conv3d_weight_memory_format(module: _ModuleT, memory_format: Any) -> _ModuleT:
    """Convert the weights of all three-dimensional convolutions in a module."""
    _convert(module, memory_format, (modules.Conv3d, modules.ConvTranspose3d))
    return module
