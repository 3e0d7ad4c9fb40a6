"""Schemas of complex numbers, as torch spells them."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = """
[pointwise]
angle(Tensor self) -> Tensor
angle.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
conj_physical(Tensor self) -> Tensor
conj_physical.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
conj_physical_(Tensor(a!) self) -> Tensor(a!)
_conj_physical(Tensor self) -> Tensor
sgn(Tensor self) -> Tensor
sgn.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
sgn_(Tensor(a!) self) -> Tensor(a!)
[]
real(Tensor(a) self) -> Tensor(a)
imag(Tensor(a) self) -> Tensor(a)
conj(Tensor(a) self) -> Tensor(a)
resolve_conj(Tensor(a) self) -> Tensor(a)
resolve_neg(Tensor(a) self) -> Tensor(a)
is_conj(Tensor self) -> bool
is_neg(Tensor self) -> bool
view_as_real(Tensor(a) self) -> Tensor(a)
view_as_complex(Tensor(a) self) -> Tensor(a)
complex(Tensor real, Tensor imag) -> Tensor
complex.out(Tensor real, Tensor imag, *, Tensor(a!) out) -> Tensor(a!)
polar(Tensor abs, Tensor angle) -> Tensor
polar.out(Tensor abs, Tensor angle, *, Tensor(a!) out) -> Tensor(a!)
"""
