"""Nested tensors in files: their components, and the tensors made of them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from dispatch_aten.errors import UnsupportedError
from dispatch_core.keys import LAYOUTS

from ...nn.parameter import Parameter
from ...tensors.tensor import Tensor
from ...values.layouts import jagged, layout_of

#: The module of torch's that its files name.
MODULE: Final = "torch.nested._internal.nested_tensor"
#: Attributes that torch's files have of nested tensors besides the program's own: the components once more, and notes
#: for its compiler.
_TORCHS: Final = frozenset("_values _offsets _lengths _ragged_idx _metadata_cache _size _strides".split())
_NOTES: Final = ("_dynamo_", "_has_dynamo_", "_specialize_on")


class DimRange:
    """A note for torch's compiler, which its files have and nothing here reads."""

    def __setstate__(self, state: Any) -> None:
        """Take no state."""


def is_nested(value: object) -> bool:
    """Return whether a value is a nested tensor."""
    return isinstance(value, Tensor) and bool(value._dispatch_mask & LAYOUTS) and layout_of(value) is jagged


def list_arguments(tensor: Tensor) -> dict[str, Any]:
    """Return the components of a nested tensor, as torch's ``_rebuild_njt`` takes them."""
    record = tensor._dispatch_data
    return {
        "values": record.values.detach(),
        "offsets": record.offsets,
        "lengths": record.lengths,
        "_ragged_idx": record.ragged,
        "_metadata_cache": {},
        "requires_grad": tensor.requires_grad,
    }


def refuse_strided(*_: Any) -> NoReturn:
    """Raise ``UnsupportedError`` for a nested tensor of torch whose layout is strided."""
    raise UnsupportedError(
        "a nested tensor of layout torch.strided, which torchlike does not have",
        hint="make it one of layout torch.jagged before it is saved: torch.nested.nested_tensor(x.unbind(),"
        " layout=torch.jagged)",
    )


def rebuild_nested(given: Any) -> Tensor:
    """Return a nested tensor as torch's ``_rebuild_njt`` does, with its components checked."""
    from ...nested.construction import nested_tensor_from_jagged  # few files have nested tensors

    if not isinstance(given, dict) or not all(isinstance(given.get(name), Tensor) for name in ("values", "offsets")):
        raise ValueError("a nested tensor has no components")
    lengths, ragged = given.get("lengths"), given.get("_ragged_idx", 1)
    if not (lengths is None or isinstance(lengths, Tensor)) or type(ragged) is not int or ragged < 1:
        raise ValueError("a nested tensor has other components")
    made = nested_tensor_from_jagged(given["values"].detach(), given["offsets"], lengths, ragged)
    _check_rows(made)
    return made.requires_grad_() if given.get("requires_grad") is True else made


def _check_rows(tensor: Tensor) -> None:
    """Raise ``ValueError`` for rows that lie beyond the values, which no operator looks for."""
    record = tensor._dispatch_data
    if record.offsets.is_meta:
        return
    starts, lengths = record.offsets.tolist(), record.row_lengths().tolist()
    packed = record.values.shape[record.ragged - 1]
    if any(at < 0 or count < 0 or at + count > packed for at, count in zip(starts, lengths, strict=False)):
        raise ValueError("the rows of a nested tensor lie beyond its values")


def own_attributes(state: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes that a program has set on a nested tensor."""
    return {name: value for name, value in state.items() if name not in _TORCHS and not name.startswith(_NOTES)}


def take_nested_apart(tensor: Tensor, encode: Callable[[Any, str], Any]) -> dict[str, Any]:
    """Return the node of a nested tensor, with its components as ``encode(component, name)`` makes them."""
    given = list_arguments(tensor)
    parts = [encode(given[name], name) for name in ("values", "offsets", "lengths")]
    node = {"jagged": parts, "ragged": given["_ragged_idx"], "requires_grad": given["requires_grad"]}
    return node | {"parameter": True} if isinstance(tensor, Parameter) else node


def put_nested_together(node: dict[str, Any], decode: Callable[[Any], Any]) -> Tensor:
    """Return the tensor of a node; raises ``ValueError`` for components that do not fit."""
    given = dict(zip(("values", "offsets", "lengths"), map(decode, node["jagged"]), strict=True))
    requires_grad = node.get("requires_grad") is True
    made = rebuild_nested(given | {"_ragged_idx": node["ragged"], "requires_grad": requires_grad})
    return Parameter(made, requires_grad) if node.get("parameter") else made
