"""Modules without their initial values (source: ``torch.nn.utils.init``)."""

from __future__ import annotations

import inspect
from typing import Any

from ..modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """Make a module whose parameters are not filled.

    Raises ``RuntimeError`` for a class that is not a module, or does not take ``device``.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    make: Any = module_cls
    made: Module = make(*args, device="meta", **kwargs)
    return made.to_empty(device=device)
