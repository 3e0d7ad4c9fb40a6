"""Derivative formulas of scattered writes and reductions; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

_PART: Final = "size, stride, storage_offset"

FORMULAS: Final[dict[str, dict[str, str]]] = {
    "as_strided_scatter": {
        "self": f"as_strided_scatter_gradient(grad, new_zeros(grad, src_sizes), self_storage_offset, {_PART})",
        "src": f"as_strided_part(grad, self_storage_offset, {_PART})",
    },
    "index_copy": {
        "self": "index_fill(grad, dim, index, 0)",
        "source": "index_copy_source_gradient(grad, dim, index, source_sizes)",
    },
    "index_fill.int_Scalar": {"self": "index_fill(grad, dim, index, 0)"},
    "index_fill.int_Tensor": {
        "self": "index_fill(grad, dim, index, 0)",
        "value": "index_fill_value_gradient(grad, dim, index)",
    },
    "put": {
        "self": "grad if accumulate else put(grad, index, new_zeros(grad, source_sizes), False)",
        "source": "reshape(take(grad, index), source_sizes)",
    },
    "scatter_reduce.two": {
        "self": "scatter_reduce_self_gradient(grad, self, dim, index, src, reduce, include_self, result)",
        "src": "scatter_reduce_source_gradient(grad, self, dim, index, src, reduce, include_self, result)",
    },
}

NOT_DIFFERENTIABLE: Final = frozenset({"nonzero_static"})

TANGENTS: Final[dict[str, dict[str, str]]] = {
    "index_copy": {"result": "index_copy(self_t, dim, index, source_t)"},
    "put": {"result": "put(self_t, index, source_t, accumulate)"},
}
