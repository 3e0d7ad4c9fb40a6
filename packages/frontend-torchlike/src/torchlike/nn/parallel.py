"""Wrappers of one module for several devices (source: ``torch.nn.parallel``); here there is one device at a time."""

from __future__ import annotations

from typing import Any

from .modules.module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Call the wrapped module, as torch does where there is no device to share the batch with.

    Its parameters have the names that they have under torch: ``module.weight``.
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module: Any = module
        self.device_ids: list[int] = []
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)
