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
[]
fliplr(Tensor self) -> Tensor
flipud(Tensor self) -> Tensor
rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor
rot90.out(Tensor self, int k=1, int[] dims=[0, 1], *, Tensor(a!) out) -> Tensor(a!)
repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor
repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor
repeat_interleave.Tensor_out(Tensor repeats, *, SymInt? output_size=None, Tensor(a!) out) -> Tensor(a!)
kron(Tensor self, Tensor other) -> Tensor
kron.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
block_diag(Tensor[] tensors) -> Tensor
block_diag.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)
cartesian_prod(Tensor[] tensors) -> Tensor
combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor
atleast_1d(Tensor self) -> Tensor
atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]
atleast_2d(Tensor self) -> Tensor
atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]
atleast_3d(Tensor self) -> Tensor
atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]
column_stack(Tensor[] tensors) -> Tensor
column_stack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)
dstack(Tensor[] tensors) -> Tensor
dstack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)
row_stack(Tensor[] tensors) -> Tensor
row_stack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)
concatenate(Tensor[] tensors, int dim=0) -> Tensor
concatenate.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)
[dynamic_output_shape]
repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor
"""
