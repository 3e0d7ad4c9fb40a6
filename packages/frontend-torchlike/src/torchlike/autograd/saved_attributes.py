"""What a node has saved, as attributes in torch's manner: ``y.grad_fn._saved_self``."""

from __future__ import annotations

from typing import Any, ClassVar

from ..history.node import Node
from ..tensors import Tensor
from .saved import Saved, make_released_error, make_version_error, read_version, restore_result


class Recorded(Node):
    """A node of a recorded operator; its class names the tensors and the numbers that it keeps."""

    tensor_names: ClassVar[tuple[str, ...]] = ()
    value_names: ClassVar[tuple[str, ...]] = ()
    saved: Any
    versions: Any
    values: Any

    def __getattr__(self, name: str) -> Any:
        saved = name.removeprefix("_saved_")
        if saved != name:
            if saved in self.tensor_names:
                return _read_tensor(self, self.tensor_names.index(saved))
            for own in (saved, saved.replace("_sym_sizes", "_sizes")):
                if own in self.value_names:
                    value = self.values[self.value_names.index(own)]
                    return tuple(value) if isinstance(value, list) else value
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        names = (*self.tensor_names, *self.value_names)
        return [*super().__dir__(), *(f"_saved_{name}" for name in names)]


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
