"""Modules whose calls are captured (source: ``torch._dynamo.eval_frame.OptimizedModule``)."""

from __future__ import annotations

from typing import Any

from dispatch_core import capture

from ..nn import Module

__all__ = ["OptimizedModule"]


class OptimizedModule(Module):
    """Calls a module by its captured replays; everything else is the module's own.

    As in torch the names in its ``state_dict`` begin with ``_orig_mod.``.

    >>> import torchlike
    >>> layer = torchlike.nn.Linear(2, 3)
    >>> compiled = torchlike.compile(layer, backend="capture")
    >>> compiled(torchlike.ones(1, 2)).shape, compiled.out_features, compiled.weight is layer.weight
    (torch.Size([1, 3]), 3, True)
    """

    _orig_mod: Module

    def __init__(self, mod: Module, **options: Any) -> None:
        super().__init__()
        self._orig_mod = mod
        self.__dict__["forward"] = capture(mod, **options)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules[name]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # While it is made, and after: the attributes that every module has are its own.
        if name in self.__dict__ or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)
