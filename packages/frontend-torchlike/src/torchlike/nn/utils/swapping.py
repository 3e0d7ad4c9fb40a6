"""Exchange of one tensor of a module by its name (source: ``torch.nn.utils._named_member_accessor``)."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from ..modules.module import Module

__all__ = ["set_tensor", "swap_tensor"]


def _check(module: Any, name: str, tensor: Any) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if not (tensor is None or isinstance(tensor, Tensor)):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if not name or "." in name:
        raise KeyError(f"a tensor of a module has a name without dots, not {name!r}")


def set_tensor(module: Module, name: str, tensor: Tensor | None) -> None:
    """Put a tensor in the place of a parameter, a buffer or an attribute; it may be of any class.

    Raises ``TypeError`` for anything but a module and a tensor, ``KeyError`` for a name that is empty or has dots.
    """
    _check(module, name, tensor)
    for table in (module._parameters, module._buffers):
        if name in table:
            table[name] = tensor  # type: ignore[assignment]  # a parameter may be replaced by any tensor
            return
    setattr(module, name, tensor)


def swap_tensor(module: Module, name: str, tensor: Tensor | None, allow_missing: bool = False) -> Tensor | None:
    """Do as `set_tensor`, and return the tensor that was there; None with ``allow_missing`` where there was none.

    Raises ``AttributeError`` for a name that the module does not have.

    >>> import torchlike
    >>> layer = torchlike.nn.Linear(1, 1, bias=False)
    >>> first = swap_tensor(layer, "weight", torchlike.ones(1, 1) * 3)
    >>> layer(torchlike.ones(1)), first is swap_tensor(layer, "weight", first)
    (tensor([3.]), False)
    """
    _check(module, name, tensor)
    if not hasattr(module, name) and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    former = getattr(module, name, None)
    if not (former is None or isinstance(former, Tensor)):
        raise TypeError(f"attribute `{name}`: {former} is not an instance of torch.Tensor")
    set_tensor(module, name, tensor)
    return former
