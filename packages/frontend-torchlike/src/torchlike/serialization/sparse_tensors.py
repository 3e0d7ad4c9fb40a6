"""Sparse tensors in files: their components, and the tensors made of them again."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any, Final

from dispatch_core.keys import LAYOUTS

from ..nn.parameter import Parameter
from ..tensors.tensor import Tensor
from ..values import layouts
from ..values.layouts import layout
from .arrays import check_numbers

_LAYOUTS: Final = {f"torch.{each.__reduce__()}": each for each in vars(layouts).values() if isinstance(each, layout)}


def is_sparse(value: object) -> bool:
    """Return whether a value is a sparse tensor."""
    return isinstance(value, Tensor) and bool(value._dispatch_mask & LAYOUTS) and value.is_sparse


def take_sparse_apart(tensor: Tensor, encode: Callable[[Any, str], Any]) -> dict[str, Any]:
    """Return the node of a sparse tensor, with its components as ``encode(component, name)`` makes them."""
    record = tensor._dispatch_data
    node = {
        "sparse_coo": [encode(record.indices, "indices"), encode(record.values, "values")],
        "size": list(record.size),
        "is_coalesced": record.is_coalesced,
    }
    if tensor.requires_grad:
        node["requires_grad"] = True
    if isinstance(tensor, Parameter):
        node["parameter"] = True
    return node


def put_sparse_together(node: dict[str, Any], decode: Callable[[Any], Any]) -> Tensor:
    """Return the tensor of a node; raises ``ValueError`` for components that do not fit."""
    indices, values = map(decode, node["sparse_coo"])
    made = _make(indices, values, node["size"], node["is_coalesced"])
    requires_grad = node.get("requires_grad") is True
    return Parameter(made, requires_grad) if node.get("parameter") else made.requires_grad_(requires_grad)


def read_layout(name: Any) -> layout:
    """Return a layout by its name, as torch's ``_get_layout`` does; ``ValueError`` for another name."""
    found = _LAYOUTS.get(name) if isinstance(name, str) else None
    if found is None:
        raise ValueError(f"{reprlib.repr(name)} is not a layout")
    return found


def rebuild_sparse(layout: Any, data: Any) -> Tensor:
    """Return a sparse tensor as torch's ``_rebuild_sparse_tensor`` does, with its components checked."""
    if layout is not layouts.sparse_coo:
        raise ValueError(
            f"a tensor has the layout {reprlib.repr(layout)}: the only sparse one that can be read is torch.sparse_coo"
        )
    if type(data) is not tuple or len(data) not in (3, 4):
        raise ValueError("a sparse tensor has no components")
    indices, values, size, *rest = data
    return _make(indices, values, tuple(size), bool(rest and rest[0]))


def _make(indices: Any, values: Any, size: Any, is_coalesced: Any) -> Tensor:
    from ..sparse.construction import sparse_coo_tensor  # few files have sparse tensors

    if not isinstance(indices, Tensor) or not isinstance(values, Tensor) or not isinstance(is_coalesced, bool):
        raise ValueError("a sparse tensor has no components")
    made = sparse_coo_tensor(
        indices, values.detach(), check_numbers(size, "size"), is_coalesced=is_coalesced, check_invariants=True
    )
    return made
