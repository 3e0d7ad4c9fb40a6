"""Schemas of operators on lists of tensors, and those that repeat or reorder, as torch spells them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ._table import Blocks

__all__ = ["BLOCKS"]

BLOCKS: Final[Blocks] = (
    (
        (),
        """
cat(Tensor[] tensors, int dim=0) -> Tensor
cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)
concat(Tensor[] tensors, int dim=0) -> Tensor
concat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)
stack(Tensor[] tensors, int dim=0) -> Tensor
stack.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)
hstack(Tensor[] tensors) -> Tensor
hstack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)
vstack(Tensor[] tensors) -> Tensor
vstack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)
meshgrid(Tensor[] tensors) -> Tensor[]
meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]
broadcast_tensors(Tensor[] tensors) -> Tensor[]
broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)
repeat(Tensor self, SymInt[] repeats) -> Tensor
tile(Tensor self, SymInt[] dims) -> Tensor
roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor
flip(Tensor self, int[] dims) -> Tensor
""",
    ),
)
