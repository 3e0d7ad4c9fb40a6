"""Attributes of modules at a path: read, copied, set and deleted."""

from __future__ import annotations

from typing import Any

from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..tensors.tensor import Tensor

__all__ = ["assign_attribute", "copy_attribute", "delete_submodule", "read_attribute"]


def read_attribute(module: Any, path: str) -> Any:
    """Return the attribute at a path; raises ``RuntimeError`` where there is none.

    >>> import torchlike
    >>> read_attribute(torchlike.nn.Sequential(torchlike.nn.ReLU()), "0")
    ReLU()
    """
    found = module
    parts = path.split(".")
    for index, part in enumerate(parts):
        if not hasattr(found, part):
            raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: index + 1])}")
        found = getattr(found, part)
    return found


def _set(module: Module, name: str, value: Any) -> None:
    """Give a module an attribute; a tensor that is no parameter becomes a buffer."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def copy_attribute(source: Any, module: Module, path: str) -> None:
    """Give a module the attribute at a path of another one, and modules on the way to it."""
    *parents, name = path.split(".")
    for part in parents:
        found, own = getattr(source, part), getattr(module, part, None)
        if found is own:  # with all that it has
            return
        if own is None:
            own = Module()
            setattr(module, part, own)
        source, module = found, own
    _set(module, name, getattr(source, name))


def assign_attribute(value: Any, module: Module, path: str) -> None:
    """Give a module an attribute at a path, and modules on the way to it."""
    *parents, name = path.split(".")
    for part in parents:
        own = getattr(module, part, None)
        if own is None:
            own = Module()
            setattr(module, part, own)
        module = own
    _set(module, name, value)


def delete_submodule(module: Any, path: str) -> bool:
    """Delete the submodule at a path, and return whether there was one."""
    *parents, name = path.split(".")
    for part in parents:
        module = getattr(module, part, None)
        if not isinstance(module, Module):
            return False
    if not isinstance(getattr(module, name, None), Module):
        return False
    delattr(module, name)
    return True
