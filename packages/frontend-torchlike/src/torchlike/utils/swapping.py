"""Two tensors that change places (source: ``torch.utils``)."""

from __future__ import annotations

from typing import Any, Final
from weakref import ref

from ..history.node import Leaf
from ..tensors.tensor import Tensor

__all__ = ["set_module", "swap_tensors"]

#: The parts of a tensor, besides its class.
_PARTS: Final = ("_dispatch_data", "_dispatch_mask", "_autograd", "persistent", "__dict__")
_ABSENT: Final = object()


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange two tensors: each object becomes the other tensor, with its class, attributes, history and gradient.

    A module's parameter so becomes another one, while optimizers and other modules keep the object. Views of the two must
    be gone. Raises ``TypeError`` for anything but tensors.

    >>> import torchlike
    >>> a, b = torchlike.nn.Parameter(torchlike.ones(2)), torchlike.zeros(3)
    >>> swap_tensors(a, b)
    >>> a, b
    (tensor([0., 0., 0.]), Parameter containing:
    tensor([1., 1.], requires_grad=True))
    """
    for each in (t1, t2):
        if not isinstance(each, Tensor):
            raise TypeError(f"swap_tensors() takes two tensors, not {type(each).__name__}")
    if t1 is t2:
        return
    kinds = type(t1), type(t2)
    parts = [{name: getattr(each, name, _ABSENT) for name in _PARTS} for each in (t1, t2)]
    for tensor in (t1, t2):
        for name in ("_autograd", "persistent"):
            if getattr(tensor, name, _ABSENT) is not _ABSENT:
                delattr(tensor, name)
    for tensor, kind, given in zip((t2, t1), kinds, parts, strict=True):
        object.__setattr__(tensor, "__class__", kind)
        for name, value in given.items():
            if value is not _ABSENT:
                object.__setattr__(tensor, name, value)
        state: Any = given["_autograd"]
        if isinstance(state, Leaf):
            state.tensor = ref(tensor)


def set_module(obj: Any, mod: str) -> None:
    """Set the module that an object says it is from; raises ``TypeError`` for a name that is not a text."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
