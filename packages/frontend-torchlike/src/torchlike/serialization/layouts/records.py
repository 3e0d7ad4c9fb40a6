"""Tensors of layouts that programs write, in files: the fields of their records, and the tensors made of them again.

A file names the class of the records. It is looked for among the layouts that the program has made, and never imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatch_core.frontends import field_names, find_layout
from dispatch_core.keys import LAYOUTS

from ...nn.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from ...values.layouts import refuse_layout


def is_record(value: object) -> bool:
    """Return whether a value is a tensor of a layout."""
    return isinstance(value, Tensor) and bool(value._dispatch_mask & LAYOUTS)


def list_fields(tensor: Tensor) -> tuple[str, dict[str, Any]]:
    """Return the full name of the class of a tensor's record, and its fields."""
    record = tensor._dispatch_data
    layout = find_layout(record)
    if layout is None:  # of a transform's tensor
        refuse_layout(tensor, "save()")
    assert layout is not None  # else it was refused
    kind = layout.record
    return f"{kind.__module__}.{kind.__qualname__}", layout.fields_of(record)


def rebuild_record(name: Any, fields: Any, requires_grad: Any = False) -> Tensor:
    """Return the tensor of a record; raises ``ValueError`` where no layout has such records, or they have other fields."""
    layout = find_layout(name) if isinstance(name, str) else None
    if layout is None:
        raise ValueError(
            f"a tensor has records of {name}, which no layout has that this program has made\n"
            "Hint: import the module of the layout first"
        )
    if not isinstance(fields, dict) or sorted(fields) != sorted(field_names(layout.record)):
        raise ValueError(f"a record of {name} has other fields")
    made = wrap(layout.make(**fields))
    return made.requires_grad_() if requires_grad is True else made


def take_record_apart(tensor: Tensor, encode: Callable[[Any, str], Any]) -> dict[str, Any]:
    """Return the node of a tensor, with the fields of its record as ``encode(value, name)`` makes them."""
    name, fields = list_fields(tensor)
    node = {
        "record": name,
        "fields": {each: encode(value, each) for each, value in fields.items()},
        "requires_grad": tensor.requires_grad,
    }
    return node | {"parameter": True} if isinstance(tensor, Parameter) else node


def put_record_together(node: dict[str, Any], decode: Callable[[Any], Any]) -> Tensor:
    """Return the tensor of a node; raises ``ValueError`` for fields that do not fit."""
    fields = {each: decode(value) for each, value in node["fields"].items()}
    requires_grad = node.get("requires_grad") is True
    made = rebuild_record(node["record"], fields)
    return Parameter(made, requires_grad) if node.get("parameter") else made.requires_grad_(requires_grad)
