from .ops import pointwise, reduction, matmul, softmax, view, copy, indexing, lists, sorting
from . import creation
KERNELS = {}
for m in (pointwise, reduction, matmul, softmax, view, copy, indexing, lists, sorting, creation):
    KERNELS.update(m.KERNELS)
