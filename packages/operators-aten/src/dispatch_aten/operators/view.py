"""Schemas of operators whose results share their input's memory, as torch spells them."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = """
view(Tensor(a) self, SymInt[] size) -> Tensor(a)
reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)
view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)
view_as(Tensor(a) self, Tensor other) -> Tensor(a)
reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)
as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)
select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)
slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)
expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
expand_as(Tensor(a) self, Tensor other) -> Tensor(a)
permute(Tensor(a) self, int[] dims) -> Tensor(a)
transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)
t(Tensor(a) self) -> Tensor(a)
squeeze(Tensor(a) self) -> Tensor(a)
squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)
squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)
unsqueeze(Tensor(a) self, int dim) -> Tensor(a)
narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)
narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)
split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]
split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]
split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]
chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]
tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) ->
    Tensor(a)[]
tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]
tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]
unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]
diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)
flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)
unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)
movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)
movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)
moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)
moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)
swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)
swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)
ravel(Tensor(a) self) -> Tensor(a)
numpy_T(Tensor(a) self) -> Tensor(a)
mT(Tensor(a) self) -> Tensor(a)
detach(Tensor(a) self) -> Tensor(a)
alias(Tensor(a) self) -> Tensor(a)
_unsafe_view(Tensor self, SymInt[] size) -> Tensor
[]
t_(Tensor(a!) self) -> Tensor(a!)
squeeze_(Tensor(a!) self) -> Tensor(a!)
squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)
squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)
unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)
transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)
swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)
swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)
as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a!)
unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)
unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor
hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]
hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]
vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]
vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]
dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]
dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]
diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor
diag_embed.out(Tensor self, int offset=0, int dim1=-2, int dim2=-1, *, Tensor(a!) out) -> Tensor(a!)
diag(Tensor self, int diagonal=0) -> Tensor
diag.out(Tensor self, int diagonal=0, *, Tensor(a!) out) -> Tensor(a!)
diagflat(Tensor self, int offset=0) -> Tensor
trace(Tensor self) -> Tensor
trace.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)
adjoint(Tensor(a) self) -> Tensor(a)
matrix_H(Tensor(a) self) -> Tensor(a)
mH(Tensor(a) self) -> Tensor(a)
unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]
unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]
unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]
slice_inverse(Tensor(a) self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)
"""
