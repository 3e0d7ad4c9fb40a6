"""Schemas of indexing, gathering, scattering and their backward operators, as torch spells them."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = """
[dynamic_output_shape]
index.Tensor(Tensor self, Tensor?[] indices) -> Tensor
masked_select(Tensor self, Tensor mask) -> Tensor
masked_select.out(Tensor self, Tensor mask, *, Tensor(a!) out) -> Tensor(a!)
nonzero(Tensor self) -> Tensor
nonzero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
argwhere(Tensor self) -> Tensor
one_hot(Tensor self, int num_classes=-1) -> Tensor
[]
index.Tensor_out(Tensor self, Tensor?[] indices, *, Tensor(a!) out) -> Tensor(a!)
index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor
index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)
index_select(Tensor self, int dim, Tensor index) -> Tensor
index_select.out(Tensor self, int dim, Tensor index, *, Tensor(a!) out) -> Tensor(a!)
index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor
index_add.out(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor(a!)
gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor
gather.out(Tensor self, int dim, Tensor index, *, bool sparse_grad=False, Tensor(a!) out) -> Tensor(a!)
scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
scatter.src_out(Tensor self, int dim, Tensor index, Tensor src, *, Tensor(a!) out) -> Tensor(a!)
scatter.value_out(Tensor self, int dim, Tensor index, Scalar value, *, Tensor(a!) out) -> Tensor(a!)
scatter_.src(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)
scatter_.value(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)
scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
scatter_add.out(Tensor self, int dim, Tensor index, Tensor src, *, Tensor(a!) out) -> Tensor(a!)
scatter_add_(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)
masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor
masked_scatter_(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!)
nonzero_numpy(Tensor self) -> Tensor[]
take(Tensor self, Tensor index) -> Tensor
take.out(Tensor self, Tensor index, *, Tensor(a!) out) -> Tensor(a!)
select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor
slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor
diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor
embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) ->
    Tensor
embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool
    scale_grad_by_freq) -> Tensor
select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor
slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor
diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor
value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor
"""
