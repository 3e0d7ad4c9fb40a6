"""Modes that see every operator's call (source: ``torch.utils._python_dispatch``)."""

from __future__ import annotations

from typing import Any, ClassVar

import dispatch_core as dc

from ..tensors.tensor import Tensor

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

    def __torch_dispatch__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Handle one call, and return its result."""
        raise NotImplementedError(f"{type(self).__qualname__} does not define __torch_dispatch__")
