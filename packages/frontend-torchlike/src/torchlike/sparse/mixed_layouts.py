"""Which layouts of arguments torch 2.13.0 computes with, by ``tools/generate_mixed_layouts.py``.

The letters are those of an operator's tensors in their order: ``s`` for a sparse one, ``d`` for a strided one, ``0`` for a
strided one without dimensions. All other combinations with a sparse tensor are refused.
"""

from __future__ import annotations

from typing import Final

#: The version of torch that was asked.
VERSION: Final = "2.13.0"
#: Operator → the layouts of its tensors, each with that of the result.
RESULTS: Final = {
    "add.Tensor": {"ss": "sparse_coo", "ds": "strided"},
    "sub.Tensor": {"ss": "sparse_coo", "ds": "strided"},
    "mul.Tensor": {"ss": "sparse_coo", "sd": "sparse_coo", "s0": "sparse_coo", "ds": "sparse_coo", "0s": "sparse_coo"},
    "div.Tensor": {"s0": "sparse_coo"},
    "floor_divide": {"s0": "sparse_coo"},
    "add_.Tensor": {"ss": "sparse_coo", "ds": "strided"},
    "sub_.Tensor": {"ss": "sparse_coo", "ds": "strided"},
    "mul_.Tensor": {"ss": "sparse_coo", "sd": "sparse_coo", "s0": "sparse_coo", "ds": "strided"},
    "div_.Tensor": {"s0": "sparse_coo"},
    "copy_": {"ss": "sparse_coo"},
    "mm": {"ss": "sparse_coo", "sd": "strided", "ds": "strided"},
    "mv": {"sd": "strided", "ds": "strided"},
    "addmm": {"dsd": "strided"},
}
