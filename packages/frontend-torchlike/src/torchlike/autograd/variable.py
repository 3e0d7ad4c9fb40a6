"""``Variable``, the tensors' name before torch 0.4, which old programs call (source: ``torch.autograd.Variable``)."""

from __future__ import annotations

from typing import Any

from ..creation.factories import FACTORIES
from ..history.grad_mode import no_grad
from ..tensors.tensor import Tensor
from .engine import queue_callback


class _VariableMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class _Engine:
    """The public calls of the engine that runs backward."""

    queue_callback = staticmethod(queue_callback)


class Variable(metaclass=_VariableMeta):
    """Return the data as a tensor; every tensor is an instance.

    >>> import torchlike
    >>> Variable(torchlike.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = _Engine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        """Return a view of ``data`` that shares its memory; ``volatile`` is ignored, as in torch."""
        if data is None:
            data = FACTORIES["empty"](0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        with no_grad():
            found: Tensor = data.detach() if data.is_leaf else data
        return found.requires_grad_(requires_grad) if found.is_leaf else found
