"""Schemas of products of matrices and vectors, as torch spells them."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = """
mm(Tensor self, Tensor mat2) -> Tensor
mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)
bmm(Tensor self, Tensor mat2) -> Tensor
bmm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)
mv(Tensor self, Tensor vec) -> Tensor
mv.out(Tensor self, Tensor vec, *, Tensor(a!) out) -> Tensor(a!)
dot(Tensor self, Tensor tensor) -> Tensor
dot.out(Tensor self, Tensor tensor, *, Tensor(a!) out) -> Tensor(a!)
matmul(Tensor self, Tensor other) -> Tensor
matmul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
addmm.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
addmm_(Tensor(a!) self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)
baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
baddbmm.out(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) ->
    Tensor(a!)
baddbmm_(Tensor(a!) self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)
linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
linear.out(Tensor input, Tensor weight, Tensor? bias=None, *, Tensor(a!) out) -> Tensor(a!)
outer(Tensor self, Tensor vec2) -> Tensor
outer.out(Tensor self, Tensor vec2, *, Tensor(a!) out) -> Tensor(a!)
addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor
addmv.out(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
addmv_(Tensor(a!) self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)
addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
addbmm.out(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
addbmm_(Tensor(a!) self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)
addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
addr.out(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
addr_(Tensor(a!) self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)
ger(Tensor self, Tensor vec2) -> Tensor
ger.out(Tensor self, Tensor vec2, *, Tensor(a!) out) -> Tensor(a!)
inner(Tensor self, Tensor other) -> Tensor
inner.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
vdot(Tensor self, Tensor other) -> Tensor
vdot.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
chain_matmul(Tensor[] matrices) -> Tensor
chain_matmul.out(Tensor[] matrices, *, Tensor(a!) out) -> Tensor(a!)
tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor
tensordot.out(Tensor self, Tensor other, int[] dims_self, int[] dims_other, *, Tensor(a!) out) -> Tensor(a!)
einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor
"""
