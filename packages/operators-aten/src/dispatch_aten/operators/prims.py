"""Schemas of the primitives: data to and from the host, which every backend implements, and views as functions.

Arrays without strides have no views. Views of tensors with such arrays are made of the functions here, whose results are
arrays of their own, row-major like all arrays without strides. Their arguments are complete: no ``-1``, no negative
dimension; ``slice`` has ``0 <= start <= end <= size`` and ``step >= 1``, ``take`` counts elements row-major.
"""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = """
[data_dependent_output]
device_get(Tensor self) -> Any
[factory]
device_put(Any data, *, Device device) -> Tensor
[]
reshape(Tensor self, SymInt[] shape) -> Tensor
permute(Tensor self, int[] dims) -> Tensor
broadcast_to(Tensor self, SymInt[] shape) -> Tensor
take(Tensor self, Tensor index) -> Tensor
slice_scatter(Tensor self, Tensor src, int dim, SymInt start, SymInt end, SymInt step) -> Tensor
[window]
slice(Tensor self, int dim, SymInt start, SymInt end, SymInt step) -> Tensor
"""
