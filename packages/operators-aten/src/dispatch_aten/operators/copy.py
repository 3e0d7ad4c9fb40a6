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
[pointwise, copy]
clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
[data_dependent_output]
item(Tensor self) -> Scalar
_local_scalar_dense(Tensor self) -> Scalar
[]
alias_copy(Tensor self) -> Tensor
alias_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor
as_strided_copy.out(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None, *, Tensor(a!) out) ->
    Tensor(a!)
detach_copy(Tensor self) -> Tensor
detach_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor
diagonal_copy.out(Tensor self, int offset=0, int dim1=0, int dim2=1, *, Tensor(a!) out) -> Tensor(a!)
expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor
expand_copy.out(Tensor self, SymInt[] size, *, bool implicit=False, Tensor(a!) out) -> Tensor(a!)
permute_copy(Tensor self, int[] dims) -> Tensor
permute_copy.out(Tensor self, int[] dims, *, Tensor(a!) out) -> Tensor(a!)
select_copy.int(Tensor self, int dim, SymInt index) -> Tensor
select_copy.int_out(Tensor self, int dim, SymInt index, *, Tensor(a!) out) -> Tensor(a!)
slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor
slice_copy.Tensor_out(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1, *, Tensor(a!) out)
    -> Tensor(a!)
split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]
split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]
squeeze_copy(Tensor self) -> Tensor
squeeze_copy.dim(Tensor self, int dim) -> Tensor
squeeze_copy.dims(Tensor self, int[] dim) -> Tensor
squeeze_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
squeeze_copy.dim_out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)
squeeze_copy.dims_out(Tensor self, int[] dim, *, Tensor(a!) out) -> Tensor(a!)
t_copy(Tensor self) -> Tensor
t_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor
transpose_copy.int_out(Tensor self, int dim0, int dim1, *, Tensor(a!) out) -> Tensor(a!)
unbind_copy.int(Tensor self, int dim=0) -> Tensor[]
unsqueeze_copy(Tensor self, int dim) -> Tensor
unsqueeze_copy.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)
view_copy(Tensor self, SymInt[] size) -> Tensor
view_copy.out(Tensor self, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)
view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor
view_copy.dtype_out(Tensor self, ScalarType dtype, *, Tensor(a!) out) -> Tensor(a!)
view_as_real_copy(Tensor self) -> Tensor
view_as_real_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
view_as_complex_copy(Tensor self) -> Tensor
view_as_complex_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor
unfold_copy.out(Tensor self, int dimension, int size, int step, *, Tensor(a!) out) -> Tensor(a!)
narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor
narrow_copy.out(Tensor self, int dim, SymInt start, SymInt length, *, Tensor(a!) out) -> Tensor(a!)
resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)
set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)
set_(Tensor(a!) self) -> Tensor(a!)
set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, SymInt[] size, SymInt[]
    stride=[]) -> Tensor(a!)
is_set_to(Tensor self, Tensor tensor) -> bool
"""
