"""Operators as the rules of nested tensors call them, and the dimensions that they name.

A rule is a function of an `Operator` and the arguments of a call, in the order of the schema. It calls the operator on
the values, with dimensions counted there, and makes nested tensors of the results: `wrap_values`. The values lack the
batch's dimension, so a dimension behind it is one less there, and the ragged one is the packed one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import dispatch_core as dc
from dispatch_core.keys import LAYOUTS

from ..tensors.tensor import Tensor
from ..values.size import check_dim
from .tensor import Jagged, NestedTensor

Rule = Callable[["Operator", tuple[Any, ...]], Any]


class Operator:
    """An overload whose arguments are taken in the order of its schema, keyword-only ones included."""

    __slots__ = ("name", "names", "op", "positional")

    def __init__(self, op: Any) -> None:
        self.op = op
        self.name: str = op.name.removeprefix("aten::")
        self.names: list[str] = [argument.name for argument in op.schema.arguments]
        self.positional = len(op.schema.positional)

    @property
    def packet(self) -> str:
        """Return the name without the overload's."""
        return self.name.partition(".")[0]

    def __call__(self, values: Sequence[Any]) -> Any:
        """Call the operator."""
        split = self.positional
        if split == len(values):
            return self.op(*values)
        return self.op(*values[:split], **dict(zip(self.names[split:], values[split:], strict=True)))

    def bind(self, values: Sequence[Any]) -> dict[str, Any]:
        """Return the arguments by name."""
        return dict(zip(self.names, values, strict=True))

    def call(self, given: dict[str, Any]) -> Any:
        """Call the operator with the arguments by name."""
        return self([given[name] for name in self.names])

    def refuse(self, why: str, hint: str = "") -> NoReturn:
        """Raise ``NotImplementedError``, a ``RuntimeError`` as torch's, for a call that nested tensors do not support."""
        raise NotImplementedError(f"{self.packet}(): {why}{hint and chr(10) + 'Hint: ' + hint}")


def find_nested(values: Sequence[Any]) -> NestedTensor:
    """Return the first nested tensor among arguments, those in lists included."""
    for value in values:
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(each, NestedTensor):
                return each
    raise AssertionError("there is no nested tensor in the call")


def canonical(dim: int, rank: int) -> int:
    """Return a dimension counted from the front; raises ``IndexError`` where there is none."""
    return check_dim(dim, rank) % rank


def inner_dim(
    operator: Operator, record: Jagged, dim: int, *, more: int = 0, ragged: bool = False, batch: bool = False
) -> int:
    """Return a dimension of a nested tensor as its values have it, -1 for the batch's.

    ``more`` counts dimensions that the operator adds. Raises ``RuntimeError`` for the batch's and the ragged dimension,
    unless ``batch`` and ``ragged`` allow them.
    """
    found = canonical(dim, record.values.dim() + 1 + more)
    if found == record.ragged and not ragged:
        operator.refuse("not supported for NestedTensor on ragged dim")
    if not found and not batch:
        operator.refuse("not supported for NestedTensor on dim=0")
    return found - 1


def refuse_gaps(operator: Operator, record: Jagged) -> None:
    """Refuse a call that would read the gaps between the rows."""
    if record.lengths is not None:
        operator.refuse(
            "not supported for a nested tensor with gaps between its rows", "contiguous() makes a copy without gaps"
        )


def refuse_operator(operator: Operator, values: tuple[Any, ...]) -> NoReturn:
    """Raise ``NoKernelError`` for an operator that has no rule."""
    raise dc.NoKernelError(
        f"{operator.op.name}: no kernel for tensors of layout torchlike.jagged, here of sizes {find_nested(values).shape}",
        hint="x.unbind() has the rows, x.values() all elements, and x.to_padded_tensor(0.) is a strided tensor",
    )


def strided_only(operator: Operator, values: Sequence[Any]) -> None:
    """Refuse tensors of a layout, such as nested ones, among further arguments of a rule."""
    for value in values:
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(each, Tensor) and each._dispatch_mask & LAYOUTS:
                operator.refuse(f"not supported with a tensor of layout {each.layout} in this argument")
