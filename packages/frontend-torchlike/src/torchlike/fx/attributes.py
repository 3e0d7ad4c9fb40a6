"""Attributes of modules at a path: read, copied, set, deleted, and asked for by graphs."""

from __future__ import annotations

import warnings
from typing import Any

from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..tensors.tensor import Tensor

__all__ = [
    "assign_attribute",
    "check_target",
    "copy_attribute",
    "delete_submodule",
    "enter",
    "has_reference",
    "read_attribute",
]


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
    """Give a module an attribute; a tensor that is not a parameter becomes a buffer."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def enter(module: Module, part: str) -> Any:
    """Return a part of a module, which becomes an empty module where there is none."""
    found = getattr(module, part, None)
    if found is None:
        found = Module()
        setattr(module, part, found)
    return found


def copy_attribute(source: Any, module: Module, path: str) -> None:
    """Give a module the attribute at a path of another one, and modules on the way to it."""
    *parents, name = path.split(".")
    for part in parents:
        source = getattr(source, part)
        if getattr(module, part, None) is source:  # with all that it has
            return
        module = enter(module, part)
    _set(module, name, getattr(source, name))


def assign_attribute(value: Any, module: Module, path: str) -> None:
    """Give a module an attribute at a path, and modules on the way to it."""
    *parents, name = path.split(".")
    for part in parents:
        module = enter(module, part)
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


def has_reference(module: Module, path: str) -> bool:
    """Return whether a module has a parameter, a buffer or a submodule at a path."""
    parent, _, name = path.rpartition(".")
    try:
        owner = module.get_submodule(parent)
    except AttributeError:
        warnings.warn(f"Failed to fetch module {parent}!", stacklevel=3)
        return False
    return isinstance(getattr(owner, name, None), (Module, Parameter)) or name in owner._buffers


def check_target(module: Module, node: Any) -> None:
    """Raise ``RuntimeError`` where a module does not have the attribute or the submodule that a node names."""
    parts = node.target.split(".")
    owner: Any = module
    for index, part in enumerate(parts):
        found = getattr(owner, part, None)
        before = ".".join(parts[:index])
        if found is None:
            raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {part} of {before}")
        if node.op == "call_module" and not isinstance(found, Module):
            raise RuntimeError(f"Node {node} target {node.target} {part} of {before} does not reference an nn.Module")
        owner = found
