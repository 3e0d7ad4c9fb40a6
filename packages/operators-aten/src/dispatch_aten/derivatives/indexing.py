"""Derivative formulas of indexing; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final = {
    "diagonal_scatter": {
        "self": "diagonal_scatter(grad, new_zeros(grad, src_sizes), offset, dim1, dim2)",
        "src": "diagonal(grad, offset, dim1, dim2)",
    },
    "embedding": {
        "weight": "embedding_dense_backward(grad, indices, weight_sizes[0], padding_idx, scale_grad_by_freq)"
    },
    "embedding_dense_backward": {
        "grad_output": "embedding_double_backward(grad, indices, padding_idx, scale_grad_by_freq)"
    },
    "gather": {"self": "scatter_add(new_zeros(grad, self_sizes), dim, index, grad)"},
    "index.Tensor": {"self": "index_put(new_zeros(grad, self_sizes), indices, grad, True)"},
    "index_add": {
        "self": "grad",
        "source": "maybe_multiply(index_add_source_gradient(grad, dim, index, source_sizes), alpha)",
    },
    "index_put": {
        "self": "grad if accumulate else index_put(grad, indices, new_zeros(grad, values_sizes), False)",
        "values": "index(grad, indices)",
    },
    "index_select": {"self": "index_add(new_zeros(grad, self_sizes), dim, index, grad)"},
    "masked_scatter": {
        "self": "masked_fill(grad, mask, 0)",
        "source": "masked_source_gradient(grad, mask, source_sizes)",
    },
    "masked_select": {"self": "masked_select_gradient(grad, self_sizes, mask)"},
    "scatter.src": {"self": "scatter(grad, dim, index, 0)", "src": "pad_to(gather(grad, dim, index), src_sizes)"},
    "scatter.value": {"self": "scatter(grad, dim, index, 0)"},
    "scatter_add": {"self": "grad", "src": "pad_to(gather(grad, dim, index), src_sizes)"},
    "select_scatter": {
        "self": "select_scatter(grad, new_zeros(grad, src_sizes), dim, index)",
        "src": "select(grad, dim, index)",
    },
    "slice_scatter": {
        "self": "slice_scatter(grad, new_zeros(grad, src_sizes), dim, start, end, step)",
        "src": "slice(grad, dim, start, end, step)",
    },
    "take": {"self": "take_gradient(grad, self_sizes, index)"},
}

TANGENTS: Final[dict[str, dict[str, str]]] = {
    "index_put": {"result": "index_put(self_t, indices, values_t, accumulate)"},
    "scatter.src": {"result": "scatter(self_t, dim, index, src_t)"},
    "scatter.value": {"result": "scatter(self_t, dim, index, 0)"},
}
