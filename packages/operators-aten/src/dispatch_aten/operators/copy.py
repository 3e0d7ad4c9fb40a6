"""Schemas of copies, conversions and the way from tensor to Python number, as torch spells them."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = """
copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)
copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor
contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)
to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat?
    memory_format=None) -> Tensor(a)
to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat?
    memory_format=None) -> Tensor(a)
to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None)
    -> Tensor(a)
to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
    pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)
_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None,
    bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor
type_as(Tensor self, Tensor other) -> Tensor
resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)
is_nonzero(Tensor self) -> bool
[pointwise]
clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
[data_dependent_output]
item(Tensor self) -> Scalar
_local_scalar_dense(Tensor self) -> Scalar
"""
