"""Schemas of operators on lists of tensors, and those that repeat, reorder or sort, as torch spells them."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = """
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
sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
sort.values_stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False, Tensor(a!) values, Tensor(b!)
    indices) -> (Tensor(a!) values, Tensor(b!) indices)
sort.values(Tensor self, int dim=-1, bool descending=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!)
    values, Tensor(b!) indices)
argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor
argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor
argsort.stable_out(Tensor self, *, bool stable, int dim=-1, bool descending=False, Tensor(a!) out) -> Tensor(a!)
topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)
topk.values(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True, *, Tensor(a!) values, Tensor(b!)
    indices) -> (Tensor(a!) values, Tensor(b!) indices)
"""
