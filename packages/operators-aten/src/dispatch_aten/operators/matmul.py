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
"""
