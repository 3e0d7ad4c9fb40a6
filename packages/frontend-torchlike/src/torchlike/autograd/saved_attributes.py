"""The values that a node has saved, as attributes in torch's manner: ``y.grad_fn._saved_self``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from ..history.node import Node
from ..tensors.tensor import Tensor
from .saved import Saved, make_released_error, make_version_error, read_version, restore_result


class Recorded(Node):
    """A node of a recorded operator; its class names the tensors and the numbers that it keeps."""

    tensor_names: ClassVar[tuple[str, ...]] = ()
    value_names: ClassVar[tuple[str, ...]] = ()
    saved: Any
    versions: Any
    values: Any


def make_attributes(tensors: Sequence[str], values: Sequence[str]) -> dict[str, Any]:
    """Return the attributes of a node's class that read a node's saved values.

    They are properties, because CPython reads all attributes of a class with ``__getattr__`` several times slower.
    """
    found = {f"_saved_{name}": property(partial(_read_tensor, number=number)) for number, name in enumerate(tensors)}
    for number, name in enumerate(values):
        read = property(partial(_read_value, number=number))
        found |= {f"_saved_{name}": read, f"_saved_{name.replace('_sizes', '_sym_sizes')}": read}
    return {"tensor_names": tuple(tensors), "value_names": tuple(values), **found}


def _read_value(node: Any, number: int) -> Any:
    if node.values is None:
        raise make_released_error()
    value = node.values[number]
    return tuple(value) if isinstance(value, list) else value


def _read_tensor(node: Any, number: int) -> Any:
    """Return a tensor, or several, that a node has saved; ``RuntimeError`` where it was freed or changed since."""
    if node.saved is None:
        raise make_released_error()
    value = node.saved[number]
    versions = getattr(node, "versions", ())
    version: Any = versions[number] if number < len(versions) else 0
    if isinstance(value, tuple):
        return tuple(_check(node, each, at) for each, at in zip(value, version, strict=True))
    return _check(node, value, version)


def _check(node: Any, value: Any, version: int) -> Any:
    if hasattr(value, "unpack"):
        value = value.unpack(node.unpack_hook)
    elif isinstance(value, Tensor) and read_version(value) != version:
        raise make_version_error(value, version)
    return restore_result(value, node) if isinstance(value, Saved) else value
