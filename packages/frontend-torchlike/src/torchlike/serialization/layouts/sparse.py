"""Sparse tensors in files: their components, and the tensors made of them again."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from typing import Any, Final

from ...nn.parameter import Parameter
from ...tensors.tensor import Tensor
from ...values import layouts
from ...values.layouts import has_sparse_layout, layout
from ..arrays import check_numbers

_LAYOUTS: Final = {f"torch.{each.__reduce__()}": each for each in vars(layouts).values() if isinstance(each, layout)}

#: The layouts of sparse tensors, by their names in nodes.
SPARSE: Final = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


def is_sparse(value: object) -> bool:
    """Return whether a value is a sparse tensor."""
    return isinstance(value, Tensor) and has_sparse_layout(value)


def take_sparse_apart(tensor: Tensor, encode: Callable[[Any, str], Any]) -> dict[str, Any]:
    """Return the node of a sparse tensor, with its components as ``encode(component, name)`` makes them."""
    record = tensor._dispatch_data
    names = ("indices", "values") if tensor.is_sparse else ("compressed", "plain", "values")
    node: dict[str, Any] = {
        str(record.layout.__reduce__()): [encode(getattr(record, each), each) for each in names],
        "size": list(record.size),
    }
    if tensor.is_sparse:
        node["is_coalesced"] = record.is_coalesced
    if tensor.requires_grad:
        node["requires_grad"] = True
    if isinstance(tensor, Parameter):
        node["parameter"] = True
    return node


def put_sparse_together(node: dict[str, Any], decode: Callable[[Any], Any]) -> Tensor:
    """Return the tensor of a node; raises ``ValueError`` for components that do not fit."""
    name = next(each for each in SPARSE if each in node)
    parts = [decode(each) for each in node[name]]
    if name == "sparse_coo":
        made = _make((*parts, node["size"], node["is_coalesced"]))
    else:
        made = _make_compressed((*parts, node["size"]), _LAYOUTS[f"torch.{name}"])
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
    if not any(layout is _LAYOUTS[f"torch.{name}"] for name in SPARSE):
        raise ValueError(f"a tensor has the layout {reprlib.repr(layout)}, which is not sparse")
    if type(data) is not tuple or len(data) not in (3, 4):
        raise ValueError("a sparse tensor has no components")
    if layout is not layouts.sparse_coo:
        return _make_compressed(data, layout)
    indices, values, size, *rest = data
    return _make((indices, values, tuple(size), bool(rest and rest[0])))


def _make_compressed(data: Sequence[Any], layout: Any) -> Tensor:
    from ...sparse.compressed.construction import sparse_compressed_tensor  # few files have sparse tensors

    compressed, plain, values, size = data if len(data) == 4 else (None, *data)
    if not all(isinstance(each, Tensor) for each in (compressed, plain, values)):
        raise ValueError("a sparse tensor has no components")
    sizes = check_numbers(size, "size")
    made = sparse_compressed_tensor(compressed, plain, values.detach(), sizes, layout=layout, check_invariants=True)
    return made


def _make(data: Sequence[Any]) -> Tensor:
    from ...sparse.construction import sparse_coo_tensor  # few files have sparse tensors

    indices, values, size, is_coalesced = data
    if not isinstance(indices, Tensor) or not isinstance(values, Tensor) or not isinstance(is_coalesced, bool):
        raise ValueError("a sparse tensor has no components")
    made = sparse_coo_tensor(
        indices, values.detach(), check_numbers(size, "size"), is_coalesced=is_coalesced, check_invariants=True
    )
    return made
