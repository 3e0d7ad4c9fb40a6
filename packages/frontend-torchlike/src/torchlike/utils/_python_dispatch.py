"""Modes that see every operator's call (source: ``torch.utils._python_dispatch``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import dispatch_core as dc

from ..tensors.tensor import Tensor
from .dispatch_rules import RULES

__all__ = ["TorchDispatchMode"]


class TorchDispatchMode(dc.DispatchMode):
    """Receive every operator that this thread or task calls while a block runs, and do something else instead.

    `dispatch_core.DispatchMode` under torch's names: a subclass writes ``__torch_dispatch__(self, func, types, args=(),
    kwargs=None)``, and its result is the call's. In the handler, ``func`` returns tensors, of factories too
    (source: ``torch.utils._python_dispatch.TorchDispatchMode``).

    >>> import torchlike
    >>> class Logging(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func.name)
    ...         return func(*args, **(kwargs or {}))
    >>> x, y = torchlike.ones(2, 3), torchlike.ones(3, 4, requires_grad=True)
    >>> with Logging():
    ...     (x @ y).sum().backward()
    aten::mm
    aten::sum
    aten::ones_like
    aten::expand
    aten::t
    aten::mm
    """

    tensor_type: ClassVar[type | None] = Tensor
    handler_name: ClassVar[str] = "__torch_dispatch__"

    def dispatch_handler(self) -> Callable[..., Any]:
        """Return the function that gets the calls: rules of single operators for the class come first."""
        handler, cls = super().dispatch_handler(), type(self)
        rules = {name: rule for (name, owner), rule in RULES.items() if owner is cls}
        if not rules:
            return handler

        def handle(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            rule = rules.get(func.name)
            return handler(func, types, args, kwargs) if rule is None else rule(self, func, types, args, kwargs)

        return handle

    def __torch_dispatch__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Handle one call, and return its result."""
        raise NotImplementedError(f"{type(self).__qualname__} does not define __torch_dispatch__")
